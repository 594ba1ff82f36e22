// Streams a JSON object that satisfies a schema: go run ./examples/json_output demo.sotto "A person: "
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	sotto "github.com/sotto-runtime/sotto/platforms/go"
)

const schema = `{"type": "object", "required": ["name", "age"], "additionalProperties": false,
 "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer", "minimum": 0, "maximum": 120}}}`

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: json_output MODEL PROMPT")
		os.Exit(2)
	}
	model, err := sotto.OpenModel(os.Args[1], nil)
	check(err)
	defer model.Close()
	session, err := model.NewSession(nil)
	check(err)
	defer session.Close()
	grammar, err := sotto.JSONSchemaGrammar(schema)
	check(err)
	defer grammar.Close()
	check(session.SetGrammar(grammar))
	for text, err := range session.Stream(context.Background(), os.Args[2], 400) {
		check(err)
		fmt.Print(text)
	}
	fmt.Println()
	info, err := session.Info()
	check(err)
	if info.Stop != sotto.StopGrammar {
		fmt.Fprintln(os.Stderr, "the object is not complete:", info.Stop)
		os.Exit(3)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
