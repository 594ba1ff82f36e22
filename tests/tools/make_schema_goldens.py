#!/usr/bin/env python3
"""Writes tests/unit/grammar/data/schema_goldens.jsonl: random schemas and values, and the verdicts of the Python
package `jsonschema`.

    make_schema_goldens.py [COUNT [SEED]] > FILE

Each line: [schema, [valid values...], [invalid values...]].
"""

import json
import random
import sys

import jsonschema

NAMES = ["a", "b", "ab", "é"]
STRINGS = ["", "a", "b", "ab", "ba", "aab", "a1", "é", "x\ny", '"', "\\", "12"]
NUMBERS = [0, 1, 2, 3, 4, 6, 7, 10, 12, 99, 100, 101, -1, -2, -3, -10, 0.5, 1.5, 2.25, -0.5, 99.5, 9.75, 0.25]
PATTERNS = ["a", "^a", "b$", "^a*$", "^(a|b)+$", "^[^a]$", "a|^b", "^.{2,3}$", "\\d", "^(?:a|ab)b?$", "(^a|b$)"]
TYPES = ["null", "boolean", "number", "integer", "string", "array", "object"]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.in_definitions = False

    def scalar(self):
        r = self.random
        return r.choice([None, True, False, r.choice(NUMBERS), r.choice(NUMBERS), r.choice(STRINGS), r.choice(STRINGS)])

    def value(self, depth=0):
        r = self.random
        kind = r.random()
        if depth >= 2 or kind < 0.5:
            return self.scalar()
        if kind < 0.7:
            return [self.value(depth + 1) for _ in range(r.randrange(4))]
        return {n: self.value(depth + 1) for n in r.sample(NAMES, r.randrange(len(NAMES) + 1))}

    def keyword(self, depth):
        r = self.random
        sub = lambda: self.schema(depth + 1)
        subs = lambda: [sub() for _ in range(r.randrange(1, 4))]
        name = r.choice(KEYWORDS if depth < 3 else LEAVES)
        if name == "type":
            return {name: r.choice(TYPES) if r.random() < 0.7 else r.sample(TYPES, 2)}
        if name == "enum":
            return {name: [self.scalar() if r.random() < 0.8 else self.value(1) for _ in range(r.randrange(1, 5))]}
        if name == "const":
            return {name: self.scalar() if r.random() < 0.7 else self.value(1)}
        if name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            return {name: r.choice(NUMBERS)}
        if name == "multipleOf":
            return {name: r.choice([1, 2, 3, 7, 0.5, 1.5, 0.25])}
        if name in ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"):
            return {name: r.randrange(4)}
        if name == "pattern":
            return {name: r.choice(PATTERNS)}
        if name in ("items", "additionalProperties", "propertyNames", "contains", "not"):
            out = {name: sub()}
            if name == "contains" and r.random() < 0.4:
                out[r.choice(["minContains", "maxContains"])] = r.randrange(3)
            return out
        if name == "prefixItems":
            return {name: subs(), **({"items": sub()} if r.random() < 0.5 else {})}
        if name == "required":
            return {name: r.sample(NAMES, r.randrange(3))}
        if name == "properties":
            return {name: {n: sub() for n in r.sample(NAMES, r.randrange(1, 4))}}
        if name == "patternProperties":
            return {name: {p: sub() for p in r.sample(PATTERNS, r.randrange(1, 3))}}
        if name == "dependentRequired":
            return {name: {n: r.sample(NAMES, r.randrange(3)) for n in r.sample(NAMES, 1)}}
        if name == "dependentSchemas":
            return {name: {n: sub() for n in r.sample(NAMES, 1)}}
        if name == "if":
            out = {name: sub()}
            for part in ("then", "else"):
                if r.random() < 0.8:
                    out[part] = sub()
            return out
        if name == "$ref":
            if self.in_definitions or r.random() < 0.2:
                # The reference is inside a value, because a schema that refers to itself directly has no meaning.
                return {r.choice(["items", "additionalProperties"]): {"$ref": "#"}}
            return {name: r.choice(["#/$defs/x", "#/$defs/y"])}
        return {name: subs()}

    def schema(self, depth=0):
        r = self.random
        if depth > 0 and r.random() < 0.08:
            return r.random() < 0.7
        out = {}
        for _ in range(r.choice([1, 1, 2, 2, 3])):
            out.update(self.keyword(depth))
        return out

    def document(self):
        schema = self.schema()
        if "$ref" in json.dumps(schema):
            self.in_definitions = True
            schema["$defs"] = {"x": self.schema(2), "y": self.schema(1)}
            self.in_definitions = False
        return schema

    def near(self, schema, depth=0):
        """Returns a value that probably satisfies the schema."""
        r = self.random
        if not isinstance(schema, dict) or r.random() < 0.15:
            return self.value(depth)
        for name in ("allOf", "anyOf", "oneOf"):
            if name in schema and r.random() < 0.5:
                return self.near(r.choice(schema[name]), depth)
        if "const" in schema and r.random() < 0.7:
            return schema["const"]
        if "enum" in schema and r.random() < 0.7:
            return r.choice(schema["enum"])
        if any(k in schema for k in ("properties", "required", "additionalProperties", "patternProperties",
                                     "minProperties", "propertyNames", "dependentSchemas")) and r.random() < 0.8:
            names = [n for n in NAMES if n in schema.get("required", []) or r.random() < 0.5]
            r.shuffle(names)
            return {n: self.near(schema.get("properties", {}).get(n, schema.get("additionalProperties", True)), depth + 1)
                    for n in names}
        if any(k in schema for k in ("items", "prefixItems", "contains", "minItems")) and r.random() < 0.8:
            prefix = schema.get("prefixItems", [])
            return [self.near(prefix[i] if i < len(prefix) else r.choice([schema.get("items", True), schema.get("contains", True)]),
                              depth + 1) for i in range(r.randrange(4))]
        if any(k in schema for k in ("minimum", "maximum", "multipleOf", "exclusiveMinimum")) and r.random() < 0.8:
            return r.choice(NUMBERS)
        if any(k in schema for k in ("pattern", "minLength", "maxLength")) and r.random() < 0.8:
            return r.choice(STRINGS)
        return self.value(depth)


LEAVES = ["type", "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
          "minLength", "maxLength", "pattern", "minItems", "maxItems", "minProperties", "maxProperties", "required"]
KEYWORDS = LEAVES + ["items", "additionalProperties", "propertyNames", "contains", "not", "prefixItems", "properties",
                     "properties", "patternProperties", "dependentRequired", "dependentSchemas", "if", "$ref", "allOf",
                     "anyOf", "oneOf"]


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    maker = Maker(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    while count > 0:
        schema = maker.document()
        validator = jsonschema.Draft202012Validator(schema)
        sides = {True: [], False: []}
        for _ in range(24):
            value = maker.near(schema)
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            side = sides[validator.is_valid(value)]
            if text not in side:
                side.append(text)
        parts = ",".join("[" + ",".join(sides[side][:5]) + "]" for side in (True, False))
        print(f'[{json.dumps(schema, ensure_ascii=False, separators=(",", ":"))},{parts}]')
        count -= 1


if __name__ == "__main__":
    main()
