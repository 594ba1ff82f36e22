"""Generates texts under the JSON Schemas of a benchmark with `finish_within` and checks that each is complete and valid.

    SOTTO_LIBRARY=build/release/lib/libsotto.so.1 PYTHONPATH=platforms/python \\
        python3 tests/tools/measure_finish.py MODEL ../shared/data/grammars/maskbench/sample.jsonl.xz

Runs by hand, not in CI, and needs the Python package jsonschema. It takes the first schemas of the file that compile
and have a shortest text of 5 to 150 tokens. It generates texts at temperature 2, within 0 to 40 tokens more than the
shortest text, and validates them with jsonschema. Prints the counts, and exits with 1 if a text was not complete, not
valid or too long.
"""
import argparse
import json
import pathlib
import re
import sys
import time

import jsonschema

from measure_schemas import schemas
from sotto import Model
from sotto.grammar import Grammar, Matcher, SottoError, Vocabulary


def shortest_text(grammar, vocabulary):
    """Returns the tokens of the shortest text, from the message that one token is too few."""
    try:
        Matcher(grammar, vocabulary, finish_within=1)
        return 1
    except SottoError as error:
        found = re.search(r"at least (\d+)", str(error))
        return int(found.group(1)) if found else 0


def chosen(path, count, vocabulary):
    """Yields schemas with their validators and grammars."""
    for entry in schemas(path):
        schema = entry["schema"]
        try:
            grammar = Grammar.json_schema(json.dumps(schema, ensure_ascii=False))
        except SottoError:
            continue
        shortest = shortest_text(grammar, vocabulary)
        if not 5 <= shortest <= 150:
            continue
        validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)(schema)
        yield entry["name"], grammar, validator, shortest
        count -= 1
        if count == 0:
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--schemas", type=int, default=50)
    parser.add_argument("--texts", type=int, default=200, help="for each schema")
    arguments = parser.parse_args()
    texts = failures = tokens = 0
    begin = time.perf_counter()
    with Model.open(str(arguments.model)) as model, model.session(context_tokens=256) as session:
        vocabulary = Vocabulary(model)
        for name, grammar, validator, shortest in chosen(arguments.file, arguments.schemas, vocabulary):
            for seed in range(arguments.texts):
                limit = min(shortest + seed % 41, 200)
                session.reset()
                session.set_sampler(temperature=2.0, top_k=0, top_p=1.0, seed=seed)
                session.set_grammar(grammar, finish_within=limit)
                pieces = list(session.pieces("The object:", max_tokens=limit + 1))
                text = b"".join(piece.bytes for piece in pieces).decode("utf-8", "replace")
                used = sum(piece.token >= 0 for piece in pieces)
                texts += 1
                tokens += used
                try:
                    is_right = validator.is_valid(json.loads(text)) and used <= limit + 1
                except (ValueError, RecursionError):
                    is_right = False
                if not is_right:
                    failures += 1
                    print(f"{name}, seed {seed}, {used} of {limit} tokens, {session.info.stop.name}: {text}")
    print(f"{texts} texts, {tokens} tokens, {failures} not complete or not valid, {time.perf_counter() - begin:.0f} s")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
