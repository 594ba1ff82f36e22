"""Runs an example of a binding on the demo model and checks its output:

    check_example.py [--json | --chat] [--shown-in README --source FILE] COMMAND...

The model and a prompt are appended to COMMAND. It must print the text of the case `example` of
tests/golden/data/bindings.txt, which may follow the prompt, or with --json an object with a name and an age. The exit
status must be 2 with a usage message without arguments, 1 if the prompt does not fit the context, and 3 if the object
does not. With --chat, only the model is appended, and the program must reply to each line of its input. With
--shown-in, README must contain FILE, or the part of FILE between lines that contain "[readme]".
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys


def golden_case(name):
    lines = pathlib.Path(os.environ["SOTTO_GOLDEN"]).read_text(encoding="utf-8").splitlines()
    start = lines.index(f"case {name}")
    end = lines.index("", start) if "" in lines[start:] else len(lines)
    texts = dict(line.split(" ", 1) for line in lines[start + 1:end])
    return {key: re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], text) for key, text in texts.items()}


def check_json(output):
    value = json.loads(output)
    return set(value) == {"name", "age"} and isinstance(value["name"], str) and 0 <= value["age"] <= 120


def run(command, *arguments):
    return subprocess.run([*command, *arguments], capture_output=True, text=True, encoding="utf-8")


def check_failure(command, status, words, *arguments):
    """`go run` ends with status 1 and prints the program's status."""
    done = run(command, *arguments)
    if done.returncode != status and f"exit status {status}\n" not in done.stderr or words not in done.stderr:
        sys.exit(f"{command} with {len(arguments)} arguments ended with {done.returncode}, not {status} and {words!r}:\n"
                 f"{done.stderr}")


def check_chat(command, model):
    """A prompt, then a reply to each line and another prompt."""
    done = subprocess.run([*command, model], input="Hello.\nGo on.\n", capture_output=True, text=True, encoding="utf-8")
    before, *replies, end = done.stdout.split("> ")
    if done.returncode != 0 or before or len(replies) != 2 or not all(map(str.strip, replies)) or end != "\n":
        sys.exit(f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    check_failure(command, 2, "usage: ")
    check_failure(command, 1, "missing.sotto", "missing.sotto")


def shown_part(source):
    parts = re.split(r"^.*\[readme\].*\n", source, flags=re.M)
    return parts[1] if len(parts) == 3 else source


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--chat", action="store_true")
    parser.add_argument("--shown-in", type=pathlib.Path)
    parser.add_argument("--source", type=pathlib.Path)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()

    if args.chat:
        return check_chat(args.command, os.environ["SOTTO_DEMO_MODEL"])
    case = golden_case("example")
    prompt = "A person: " if args.json else case["prompt"]
    model = os.environ["SOTTO_DEMO_MODEL"]
    done = run(args.command, model, prompt)
    if done.returncode != 0:
        sys.exit(f"{args.command} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    if args.json:
        if not check_json(done.stdout):
            sys.exit(f"not of the schema: {done.stdout!r}")
        check_failure(args.command, 3, "the object is not complete", model, "word " * 506)  # 508 of 512 tokens
    elif done.stdout.strip() not in (case["text"].strip(), (prompt + case["text"]).strip()):
        sys.exit(f"printed {done.stdout!r}\ninstead of {case['text']!r}")
    check_failure(args.command, 2, "usage: ")
    check_failure(args.command, 1, "602 tokens do not fit a context of 512", model, "word " * 600)
    if args.shown_in:
        shown = shown_part(args.source.read_text(encoding="utf-8"))
        if shown not in args.shown_in.read_text(encoding="utf-8"):
            sys.exit(f"{args.shown_in} does not hold {args.source.name}")
    print(done.stdout, end="")


if __name__ == "__main__":
    main()
