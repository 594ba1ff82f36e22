#!/usr/bin/env python3
"""Writes tests/unit/grammar/data/regex_goldens.jsonl: random regular expressions, and the results of Python's re for a
list of texts.

    make_regex_goldens.py [COUNT [SEED]] > FILE

The first line holds the texts; every other one [expression, texts that match as a whole, texts
that contain a match], the latter two as bit masks in hexadecimal digits.
"""

import itertools
import json
import random
import re
import sys

TEXTS = ["".join(t) for n in range(4) for t in itertools.product("ab1", repeat=n)]
TEXTS += ["\n", "a\n", "a\nb", " ", "a b", "_", "A", "é", "aé", "日", "-", "a-b", "aaaa", "abab", "aabb", "bbbbb", "ab1ab1"]
ATOMS = ["a", "b", "1", ".", "[ab]", "[^a]", "[a-b1]", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "[\\d_]", "[^\\w]",
         "é", "\\u00e9", "\\x61", "[b-]", "(?:)", "[\\s\\S]"]


def expression(r, depth=0):
    """Returns an expression for ECMA-262 and its equivalent for Python, whose $ also matches before a last line end."""
    kind = r.random()
    if depth > 3 or kind < 0.35:
        atom = r.choice(ATOMS)
        return atom, atom
    if kind < 0.42:
        # Before Python 3.14, \\B does not match in the empty text.
        return r.choice([("^", "^"), ("$", "\\Z"), ("\\b", "\\b"), ("\\B", "(?!\\b)")])
    if kind < 0.48:
        body = expression(r, depth + 1)
        form = r.choice(["(?=%s)", "(?!%s)"])
        return form % body[0], form % body[1]
    if kind < 0.68:
        parts = [expression(r, depth + 1) for _ in range(r.randrange(2, 4))]
        return "".join(p[0] for p in parts), "".join(p[1] for p in parts)
    if kind < 0.82:
        parts = [expression(r, depth + 1) for _ in range(r.randrange(2, 4))]
        form = r.choice(["(%s)", "(?:%s)"])
        return form % "|".join(p[0] for p in parts), form % "|".join(p[1] for p in parts)
    body = expression(r, depth + 1)
    repeat = r.choice(["*", "+", "?", "{2}", "{1,2}", "{0,3}", "{2,}", "*?", "+?", "??"])
    return f"(?:{body[0]}){repeat}", f"(?:{body[1]}){repeat}"


def mask(found):
    return format(sum(1 << i for i, f in enumerate(found) if f), "x")


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    r = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    print(json.dumps(TEXTS, ensure_ascii=False))
    for _ in range(count):
        ecma, python = expression(r)
        compiled = re.compile(python, re.ASCII)
        whole = [compiled.fullmatch(t) is not None for t in TEXTS]
        inside = [compiled.search(t) is not None for t in TEXTS]
        print(json.dumps([ecma, mask(whole), mask(inside)], ensure_ascii=False))


if __name__ == "__main__":
    main()
