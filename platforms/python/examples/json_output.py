"""Streams an object under a JSON Schema: python3 json_output.py demo.sotto "A person: " """
import sys

import sotto

SCHEMA = {"type": "object", "required": ["name", "age"], "additionalProperties": False,
          "properties": {"name": {"type": "string", "maxLength": 20},
                         "age": {"type": "integer", "minimum": 0, "maximum": 120}}}


def main(path: str, prompt: str) -> None:
    with sotto.Model.open(path) as model, model.session() as session:
        session.set_grammar(sotto.Grammar.json_schema(SCHEMA, json_space=sotto.JsonSpace.ONE_SPACE))
        for text in session.stream(prompt, max_tokens=400):
            print(text, end="", flush=True)
        print()


if __name__ == "__main__":
    main(*sys.argv[1:3])
