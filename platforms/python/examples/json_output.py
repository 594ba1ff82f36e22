"""Streams a JSON object that satisfies a schema: python3 json_output.py demo.sotto "A person: " """
import signal
import sys

import sotto

SCHEMA = {"type": "object", "required": ["name", "age"], "additionalProperties": False,
          "properties": {"name": {"type": "string", "maxLength": 20},
                         "age": {"type": "integer", "minimum": 0, "maximum": 120}}}


def main(path: str, prompt: str) -> int:
    with sotto.Model.open(path) as model, model.session() as session:
        session.set_grammar(sotto.Grammar.json_schema(SCHEMA))
        for text in session.stream(prompt, max_tokens=400):
            print(text, end="", flush=True)
        print()
        if session.info.stop != sotto.Status.STOP_GRAMMAR:
            print("the object is not complete:", session.info.stop.name, file=sys.stderr)
            return 3
        return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print("usage: python3 json_output.py MODEL PROMPT", file=sys.stderr)
        sys.exit(2)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        sys.exit(main(*sys.argv[1:]))
    except (OSError, sotto.SottoError) as failure:
        sys.exit(str(failure))
