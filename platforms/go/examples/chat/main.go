// A conversation in a terminal: go run ./examples/chat demo.sotto. Each line is a message, and the end of the input ends
// the program.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"

	sotto "github.com/sotto-runtime/sotto/platforms/go"
)

const replyTokens = 100

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: chat MODEL")
		os.Exit(2)
	}
	model, err := sotto.OpenModel(os.Args[1], nil)
	check(err)
	defer model.Close()
	session, err := model.NewSession(nil)
	check(err)
	defer session.Close()
	format, err := model.Text(sotto.ModelTextChatFormat)
	check(err)
	if format == "" {
		format = sotto.ChatPlain.Text()
	}
	params := sotto.DefaultChatParams()
	params.ReplyTokens = replyTokens
	chat, err := session.NewChat(format, params)
	check(err)
	lines := bufio.NewScanner(os.Stdin)
	for fmt.Print("> "); lines.Scan(); fmt.Print("\n> ") {
		check(chat.Add(sotto.RoleUser, lines.Text()))
		_, _, err := chat.Reply(replyTokens, func(piece sotto.Piece) bool {
			fmt.Print(piece.Text)
			return false
		})
		check(err)
	}
	check(lines.Err())
	fmt.Println()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
