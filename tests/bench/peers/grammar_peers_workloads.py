"""Grammars and texts for grammar_peers.py: (name, language, source, texts)."""
import json
import random

GBNF, SCHEMA = 0, 1  # as sotto_grammar_language

JSON_GRAMMAR = r'''root ::= value
value ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
array ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x00-\x1F\x7F] | "\\" (["\\bfnrt/] | "u" [0-9a-fA-F]{4}))* "\"" ws
number ::= "-"? ([0-9] | [1-9] [0-9]{0,15}) ("." [0-9]+)? ([eE] [-+]? [1-9] [0-9]{0,15})? ws
ws ::= "" | " " | "\n" [ \t]{0,20}
'''
# Without left recursion, which llama.cpp refuses.
ARITHMETIC = r'''root ::= sum "\n"
sum ::= product ([-+] product)*
product ::= power ([*/] power)*
power ::= atom ("^" atom)*
atom ::= [0-9]+ ("." [0-9]{1,8})? | [a-z]+ ("(" sum ("," sum)* ")")? | "(" sum ")"
'''
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 60},
        "role": {"enum": ["admin", "author", "reader", "guest"]},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 8},
        "address": {"type": "object", "additionalProperties": False, "required": ["street", "code"],
                    "properties": {"street": {"type": "string"}, "code": {"type": "string", "pattern": "^[0-9]{5}$"}}},
    },
    "required": ["name", "role", "age", "tags", "address"],
    "additionalProperties": False,
}
TREE = {
    "type": "object", "required": ["tree"], "additionalProperties": False,
    "properties": {"tree": {"$ref": "#/$defs/node"}},
    "$defs": {"node": {"type": "object", "additionalProperties": False, "required": ["label", "children"],
                       "properties": {"label": {"type": "string"},
                                      "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}},
}
WORDS = "the river of seven quietly Zürich stone walked under a blue naïve lamp because nothing 世界 remains café".split()


def words(source, count):
    return " ".join(source.choice(WORDS) for _ in range(count))


def make_value(source, depth):
    kind = source.randrange(8) if depth > 0 else 3 + source.randrange(5)
    if kind < 2:
        return {f"{words(source, 1)}{i}": make_value(source, depth - 1) for i in range(source.randrange(6))}
    if kind == 2:
        return [make_value(source, depth - 1) for _ in range(source.randrange(6))]
    if kind == 3:
        return source.random() < 0.5
    return source.randrange(-10**6, 10**6) / source.choice((1, 64)) if kind < 6 else words(source, source.randrange(1, 12))


def make_formula(source):
    text = "x"
    for _ in range(12):
        text = source.choice((f"({text})*{source.randrange(999)}", f"{text}+sin({source.randrange(99)}.5,ab)",
                              f"{source.randrange(9999)}/{text}", f"{text}-alpha^2"))
    return text + "\n"


def make_person(source):
    return {"name": words(source, 2), "role": "author", "age": source.randrange(99),
            "tags": [words(source, 1) for _ in range(3)],
            "address": {"street": words(source, 3), "code": f"{source.randrange(10**5):05}"}}


def make_node(source, depth):
    return {"label": words(source, 3), "children": [make_node(source, depth - 1) for _ in range(3 if depth else 0)]}


def dump(value):
    """Returns JSON with one space after each colon and comma, which every engine allows by default."""
    return json.dumps(value, ensure_ascii=False)


def made_workloads(count):
    sources = [random.Random(seed) for seed in range(count)]
    return [
        ("json.gbnf", GBNF, JSON_GRAMMAR, [dump({"list": make_value(s, 5), "b": make_value(s, 4)}) for s in sources]),
        ("arithmetic", GBNF, ARITHMETIC, [make_formula(s) for s in sources]),
        ("person schema", SCHEMA, json.dumps(PERSON), [dump(make_person(s)) for s in sources]),
        ("tree schema", SCHEMA, json.dumps(TREE), [dump({"tree": make_node(s, 2)}) for s in sources]),
    ]


def read_workloads(folder, limit, count):
    """Files {"schema", "tests": [{"valid", "data"}]} of a directory, spread over it."""
    files = sorted(folder.glob("*.json"))
    for path in files[::max(1, len(files) // limit)][:limit]:
        case = json.loads(path.read_text())
        texts = [dump(test["data"]) for test in case["tests"] if test["valid"]][:count]
        if texts:
            yield path.stem, SCHEMA, json.dumps(case["schema"]), texts
