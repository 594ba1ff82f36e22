"""Compiles the JSON Schemas of a benchmark and tests their documents, in the order of members in which they are written.

    SOTTO_LIBRARY=build/release/lib/libsotto.so.1 PYTHONPATH=platforms/python \\
        python3 tests/tools/measure_schemas.py ../shared/data/grammars/maskbench/sample.jsonl.xz

Runs by hand, not in CI. The file has one {"name", "schema", "tests": [{"valid", "data"}]} per line, as MaskBench's
schemas do. A text is `json.dumps(data, ensure_ascii=False)`. Prints how many schemas compile, how many texts get the right
answer, the reasons of rejected schemas, and the slowest compilations. Exits with 1 if an invalid text was accepted.
"""
import argparse
import collections
import json
import lzma
import pathlib
import re
import sys
import time

from sotto.grammar import Grammar, Matcher, SottoError


def schemas(path):
    """Yields the lines of a file, or the files of a folder."""
    if path.is_dir():
        for file in sorted(path.glob("*.json")):
            yield {"name": file.name, **json.loads(file.read_text())}
        return
    opened = lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8")
    with opened as lines:
        yield from map(json.loads, lines)


def reason(message):
    """Returns a message without the parts that differ between schemas."""
    pointer, _, what = message.partition(": ")
    return f"{re.sub(r'[0-9]+', 'N', pointer).rsplit('/', 1)[-1][:24]}: {re.sub(r'[0-9]+', 'N', what)[:100]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--list", action="store_true", help="print each schema that is not right")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the grammar")
    arguments = parser.parse_args()
    changes = {name: int(value) for name, value in (setting.split("=") for setting in arguments.set)}
    counts, reasons, times = collections.Counter(), collections.Counter(), []
    for entry in schemas(arguments.file):
        counts["schemas"] += 1
        source = json.dumps(entry["schema"], ensure_ascii=False)
        begin = time.perf_counter()
        try:
            grammar = Grammar.json_schema(source, **changes)
        except SottoError as error:
            times.append((time.perf_counter() - begin, entry["name"]))
            reasons[reason(str(error))] += 1
            if arguments.list:
                print(f"REJECTED {entry['name']}: {error}")
            continue
        times.append((time.perf_counter() - begin, entry["name"]))
        counts["compiled"] += 1
        counts["bytes"] += grammar.size
        wrong = collections.Counter()
        matcher = Matcher(grammar, step_budget=10**9)
        for test in entry["tests"]:
            text = json.dumps(test["data"], ensure_ascii=False)
            matcher.reset()
            kind = "valid" if test["valid"] else "invalid"
            counts[kind] += 1
            try:
                accepted = matcher.matches(text)
            except (SottoError, UnicodeEncodeError):
                accepted = False
            if accepted == test["valid"]:
                continue
            wrong[kind] += 1
            if arguments.list:
                print(f"{kind.upper()} {entry['name']}: {text[:2000]}")
        counts["valid rejected"] += wrong["valid"]
        counts["invalid accepted"] += wrong["invalid"]
        counts["schemas with a valid text rejected"] += wrong["valid"] > 0
        counts["right"] += not wrong
        matcher.close()
        grammar.close()
    for name, count in counts.items():
        print(f"{count:8} {name}")
    for name, count in reasons.most_common():
        print(f"{count:8} rejected: {name}")
    times.sort(reverse=True)
    print(f"compile p50 {1e3 * times[len(times) // 2][0]:.2f} ms, p99 {1e3 * times[len(times) // 100][0]:.1f} ms; slowest:",
          ", ".join(f"{name} {seconds:.2f} s" for seconds, name in times[:6]))
    return counts["invalid accepted"] > 0


if __name__ == "__main__":
    sys.exit(main())
