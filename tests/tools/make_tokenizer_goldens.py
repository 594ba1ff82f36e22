#!/usr/bin/env python3
"""Writes tests/data/tokenizer/*.txt: hashes of the token ids of the `tokenizers` package.

    make_tokenizer_goldens.py SHARED_DATA

SHARED_DATA holds tokenizer/vocab and corpora. The texts are those that
tests/unit/text/published_vectors_test.cpp makes: keep the two alike.
"""

import pathlib
import sys

from tokenizers import ByteLevelBPETokenizer, Tokenizer
from tokenizers.pre_tokenizers import ByteLevel

TARGET = pathlib.Path(__file__).resolve().parents[1] / "data/tokenizer"
MASK = (1 << 64) - 1
SEPARATOR = 0xFFFFFFFF

SPACES = [0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x85, 0xA0, 0x1680, 0x2003, 0x2028, 0x202F, 0x3000]
SNIPPETS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", " the", "ing",
            "<|endoftext|>", "://", "\u200d", "\ufeff", "...", "==="]
LONG_WORDS = [("a", 1000000), (" ", 1000000), ("-", 1000000), ("\u00c3\u00c2", 250000),
              ("ab", 500000), ("\u4f60\u597d", 100000), ("0123456789", 100000)]


class Random:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        return z ^ z >> 31

    def below(self, bound):
        return self.next() % bound


class Hash:
    def __init__(self):
        self.value = 0xCBF29CE484222325

    def add(self, values):
        for value in values:
            self.value = (self.value ^ value) * 0x100000001B3 & MASK


def random_piece(random):
    kind = random.below(16)
    if kind < 3:
        return chr(ord("a") + random.below(26))
    if kind == 3:
        return chr(ord("A") + random.below(26))
    if kind == 4:
        return chr(ord("0") + random.below(10))
    if kind == 5:
        return chr(33 + random.below(15))
    if kind == 6:
        return " "
    if kind == 7:
        return " " * (1 + random.below(40))
    if kind == 8:
        return chr(SPACES[random.below(len(SPACES))])
    if kind == 9:
        return SNIPPETS[random.below(len(SNIPPETS))]
    if kind == 10:
        code_point = random.below(0x110000)
        return chr(0xFFFD if 0xD800 <= code_point < 0xE000 else code_point)
    if kind == 11:
        return chr(random.below(0x800))
    if kind == 12:
        return chr(0x4E00 + random.below(0x5000))
    if kind == 13:
        return chr(0x1F300 + random.below(0x700))
    if kind == 14:
        return chr(0x300 + random.below(0x70))
    character = chr(33 + random.below(94))
    times = 1 + random.below(80)
    return character * (times * (8 if random.below(50) == 0 else 1))


def random_text(random):
    count = random.below(40)
    return "".join(random_piece(random) for _ in range(count))


def hash_ids(tokenizer, text):
    hash = Hash()
    ids = tokenizer.encode(text).ids
    hash.add(ids)
    return f"{len(ids)} {hash.value:016x}"


def random_strings(tokenizers):
    random = Random(1)
    for _ in range(100):
        text_hash, hashes = Hash(), [Hash() for _ in tokenizers]
        for _ in range(100):
            text = random_text(random)
            text_hash.add(text.encode())
            for tokenizer, hash in zip(tokenizers, hashes):
                hash.add(tokenizer.encode(text).ids)
                hash.add([SEPARATOR])
        yield " ".join(f"{hash.value:016x}" for hash in [text_hash, *hashes])


def main():
    data = pathlib.Path(sys.argv[1])
    vocabulary = data / "tokenizer/vocab"
    gpt2 = ByteLevelBPETokenizer(str(vocabulary / "encoder.json"), str(vocabulary / "vocab.bpe"))
    whole = str(vocabulary / "hf_tokenizer_gpt2_plus_38_whitespace_tokens.json")
    whitespace = Tokenizer.from_file(whole)
    prefixing = Tokenizer.from_file(whole)
    prefixing.pre_tokenizer = ByteLevel(add_prefix_space=True)

    TARGET.mkdir(parents=True, exist_ok=True)
    lines = random_strings([gpt2, whitespace, prefixing])
    (TARGET / "random_strings.txt").write_text("".join(line + "\n" for line in lines))

    with open(TARGET / "corpora.txt", "w") as out:
        for path in sorted((data / "corpora").rglob("*")):
            if not path.is_file() or path.name == "NOTES.md":
                continue
            text = path.read_bytes().decode()
            print(path.relative_to(data), hash_ids(gpt2, text), hash_ids(whitespace, text), file=out)

    with open(TARGET / "long_words.txt", "w") as out:
        for unit, times in LONG_WORDS:
            print(hash_ids(gpt2, unit * times), file=out)
        random = Random(7)
        letters = "".join(chr(ord("a") + random.below(26)) for _ in range(1000000))
        print(hash_ids(gpt2, letters), file=out)


if __name__ == "__main__":
    main()
