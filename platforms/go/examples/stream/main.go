// Streams text: go run ./examples/stream demo.sotto "Once upon a time". Ctrl-C ends it cleanly.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	sotto "github.com/sotto-runtime/sotto/platforms/go"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: stream MODEL PROMPT")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	model, err := sotto.OpenModel(os.Args[1], nil)
	check(err)
	defer model.Close()
	session, err := model.NewSession(nil)
	check(err)
	defer session.Close()
	fmt.Print(os.Args[2])
	for text, err := range session.Stream(ctx, os.Args[2], 100) {
		check(err)
		fmt.Print(text)
	}
	fmt.Println()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
