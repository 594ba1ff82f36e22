"""Generates texts under grammars with the program, at a high temperature, and checks them with independent parsers.

    validate_generations.py SOTTO MODEL [--count 200] [--tokens 64] [--temperature 1.5] [--data DIR] [--only NAME]

It generates COUNT texts for each of twenty grammars and schemas: three quarters in searches of 50 sequences, and the
others in one process per text, each with its own seed. A finished text must be in the grammar. For GBNF that is checked
by the Earley parser of earley_oracle.py over a GBNF reader of this file, for regular expressions by the module regex,
and for schemas by jsonschema. A text that the limit of tokens cut off must begin a text of the grammar, which is checked
exactly for GBNF and regular expressions, and as JSON for schemas. The program needs the Python packages jsonschema and
regex. DIR holds the shared test data (default: ../shared/data next to the project). It prints a line for each grammar,
and the exit code is 1 if a text was wrong. It takes some minutes, so it is not a part of the tests;
tests/cli/grammar_generate_test.cpp does the same on a small scale.
"""
import argparse
import concurrent.futures
import datetime
import json
import pathlib
import subprocess
import sys

import jsonschema
import regex

from earley_oracle import Earley, Productions

HERE = pathlib.Path(__file__).resolve().parent
SEQUENCES = 50
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class GbnfReader:
    """Parses GBNF to the trees that Productions takes, as far as these grammars need."""

    def __init__(self, text):
        self.text, self.at, self.names, self.trees = text, 0, ["root"], {}
        self.space(True)
        while self.at < len(text):
            name = self.name()
            self.space(False)
            assert text.startswith("::=", self.at), text[self.at:self.at + 20]
            self.at += 3
            self.trees[self.index(name)] = self.alternatives(False)
            self.space(True)
        self.grammar = [self.trees[i] for i in range(len(self.names))]

    def index(self, name):
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def peek(self):
        return self.text[self.at:self.at + 1]

    def name(self):
        match = regex.compile(r"[a-zA-Z0-9_-]+").match(self.text, self.at)
        self.at = match.end()
        return match.group()

    def space(self, newlines):
        match = regex.compile(r"(?:#[^\n]*|[ \t\r\n])*" if newlines else r"(?:#[^\n]*|[ \t\r])*").match(self.text, self.at)
        self.at = match.end()

    def alternatives(self, nested):
        sequences = [[]]
        self.space(True)
        while True:
            c = self.peek()
            if c == "|":
                self.at += 1
                sequences.append([])
                self.space(True)
            elif c in ("", ")") or (c == "\n" and not nested and not self.goes_on()):
                return ("alt", [("seq", s) for s in sequences])
            elif c == "\n":
                self.space(True)
            else:
                sequences[-1].append(self.repeated(self.atom()))
                self.space(nested)

    def goes_on(self):
        return regex.compile(r"[\s]*\|").match(self.text, self.at)

    def atom(self):
        c = self.peek()
        if c == "(":
            self.at += 1
            tree = self.alternatives(True)
            assert self.peek() == ")"
            self.at += 1
            return tree
        if c == '"':
            return ("text", "".join(self.quoted('"')))
        if c == ".":
            self.at += 1
            return ("any",)
        if c == "[":
            return self.character_class()
        return ("ref", self.index(self.name()))

    def quoted(self, end):
        self.at += 1
        while self.peek() != end:
            yield self.character()
        self.at += 1

    def character(self):
        c = self.text[self.at]
        self.at += 1
        if c != "\\":
            return c
        kind = self.text[self.at]
        self.at += 1
        if kind not in "xuU":
            return ESCAPES.get(kind, kind)
        size = {"x": 2, "u": 4, "U": 8}[kind]
        self.at += size
        return chr(int(self.text[self.at - size:self.at], 16))

    def character_class(self):
        negated = self.text.startswith("[^", self.at)
        self.at += 2 if negated else 1
        intervals = []
        while self.peek() != "]":
            first = last = ord(self.character())
            if self.peek() == "-" and self.text[self.at + 1] != "]":
                self.at += 1
                last = ord(self.character())
            intervals.append((first, last))
        self.at += 1
        return ("class", intervals, negated)

    def repeated(self, tree):
        while True:
            match = regex.compile(r"[ \t]*(?:([*+?])|\{(\d*)(,?)(\d*)\})").match(self.text, self.at)
            if not match:
                return tree
            self.at = match.end()
            sign, least, comma, most = match.groups()
            if sign:
                bounds = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
            else:
                bounds = (int(least or 0), int(most) if most else None if comma else int(least))
            tree = ("rep", tree, *bounds)


# ---- checkers: complete(text) and begins(text)

class ByEarley:
    def __init__(self, text):
        self.earley = Earley(Productions(GbnfReader(text).grammar))

    def chart(self, text):
        chart = self.earley.empty
        for c in text:
            chart = self.earley.step(chart, ord(c))
            if chart is None:
                return None
        return chart

    def complete(self, text):
        chart = self.chart(text)
        return chart is not None and self.earley.accepts(chart)

    def begins(self, text):
        return self.chart(text) is not None


class ByRegex:
    def __init__(self, pattern):
        self.pattern = regex.compile(pattern)

    def complete(self, text):
        return self.pattern.fullmatch(text) is not None

    def begins(self, text):
        return self.pattern.fullmatch(text, partial=True) is not None


STRICT_JSON = r"""
root ::= ws value ws
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (string ws ":" ws value ws ("," ws string ws ":" ws value ws)*)? "}"
array ::= "[" ws (value ws ("," ws value ws)*)? "]"
string ::= "\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F]))* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
ws ::= [ \t\n\r]*
"""


def is_date(text):
    """RFC 3339 has a year 0000, a leap year, which Python's dates do not."""
    match = regex.fullmatch(r"([0-9]{4})-([0-9]{2}-[0-9]{2})", text) if isinstance(text, str) else None
    if match is None:
        return not isinstance(text, str)
    try:
        datetime.date.fromisoformat(f"{'0004' if match[1] == '0000' else match[1]}-{match[2]}")
        return True
    except ValueError:
        return False


class BySchema:
    def __init__(self, schema):
        kind = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
        checker = jsonschema.FormatChecker()
        checker.checkers["date"] = (is_date, ())
        self.validator = kind(schema, format_checker=checker)
        self.json = ByEarley(STRICT_JSON)

    def complete(self, text):
        def refuse(constant):
            raise ValueError(constant)
        try:
            return self.validator.is_valid(json.loads(text, parse_constant=refuse))
        except ValueError:
            return False

    def begins(self, text):
        return self.json.begins(text)


class ByChoice:
    def __init__(self, texts):
        self.texts = texts

    def complete(self, text):
        return text in self.texts

    def begins(self, text):
        return any(t.startswith(text) for t in self.texts)


# ---- the grammars

LIST = 'root ::= item{1,4}\nitem ::= "- " [^\\r\\n]{1,40} "\\n"'
CHESS = r'''
root ::= "1. " move " " move "\n" ([1-9] [0-9]? ". " move " " move "\n"){1,3}
move ::= (pawn | piece | castle) [+#]?
piece ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]
pawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBKQR])?
castle ::= "O-O" "-O"?
'''
CJK = 'root ::= phrase ("、" phrase){0,2} "。"\nphrase ::= [一-龯ぁ-んァ-ヶ]{2,6} | [가-힣]{2,4} | "《" [^》\\n]{1,8} "》"'
PALINDROME = 'root ::= "a" root "a" | "b" root "b" | "é" root "é" | ""'
LEFT = 'root ::= root (" and " | ", ") word | word\nword ::= [A-Za-z]{1,8} | "😀"'
WORLD = ['yes', 'no', 'perhaps', 'naïve café', '東京', 'Привет, мир', '😀😿', 'a "quoted" word', 'yes, but']
PERSON = {"type": "object", "properties": {
    "name": {"type": "string", "minLength": 1, "maxLength": 12},
    "colour": {"enum": ["red", "green", "blue", 7, None]},
    "tags": {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2},
             "minItems": 1, "maxItems": 3}},
    "required": ["name", "colour", "tags"], "additionalProperties": False}
FORMATS = {"type": "object", "properties": {
    "day": {"type": "string", "format": "date"}, "host": {"type": "string", "format": "ipv4"},
    "id": {"type": "string", "format": "uuid"}, "code": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3,5}$"}},
    "required": ["day", "host", "code"], "additionalProperties": False}
TREE = {"$defs": {"node": {"type": "object", "properties": {
    "v": {"type": "integer"}, "left": {"$ref": "#/$defs/node"}, "right": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
    "required": ["v"], "additionalProperties": False}}, "$ref": "#/$defs/node"}
NUMBERS = {"type": "array", "prefixItems": [{"type": "integer", "multipleOf": 7, "minimum": -100, "maximum": 1000},
                                            {"type": "number", "exclusiveMinimum": 0, "maximum": 2.5},
                                            {"const": {"a": [1, "é"]}}],
           "items": {"type": "integer", "minimum": 10, "maximum": 12345}, "minItems": 3, "maxItems": 6}
PATTERNS = {"type": "object", "patternProperties": {"^n_[a-z]{1,3}$": {"type": "integer"}, "^s_[a-z]{0,3}$": {"type": "string", "maxLength": 5}},
            "additionalProperties": False, "minProperties": 1, "maxProperties": 3}
CONDITION = {"oneOf": [{"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number", "minimum": 0}},
                        "required": ["kind", "r"], "additionalProperties": False},
                       {"type": "object", "properties": {"kind": {"const": "box"}, "w": {"type": "integer"}, "h": {"type": "integer"}},
                        "required": ["kind", "w", "h"], "additionalProperties": False}]}
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "maxLength": 10}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
    "required": ["city"], "additionalProperties": False}}},
         {"name": "stop", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}}]
CALL = {"oneOf": [
    {"type": "object", "required": ["name", "arguments"], "additionalProperties": False,
     "properties": {"name": {"const": "weather"}, "arguments": TOOLS[0]["function"]["parameters"]}},
    {"type": "object", "required": ["name", "arguments"], "additionalProperties": False,
     "properties": {"name": {"const": "stop"}, "arguments": TOOLS[1]["parameters"]}}]}
EMAIL = r"[a-z0-9._%+-]{1,12}@[a-z0-9-]{1,12}(\.[a-z]{2,4}){1,2}"
DATE = r"(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
WORDS = r"[А-Яа-яё]{2,8}( [^\W\d_]{1,6}){0,2}[.!?]"


def grammars(data):
    """(name, options of sotto generate, judge)"""
    def gbnf(name, text):
        return name, ["--grammar", text], ByEarley(text)

    def schema(name, value, *more):
        return name, ["--json-schema", json.dumps(value), *more], BySchema(value)

    def wild(name):
        return gbnf(name, (data / "grammars" / "gbnf" / f"ggerganov__{name}.gbnf").read_text())

    yield wild("json")
    yield wild("json_arr")
    yield wild("arithmetic")
    yield wild("c")
    yield gbnf("list", LIST)
    yield gbnf("chess", CHESS)
    yield gbnf("cjk", CJK)
    yield gbnf("palindrome", PALINDROME)
    yield gbnf("left recursion", LEFT)
    yield "any json", ["--any-json", "--json-space", "flexible", "--allow-surrounding-whitespace"], ByEarley(STRICT_JSON)
    for name, pattern in (("email", EMAIL), ("date", DATE), ("cyrillic", WORDS)):
        yield name, ["--regex", pattern], ByRegex(pattern)
    yield schema("enums, arrays", PERSON, "--json-space", "compact")
    yield schema("formats", FORMATS, "--json-space", "one")
    yield schema("recursive", TREE)
    yield schema("numbers", NUMBERS, "--json-space", "compact")
    yield schema("patterns", PATTERNS, "--assume-distinct-names", "--json-space", "compact")
    yield schema("one of", CONDITION, "--json-space", "flexible", "--max-space", "2")
    yield "tool calls", ["--tools", json.dumps(TOOLS), "--json-space", "one"], BySchema(CALL)
    yield "choices", ["--choices", json.dumps(WORLD, ensure_ascii=False)], ByChoice(WORLD)
    yield "number range", ["--number-range=-20,300", "--integer"], ByRegex("0|-(20|1?[1-9]|10)|[1-9][0-9]?|[12][0-9]{2}|300")


def generate(options, arguments, tokens, more):
    command = [options.sotto, "generate", "-m", options.model, "-p", "It was", "--json", "--temp", str(options.temperature),
               "--top-k", "0", "--top-p", "1", "-n", str(tokens), *arguments, *more]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(result.stderr)
    found = json.loads(result.stdout)
    return [(s["text"], s["stop"]) for s in found.get("sequences", [found])]


def texts_of(options, arguments, tokens):
    """Returns texts with the reasons why they ended. Seeds differ from run to run."""
    runs = [["--n", str(SEQUENCES), "--seed", str(seed)] for seed in range(options.count * 3 // 4 // SEQUENCES)]
    single = options.count - SEQUENCES * len(runs)
    runs += [["--seed", str(1000 + seed)] for seed in range(single)]
    texts = []
    for more in runs:
        texts += generate(options, arguments, tokens, more)
    return texts


def judge(options, name):
    _, arguments, parser = next(g for g in grammars(options.data) if g[0] == name)
    finished = cut = characters = 0
    wrong, distinct = [], set()
    # Texts that are checked only as JSON because they were cut off should be rare.
    tokens = options.tokens * (4 if isinstance(parser, BySchema) else 1)
    for text, stop in texts_of(options, arguments, tokens):
        distinct.add(text)
        if stop in ("grammar", "end_of_text"):
            finished += 1
            good = parser.complete(text)
        else:
            cut += 1
            good = parser.begins(text.rstrip("\ufffd"))  # a character that was cut off
        characters += len(text)
        if not good:
            wrong.append((stop, text))
    return name, finished, cut, len(distinct), characters, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sotto")
    parser.add_argument("model")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--temperature", type=float, default=1.5)
    parser.add_argument("--data", type=pathlib.Path, default=HERE.parent.parent.parent / "shared" / "data")
    parser.add_argument("--only")
    options = parser.parse_args()
    chosen = [g[0] for g in grammars(options.data) if options.only in (None, g[0])]
    sums = [0, 0, 0]
    print(f"{'grammar':16} {'finished':>8} {'cut':>5} {'distinct':>8} {'characters':>10} {'wrong':>5}")
    with concurrent.futures.ProcessPoolExecutor() as pool:
        for name, finished, cut, distinct, characters, wrong in pool.map(judge, [options] * len(chosen), chosen):
            print(f"{name:16} {finished:8} {cut:5} {distinct:8} {characters:10} {len(wrong):5}", flush=True)
            for stop, text in wrong[:5]:
                print(f"    {stop}: {text!r}")
            sums = [a + b for a, b in zip(sums, (finished, cut, len(wrong)))]
    print(f"{len(chosen)} grammars, {sums[0]} finished, {sums[1]} cut, {sums[2]} wrong")
    sys.exit(1 if sums[2] > 0 or not chosen else 0)


if __name__ == "__main__":
    main()
