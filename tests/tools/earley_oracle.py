"""An independent oracle for grammar masks: a textbook Earley parser over code points.

    earley_oracle.py SEED COUNT OUTPUT

writes COUNT random, Unicode-heavy grammars and, for some prefixes of each, the exact set of allowed tokens; the first
line is the vocabulary. The committed sample is tests/unit/grammar/data/oracle.jsonl (seed 1, 300 grammars). The full
run is `earley_oracle.py 7 10000 FILE` and `SOTTO_GRAMMAR_ORACLE=FILE grammar_test --gtest_filter=*Oracle*`.

A grammar is generated as a tree, which is printed as GBNF and, independently, converted to plain productions. The
oracle therefore shares neither the parser nor any other code with the engine.
"""
import json
import random
import sys

SCALARS = [(0, 0xD7FF), (0xE000, 0x10FFFF)]
ALPHABET = ["a", "b", "c", "0", "-", "]", "\n", '"', "\\", "\x00", "é", "è", "ß", "€", "ぁ", "ん", "\ud7ff", "\ue000",
            "\U00010000", "😀", "😿", "\U0010ffff"]
END_TOKEN = 0


def vocabulary():
    """Returns a vocabulary of the end of text, single bytes, characters, parts of characters, and combinations of
    them."""
    tokens = [b"a", b"b", b"c", b"0", b"-", b"]", b"\n", b'"', b"\\", b"\0", b"ab", b"ba", b"aa", b"abc", b"a\n", b"bb"]
    tokens += [c.encode() for c in ALPHABET[10:]]
    tokens += [b"\xc3", b"\xa9", b"\xa8", b"\xe3", b"\x81", b"\x81\x81", b"\xe2\x82", b"\xac", b"\xf0\x9f", b"\x98\x80",
               b"\xf0", b"\x9f\x98", b"\x80", b"\xbf", b"\x98", b"a\xc3", b"\xa9b", b"\xa9\xc3", b"\x80\xf0\x9f",
               b"\xc0", b"\xc1\x81", b"\xf5", b"\xff", b"\xed\xa0", b"\xe0\x80", b"\xf4\x90", b"a\xff", b"\xed\x9f",
               "éa".encode(), "aé".encode(), "éè".encode(), "😀😿".encode(), "ab😀".encode(), b"aaaa", b"abab", b"xyz"]
    return [None] + tokens


# ---- random grammars: ("text", s), ("class", intervals, negated), ("any",), ("ref", rule), ("seq", [...]),
# ---- ("alt", [...]), ("rep", child, least, most or None)

def random_class(rng):
    intervals = []
    for _ in range(rng.randint(1, 3)):
        first = ord(rng.choice(ALPHABET))
        last = ord(rng.choice(ALPHABET)) if rng.random() < 0.4 else first
        intervals.append((min(first, last), max(first, last)))
    # A class without a character is an error, not a language.
    return ("class", intervals, rng.random() < 0.25 and bool(Productions.terminal(intervals, True)))


def random_atom(rng, rules, depth):
    kind = rng.random()
    if kind < 0.34:
        return ("text", "".join(rng.choice(ALPHABET[:3] * 4 + ALPHABET) for _ in range(rng.choice([0, 1, 1, 1, 2, 3]))))
    if kind < 0.56:
        return random_class(rng)
    if kind < 0.60:
        return ("any",)
    if kind < 0.84 or depth > 2:
        return ("ref", rng.randrange(rules))
    return random_alternatives(rng, rules, depth + 1)


def random_repetition(rng, child):
    kind = rng.random()
    if kind < 0.6:
        return child
    if kind < 0.85:
        return ("rep", child, *rng.choice([(0, None), (1, None), (0, 1)]))
    least = rng.choice([0, 0, 1, 2, 3])
    return ("rep", child, least, rng.choice([None, least, least + 1, least + 2, least + 5]))


def random_alternatives(rng, rules, depth):
    def sequence():
        return ("seq", [random_repetition(rng, random_atom(rng, rules, depth)) for _ in range(rng.choice([0, 1, 1, 2, 2, 3]))])
    return ("alt", [sequence() for _ in range(rng.choice([1, 1, 2, 2, 3]))])


def random_grammar(rng):
    rules = rng.randint(1, 5)
    return [random_alternatives(rng, rules, 0) for _ in range(rules)]


# ---- as GBNF

def print_character(rng, c, inside_class):
    simple = {"\n": "\\n", '"': '\\"', "\\": "\\\\", "]": "\\]", "-": "\\-"}
    if c in simple and (c != '"' or not inside_class) and (c not in "]-" or inside_class):
        return simple[c]
    code = ord(c)
    style = rng.random()
    if code < 0x20 or (style < 0.2 and code < 0x100):
        return f"\\x{code:02x}"
    if style < 0.3 and code < 0x10000:
        return f"\\u{code:04X}"
    if style < 0.4:
        return f"\\U{code:08x}"
    return c


def print_tree(rng, tree):
    kind = tree[0]
    if kind == "text":
        return '"' + "".join(print_character(rng, c, False) for c in tree[1]) + '"'
    if kind == "class":
        def interval(first, last):
            text = print_character(rng, chr(first), True)
            return text if first == last else text + "-" + print_character(rng, chr(last), True)
        return "[" + ("^" if tree[2] else "") + "".join(interval(*i) for i in tree[1]) + "]"
    if kind == "any":
        return "."
    if kind == "ref":
        return rule_name(tree[1])
    if kind == "seq":
        return rng.choice([" ", "  "]).join(print_tree(rng, t) for t in tree[1])
    if kind == "alt":
        return "(" + rng.choice([" | ", "|", "\n  | "]).join(print_tree(rng, t) for t in tree[1]) + ")"
    _, child, least, most = tree
    postfix = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((least, most))
    if postfix is None:
        postfix = f"{{{least},}}" if most is None else f"{{{least}}}" if least == most else f"{{{least},{most}}}"
    return print_tree(rng, child) + postfix


def rule_name(rule):
    return "root" if rule == 0 else f"r{rule}"


def print_grammar(rng, grammar):
    # An empty alternative before the end of a line would continue in the next line.
    return "\n".join(f"{rule_name(i)} ::= " + "\n  | ".join(print_tree(rng, t) or '""' for t in tree[1])
                     for i, tree in enumerate(grammar)) + "\n"


# ---- as productions: a symbol is a number (nonterminal) or a tuple of intervals (terminal)

class Productions:
    def __init__(self, grammar):
        self.rules = [[] for _ in grammar]
        for i, tree in enumerate(grammar):
            self.rules[i] = [self.sequence(t) for t in tree[1]]
        self.prune()

    def sequence(self, tree):
        return tuple(s for t in tree[1] for s in self.symbols(t))

    def new(self, alternatives):
        self.rules.append(alternatives)
        return len(self.rules) - 1

    def symbols(self, tree):
        kind = tree[0]
        if kind == "text":
            return [((ord(c), ord(c)),) for c in tree[1]]
        if kind == "any":
            return [tuple(SCALARS)]
        if kind == "class":
            return [self.terminal(tree[1], tree[2])]
        if kind == "ref":
            return [tree[1]]
        if kind == "alt":
            return [self.new([self.sequence(t) for t in tree[1]])]
        _, child, least, most = tree
        once = lambda: tuple(self.symbols(child))
        result = [s for _ in range(least) for s in once()]
        if most is None:
            star = self.new([()])
            self.rules[star].append((star,) + once())
            return result + [star]
        optional = ()
        for _ in range(most - least):
            optional = (self.new([(), once() + optional]),)
        return result + list(optional)

    @staticmethod
    def terminal(intervals, negated):
        if not negated:
            parts = intervals
        else:
            parts, free = [], 0
            for first, last in sorted(intervals):
                if first > free:
                    parts.append((free, first - 1))
                free = max(free, last + 1)
            if free <= 0x10FFFF:
                parts.append((free, 0x10FFFF))
        return tuple((max(a, x), min(b, y)) for a, b in parts for x, y in SCALARS if max(a, x) <= min(b, y))

    def prune(self):
        productive, nullable = set(), set()
        changed = True
        while changed:
            changed = False
            for i, alternatives in enumerate(self.rules):
                for known, holds in ((productive, lambda s: s in productive if isinstance(s, int) else bool(s)),
                                     (nullable, lambda s: s in nullable)):
                    if i not in known and any(all(holds(s) for s in a) for a in alternatives):
                        known.add(i)
                        changed = True
        self.productive, self.nullable = productive, nullable
        for i, alternatives in enumerate(self.rules):
            self.rules[i] = [a for a in alternatives
                             if all(s in productive if isinstance(s, int) else bool(s) for s in a)]


class Earley:
    """A chart is a list of sets of items (nonterminal, alternative, dot, origin)."""

    def __init__(self, productions):
        self.p = productions
        self.empty = [self.close([(0, a, 0, 0) for a in productions.rules[0]], [])]

    def close(self, seeds, chart):
        here, items, waiting = len(chart), dict.fromkeys(seeds), {}
        todo = list(items)

        def add(item):
            if item not in items:
                items[item] = None
                todo.append(item)

        while todo:
            lhs, rhs, dot, origin = item = todo.pop()
            if dot == len(rhs):
                source = waiting if origin == here else chart[origin][1]
                for other in list(source.get(lhs, ())):
                    add((other[0], other[1], other[2] + 1, other[3]))
                continue
            symbol = rhs[dot]
            if not isinstance(symbol, int):
                continue
            waiting.setdefault(symbol, []).append(item)
            for alternative in self.p.rules[symbol]:
                add((symbol, alternative, 0, here))
            if symbol in self.p.nullable:
                add((lhs, rhs, dot + 1, origin))
        return list(items), waiting

    def step(self, chart, code):
        """Returns the chart after one more character, or None if the character is not possible."""
        seeds = [(l, r, d + 1, o) for l, r, d, o in chart[-1][0]
                 if d < len(r) and not isinstance(r[d], int) and any(a <= code <= b for a, b in r[d])]
        return chart + [self.close(seeds, chart)] if seeds else None

    def accepts(self, chart):
        return any(l == 0 and d == len(r) and o == 0 for l, r, d, o in chart[-1][0])

    def expects(self, chart, first, last):
        return any(d < len(r) and not isinstance(r[d], int) and any(a <= last and first <= b for a, b in r[d])
                   for l, r, d, o in chart[-1][0])


def split_utf8(data):
    """Returns the complete characters, and the range of characters that the remaining bytes may begin, or None if the
    bytes are not UTF-8."""
    codes, i = [], 0
    while i < len(data):
        lead = data[i]
        size = 1 if lead < 0x80 else 2 if 0xC2 <= lead < 0xE0 else 3 if 0xE0 <= lead < 0xF0 else 4 if 0xF0 <= lead < 0xF5 else 0
        if size == 0:
            return None
        rest = data[i:i + size]
        if any(not 0x80 <= b < 0xC0 for b in rest[1:]):
            return None
        def value(fill):
            b = rest + bytes([fill] * (size - len(rest)))
            code = b[0] if size == 1 else b[0] & (0x7F >> size)
            for c in b[1:]:
                code = code << 6 | c & 0x3F
            return code
        low = {1: 0, 2: 0x80, 3: 0x800, 4: 0x10000}[size]
        first, last = max(value(0x80), low), min(value(0xBF), 0x10FFFF)
        if 0xD800 <= first <= 0xDFFF:
            first = 0xE000
        if 0xD800 <= last <= 0xDFFF:
            last = 0xD7FF
        if first > last:
            return None
        if len(rest) < size:
            return codes, (first, last)
        codes.append(first)
        i += size
    return codes, None


class Prefix:
    """The text so far: a chart over its whole characters, and the bytes of an unfinished one."""

    def __init__(self, earley, chart, rest):
        self.earley, self.chart, self.rest = earley, chart, rest

    def after(self, token):
        data = self.rest + token
        split = split_utf8(data)
        if split is None:
            return None
        chart = self.chart
        for code in split[0]:
            chart = self.earley.step(chart, code)
            if chart is None:
                return None
        if split[1] is None:
            return Prefix(self.earley, chart, b"")
        if not self.earley.expects(chart, *split[1]):
            return None
        done = len("".join(map(chr, split[0])).encode())
        return Prefix(self.earley, chart, data[done:])

    def accepts(self):
        return not self.rest and self.earley.accepts(self.chart)


def masks(rng, productions, tokens, walks, length):
    """Pairs of a prefix, as tokens, and the mask after it, as a hexadecimal number."""
    earley = Earley(productions)
    known = {}
    for _ in range(walks):
        prefix, path = Prefix(earley, earley.empty, b""), ()
        for _ in range(rng.randint(1, length)):
            if path not in known:
                followers = {i: prefix.after(t) for i, t in enumerate(tokens) if t is not None}
                followers = {i: p for i, p in followers.items() if p is not None}
                bits = sum(1 << i for i in followers) | (1 << END_TOKEN if prefix.accepts() else 0)
                known[path] = (bits, followers)
            followers = known[path][1]
            if not followers:
                break
            token = rng.choice(sorted(followers))
            prefix, path = followers[token], path + (token,)
    return [[list(path), f"{bits:x}"] for path, (bits, _) in known.items()]


def main():
    seed, count, output = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    tokens = vocabulary()
    with open(output, "w", encoding="utf-8") as file:
        file.write(json.dumps([None if t is None else t.hex() for t in tokens]) + "\n")
        for i in range(count):
            rng = random.Random(seed * 1_000_000 + i)
            grammar = random_grammar(rng)
            text = print_grammar(rng, grammar)
            productions = Productions(grammar)
            found = masks(rng, productions, tokens, 3, 6) if 0 in productions.productive else None
            file.write(json.dumps({"grammar": text, "masks": found}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
