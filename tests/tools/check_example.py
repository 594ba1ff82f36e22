"""Runs an example of a binding on the demo model and checks its output:

    check_example.py [--json] [--shown-in README --source FILE] COMMAND...

The model and a prompt are appended to COMMAND. It must print the text of the case `example` of tests/golden/data/bindings.txt,
or with --json an object with a name and an age. With --shown-in, README must hold FILE, or what FILE has between lines
that contain "[readme]".
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


def shown_part(source):
    parts = re.split(r"^.*\[readme\].*\n", source, flags=re.M)
    return parts[1] if len(parts) == 3 else source


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--shown-in", type=pathlib.Path)
    parser.add_argument("--source", type=pathlib.Path)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()

    case = golden_case("example")
    prompt = "A person: " if args.json else case["prompt"]
    done = subprocess.run([*args.command, os.environ["SOTTO_DEMO_MODEL"], prompt], capture_output=True, text=True,
                          encoding="utf-8")
    if done.returncode != 0:
        sys.exit(f"{args.command} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    if args.json:
        if not check_json(done.stdout):
            sys.exit(f"not of the schema: {done.stdout!r}")
    elif done.stdout.strip() != case["text"].strip():
        sys.exit(f"printed {done.stdout!r}\ninstead of {case['text']!r}")
    if args.shown_in:
        shown = shown_part(args.source.read_text(encoding="utf-8"))
        if shown not in args.shown_in.read_text(encoding="utf-8"):
            sys.exit(f"{args.shown_in} does not hold {args.source.name}")
    print(done.stdout, end="")


if __name__ == "__main__":
    main()
