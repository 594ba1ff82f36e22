#!/usr/bin/env python3
"""Writes tests/unit/converters/data/template_goldens.jsonl: random Jinja templates and what the Python package `jinja2`
makes of them with the settings of transformers.

    make_template_goldens.py [COUNT [SEED]] > FILE

Each line: [template, text], or [template, null] if rendering fails.
"""

import json
import random
import sys

import jinja2
import jinja2.sandbox

VARIABLES = {
    "a": "left", "b": " Right \n", "n": 3, "z": 0, "t": True, "f": False, "none_value": None,
    "eos_token": "<|endoftext|>", "m": {"role": "r", "content": "c"}, "list": ["x", "yy", ""],
    "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": " Hi\n"},
                 {"role": "assistant", "content": "Ho, \"you\""}]}


def raise_exception(message):
    raise jinja2.TemplateError(message)


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, *choices):
        choice = self.random.choice(choices)
        return choice() if callable(choice) else choice

    def string(self, depth):
        if depth <= 0:
            return self.pick("a", "b", "eos_token", "'lit'", '"q\'s\\n"', "messages[1].role", "messages[-1]['content']",
                             "list[1]", "missing", "m.content", "m['role']")
        s, i, c = (lambda: self.string(depth - 1)), (lambda: self.integer(depth - 1)), (lambda: self.condition(depth - 1))
        return self.pick(
            lambda: f"{s()} + {s()}", lambda: f"{s()} ~ {i()}", lambda: f"({s()})",
            lambda: f"({s()}) | trim", lambda: f"({s()}).strip()", lambda: f"({s()}) | upper",
            lambda: f"({s()}).replace('i', 'II')", lambda: f"({s()} if {c()} else {s()})",
            lambda: f"({s()}) | default('d')", lambda: f"missing | default({s()})", lambda: f"list | join({s()})",
            lambda: f"({s()}).split('e')[0]", lambda: f"({s()}).lower()", lambda: f"({s()}).rstrip('\\nt')",
            lambda: f"(list[1:] | first)", lambda: f"({s()} or {s()})", lambda: f"({s()} and {s()})")

    def integer(self, depth):
        if depth <= 0:
            return self.pick("n", "z", "1", "2", "list|length", "messages | length", "a|length", "ns.k")
        i = lambda: self.integer(depth - 1)
        return self.pick(lambda: f"{i()} + {i()}", lambda: f"{i()} - {i()}", lambda: f"({i()}) * {i()}",
                         lambda: f"({i()}) % 3", lambda: f"({i()}) // 2", lambda: f"-{i()}",
                         lambda: f"({self.string(depth - 1)}) | length")

    def condition(self, depth):
        if depth <= 0:
            return self.pick("t", "f", "n", "z", "none_value", "missing is defined", "a is defined", "none_value is none",
                             "a is string", "messages is iterable", "messages[0] is mapping", "missing", "m is defined",
                             "n is not none", "'role' in messages[0]", "messages[0]['role'] == 'system'")
        c, i, s = (lambda: self.condition(depth - 1)), (lambda: self.integer(depth - 1)), (lambda: self.string(depth - 1))
        return self.pick(lambda: f"{c()} and {c()}", lambda: f"{c()} or {c()}", lambda: f"not {c()}", lambda: f"({c()})",
                         lambda: f"{i()} == {i()}", lambda: f"{i()} < {i()}", lambda: f"{i()} >= {i()}",
                         lambda: f"{s()} == {s()}", lambda: f"{s()} != {s()}", lambda: f"'i' in {s()}",
                         lambda: f"{s()} not in list", lambda: f"({s()}).startswith('l')",
                         lambda: f"(t) == ({i()} % 2 == 0)")

    def text(self):
        return self.pick("", "A", " ", "\n", "  \n", "B\n  ", " C ", "\n\n", "\t", "{ ", "}}", "\n   D")

    def block(self, content):
        return f"{{%{self.pick('', '', '-', '+')} {content} {self.pick('', '', '-', '+')}%}}"

    def statements(self, depth):
        return "".join(self.text() + self.statement(depth) for _ in range(self.random.randrange(1, 4))) + self.text()

    def statement(self, depth):
        if depth <= 0:
            return self.pick(
                lambda: f"{{{{{self.pick('', '-')} {self.string(2)} {self.pick('', '-')}}}}}",
                lambda: f"{{{{ {self.integer(2)} }}}}", lambda: "{# note #}", lambda: "{#- note -#}",
                lambda: self.block(f"set {self.pick('v', 'w', 'ns.k')} = {self.integer(1)}"), lambda: "{{ v }}{{ w }}")
        body = lambda: self.statements(depth - 1)
        return self.pick(
            lambda: self.block(f"if {self.condition(2)}") + body() + self.block("endif"),
            lambda: (self.block(f"if {self.condition(1)}") + body() + self.block(f"elif {self.condition(1)}") + body()
                     + self.block("else") + body() + self.block("endif")),
            lambda: (self.block("for m in messages" + self.pick("", "[1:]", "[:-1]", " if m.role != 'user'")) + body()
                     + "{{ loop.index0 ~ loop.last }}" + self.block("endfor")),
            lambda: self.block(f"set ns = namespace(k={self.integer(1)})") + body() + "{{ ns.k }}",
            lambda: self.statement(0))


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    maker = Maker(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = raise_exception
    print(json.dumps(VARIABLES))
    for _ in range(count):
        template = maker.block("set ns = namespace(k=1)") + maker.statements(2)
        try:
            text = environment.from_string(template).render(**VARIABLES)
        except (jinja2.TemplateError, TypeError, AttributeError):
            text = None
        if text is None or len(text) < 400:
            print(json.dumps([template, text]))


main()
