#!/usr/bin/env python3
"""Compares the token ids of the runtime with the Python package `tokenizers`.

    compare_tokenizers.py ENCODE_TEXTS SHARED_DATA [--count N] [--only NAME]
    compare_tokenizers.py --goldens SHARED_DATA

ENCODE_TEXTS is the program build/release/bin/encode_texts, SHARED_DATA the folder with the corpora. For every type of
tokenizer the script trains a small one, saves it, and encodes N texts (a million by default) with both: lines of the
corpora, random strings of Unicode, and mixtures of both. Types that begin with "spiece" are models of SentencePiece and
are compared with the package `sentencepiece`. CI does not run it.

With --goldens it writes tests/data/tokenizer/types.json: for some types a very small tokenizer, texts, and their ids.
"""

import argparse
import collections
import io
import json
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, trainers
from tokenizers import pre_tokenizers as pre

CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|"
          r"\s*[\r\n]|\s+(?!\S)|\s+")
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
        r"\s*[\r\n]+|\s+(?!\S)|\s+")


SIZE = {"vocab_size": 3000, "limit_alphabet": 300}


def byte_bpe(*parts, use_regex=False, normalizer=None):
    tokenizer = Tokenizer(models.BPE())
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    parts = [*parts, pre.ByteLevel(add_prefix_space=False, use_regex=use_regex)]
    tokenizer.pre_tokenizer = pre.Sequence(parts)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre.ByteLevel.alphabet()
    return tokenizer, trainers.BpeTrainer(vocab_size=max(300, SIZE["vocab_size"]), initial_alphabet=alphabet,
                                          special_tokens=["<|end|>"], show_progress=False)


def split(pattern, behavior="isolated", invert=False):
    return pre.Split(Regex(pattern), behavior, invert)


def trained(model, trainer, normalizer=None, pre_tokenizer=None, decoder=None):
    tokenizer = Tokenizer(model)
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    if decoder is not None:
        tokenizer.decoder = decoder
    return tokenizer, trainer


def bpe_trainer(**options):
    return trainers.BpeTrainer(**{**SIZE, "special_tokens": ["<unk>", "<s>"], "show_progress": False, **options})


def sentence_bpe(scheme, split=True, **options):
    metaspace = pre.Metaspace(prepend_scheme=scheme, split=split)
    return trained(models.BPE(unk_token="<unk>", **options), bpe_trainer(), None, metaspace, decoders.Metaspace())


def llama():
    """Returns a tokenizer with byte_fallback and without a pre-tokenizer."""
    tokenizer, trainer = sentence_bpe("never")
    tokenizer.train_from_iterator(TRAINING, trainer)
    state = json.loads(tokenizer.to_str())
    state["normalizer"] = {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "\u2581"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]}
    state["pre_tokenizer"] = None
    vocabulary = state["model"]["vocab"]
    for byte in range(256):
        vocabulary[f"<0x{byte:02X}>"] = len(vocabulary)
    state["model"].update(byte_fallback=True, fuse_unk=True)
    return Tokenizer.from_str(json.dumps(state)), None


def unigram(*, scheme="always", byte_fallback=False, normalizer=None, split=True):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre.Metaspace(prepend_scheme=scheme, split=split)
    tokenizer.decoder = decoders.Metaspace()
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    special = ["<unk>"] + ([f"<0x{byte:02X}>" for byte in range(256)] if byte_fallback else [])
    trainer = trainers.UnigramTrainer(vocab_size=SIZE["vocab_size"] + len(special), special_tokens=special, unk_token="<unk>",
                                      show_progress=False)
    tokenizer.train_from_iterator(TRAINING, trainer)
    state = json.loads(tokenizer.to_str())
    state["model"]["byte_fallback"] = byte_fallback
    state["added_tokens"] = state["added_tokens"][:1]
    return Tokenizer.from_str(json.dumps(state)), None


# A few rules of a SentencePiece normalizer, for small fixtures: for one character, for two, for a character that begins
# another rule, and a removal.
FEW_RULES = "41\t61\n45\t65\n65 301\tE9\nFB01\t66 69\nFB01 301\t66\n3000\t20\nA0\t20\n9\t20\nA\t20\nD\t20\n200B\t\n2581\t20\n"


def sentencepiece_model(*, rule="nmt_nfkc", **options):
    """Trains SentencePiece and returns its model file."""
    import sentencepiece

    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as rules:
        if rule == "few":
            rules.write(FEW_RULES)
            rules.flush()
            options["normalization_rule_tsv"] = rules.name
        else:
            options["normalization_rule_name"] = rule
        writer = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TRAINING), model_writer=writer, vocab_size=SIZE["vocab_size"], minloglevel=2,
            hard_vocab_limit=False, character_coverage=0.999, **options)
    return writer.getvalue()


class SentencePiece:
    """A model of SentencePiece with the methods of a tokenizer that this script uses."""

    def __init__(self, **options):
        import sentencepiece

        self.model = sentencepiece_model(**options)
        self.processor = sentencepiece.SentencePieceProcessor(model_proto=self.model)

    def get_vocab_size(self):
        return self.processor.vocab_size()

    def save(self, path):
        pathlib.Path(path).with_name("spiece.model").write_bytes(self.model)

    def encode_batch(self, texts, add_special_tokens):
        Encoding = collections.namedtuple("Encoding", "ids tokens")
        return [Encoding(ids, self.processor.id_to_piece(ids)) for ids in self.processor.encode(texts)]


def precompiled(rule="nmt_nfkc"):
    """Returns the rules of SentencePiece as the converters to tokenizer.json write them."""
    import sentencepiece.sentencepiece_model_pb2 as proto

    model = proto.ModelProto.FromString(sentencepiece_model(rule=rule))
    merge = normalizers.Replace(Regex(" {2,}"), " ")
    return normalizers.Sequence([normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap), merge])


def word_piece(normalizer, prefix="##"):
    trainer = trainers.WordPieceTrainer(**SIZE, special_tokens=["[UNK]", "[CLS]"], continuing_subword_prefix=prefix,
                                        show_progress=False)
    return trained(models.WordPiece(unk_token="[UNK]", continuing_subword_prefix=prefix), trainer, normalizer,
                   pre.BertPreTokenizer(), decoders.WordPiece(prefix=prefix))


def word_level(pre_tokenizer, normalizer=None):
    trainer = trainers.WordLevelTrainer(vocab_size=SIZE["vocab_size"], special_tokens=["[UNK]"], show_progress=False)
    return trained(models.WordLevel(unk_token="[UNK]"), trainer, normalizer, pre_tokenizer)


def affix_bpe(pre_tokenizer, normalizer=None, **affix):
    trainer_affix = {key: value for key, value in affix.items() if key != "fuse_unk"}
    return trained(models.BPE(unk_token="<unk>", **affix), bpe_trainer(**trainer_affix), normalizer, pre_tokenizer)


TYPES = {
    "cl100k": lambda: byte_bpe(split(CL100K)),
    "o200k": lambda: byte_bpe(split(O200K)),
    "qwen": lambda: byte_bpe(split(QWEN)),
    "starcoder": lambda: byte_bpe(pre.Digits(individual_digits=True), use_regex=True),
    "digit-groups": lambda: byte_bpe(pre.Digits(), split(r"\s+", "contiguous"), use_regex=True),
    "string": lambda: byte_bpe(pre.Split("e ", "isolated"), split(r"\p{Lu}?\p{Ll}{0,5}?[aeiou]")),
    "removed": lambda: byte_bpe(split(r"\s", "removed"), split(r"[a-z]+(?=\d)|[^\s\d]+")),
    "inverted": lambda: byte_bpe(split(r"[a-z]+|[^a-z\n]", "removed", True)),
    "no-pattern": lambda: byte_bpe(),
    "characters": lambda: word_level(split(r"[\s\S]")),
    "words": lambda: word_level(pre.Whitespace()),
    "word-split": lambda: word_level(pre.WhitespaceSplit(), normalizers.Lowercase()),
    "delimiter": lambda: word_level(pre.CharDelimiterSplit(" ")),
    "bpe-metaspace": lambda: sentence_bpe("always"),
    "bpe-first": lambda: sentence_bpe("first", fuse_unk=True),
    "bpe-whole": lambda: sentence_bpe("never", split=False),
    "llama": llama,
    "bpe-suffix": lambda: affix_bpe(pre.BertPreTokenizer(), normalizers.BertNormalizer(), end_of_word_suffix="</w>"),
    "bpe-suffix-2": lambda: affix_bpe(pre.WhitespaceSplit(), end_of_word_suffix="</w>", fuse_unk=True),
    "bpe-prefix": lambda: affix_bpe(pre.Whitespace(), continuing_subword_prefix="##"),
    "bpe-lower": lambda: trained(models.BPE(unk_token="<unk>"), bpe_trainer(), normalizers.Lowercase(),
                                 split(r" ?\p{L}+|\P{L}")),
    "unigram": unigram,
    "unigram-whole": lambda: unigram(scheme="first", split=False),
    "unigram-bytes": lambda: unigram(byte_fallback=True),
    "unigram-lower": lambda: unigram(normalizer=normalizers.Sequence(
        [normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()])),
    "nfc": lambda: byte_bpe(use_regex=True, normalizer=normalizers.NFC()),
    "nfd": lambda: byte_bpe(use_regex=True, normalizer=normalizers.NFD()),
    "nfkc": lambda: byte_bpe(use_regex=True, normalizer=normalizers.NFKC()),
    "nfkd": lambda: byte_bpe(use_regex=True, normalizer=normalizers.NFKD()),
    "nfkc-lower": lambda: trained(models.BPE(unk_token="<unk>"), bpe_trainer(), normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Lowercase()]), split(r" ?\p{L}+|\P{L}")),
    "nfc-plain": lambda: word_level(split(r"[\s\S]"), normalizers.Sequence(
        [normalizers.NFC(), normalizers.Strip(), normalizers.StripAccents()])),
    "nmt": lambda: unigram(normalizer=normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " "), normalizers.Lowercase()])),
    "precompiled": lambda: unigram(normalizer=precompiled()),
    "precompiled-fold": lambda: unigram(normalizer=precompiled("nmt_nfkc_cf")),
    "precompiled-few": lambda: unigram(normalizer=precompiled("few")),
    "spiece-few": lambda: (SentencePiece(rule="few"), None),
    "spiece-bpe-few": lambda: (SentencePiece(model_type="bpe", rule="few"), None),
    "spiece-unigram": lambda: (SentencePiece(), None),
    "spiece-bytes": lambda: (SentencePiece(byte_fallback=True, rule="nfkc"), None),
    "spiece-bpe": lambda: (SentencePiece(model_type="bpe"), None),
    "spiece-llama": lambda: (SentencePiece(model_type="bpe", byte_fallback=True, rule="identity",
                                           remove_extra_whitespaces=False), None),
    "bert-uncased": lambda: word_piece(normalizers.BertNormalizer()),
    "bert-cased": lambda: word_piece(normalizers.BertNormalizer(lowercase=False)),
    "bert-plain": lambda: word_piece(normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False,
                                                                strip_accents=True, lowercase=False), "@@"),
}

TRAINING = []


def random_character(chance):
    kind = chance.randrange(12)
    if kind < 4:
        return chance.choice("aeiostnrSTRKſK'.,!?- \n\t0123456789\r\u00a0\u3000\u2581#<>/")
    if kind < 6:
        return chance.choice(["'s", "'LL", " ", "  ", "\n\n", "\r\n", "é", "e\u0301", "ﬁ", "İ", "ß", "你", "好", "ー", "한"])
    if kind == 6:
        return chr(chance.randrange(0x20, 0x7F))
    if kind == 7:
        return chr(chance.randrange(0x80, 0x600))
    if kind == 8:
        return chr(chance.randrange(0x600, 0x3100))
    if kind == 9:
        return chr(chance.randrange(0x3100, 0xD800))
    code_point = chance.randrange(0x110000)
    return chr(0xFFFD if 0xD800 <= code_point < 0xE000 else code_point)


def make_texts(lines, count, chance):
    for i in range(count):
        kind = i % 4
        line = chance.choice(lines)
        if kind == 0:
            yield line
        elif kind == 1:
            yield "".join(random_character(chance) for _ in range(chance.randrange(1, 24)))
        elif kind == 2:
            at = chance.randrange(len(line) + 1)
            noise = "".join(random_character(chance) for _ in range(chance.randrange(1, 4)))
            yield line[:at] + noise + line[at : at + 40]
        else:
            word = "".join(random_character(chance) for _ in range(chance.randrange(1, 4)))
            yield word * chance.randrange(1, 9 if i % 400 != 3 else 400)


def run(program, directory, size, texts):
    records = b"".join(struct.pack("<I", len(text)) + text for text in (t.encode() for t in texts))
    result = subprocess.run([program, directory, str(size)], input=records, stdout=subprocess.PIPE)
    if result.returncode != 0:
        sys.exit("encode_texts failed")
    output, at = result.stdout, 0
    for _ in texts:
        (count,) = struct.unpack_from("<I", output, at)
        at += 4
        if count == 0xFFFFFFFF:
            yield None, None
            continue
        ids = list(struct.unpack_from(f"<{count}i", output, at))
        at += 4 * count
        (length,) = struct.unpack_from("<I", output, at)
        yield ids, output[at + 4 : at + 4 + length]
        at += 4 + length


def compare(name, program, lines, count):
    tokenizer = train(name)
    chance = random.Random(name)
    differences = 0
    with tempfile.TemporaryDirectory() as directory:
        tokenizer.save(f"{directory}/tokenizer.json")
        size = tokenizer.get_vocab_size()
        done = 0
        while done < count:
            texts = list(make_texts(lines, min(20000, count - done), chance))
            if isinstance(tokenizer, SentencePiece):  # which does not find the names of special tokens in text
                texts = [re.sub("<(unk|/?s)>", r"\1", text) for text in texts]
            expected = tokenizer.encode_batch(texts, add_special_tokens=False)
            for text, want, (ids, _) in zip(texts, expected, run(program, directory, size, texts)):
                if ids == want.ids:
                    continue
                differences += 1
                if differences <= 5:
                    print(f"{name}: {text[:80]!r}\n  expected {want.ids[:20]} {want.tokens[:20]}\n  got      "
                          f"{ids and ids[:20]}")
            done += len(texts)
    print(f"{name}: {done} texts, {differences} differences", flush=True)
    return differences


def train(name):
    tokenizer, trainer = TYPES[name]()
    if trainer is not None:
        tokenizer.train_from_iterator(TRAINING, trainer)
    return tokenizer


GOLDENS = ["cl100k", "starcoder", "characters", "words", "bpe-metaspace", "llama", "bpe-suffix", "bpe-prefix", "unigram",
           "unigram-bytes", "nfc", "nfkd", "nfkc-lower", "nmt", "precompiled-few", "spiece-few",
           "spiece-bpe-few", "bert-uncased", "bert-cased"]
TARGET = pathlib.Path(__file__).resolve().parents[1] / "data/tokenizer/types.json"


def write_goldens(lines):
    SIZE.update(vocab_size=150, limit_alphabet=60)
    TRAINING[:] = [line for line in lines if line.isascii()][:3000]
    chance = random.Random(2)
    fixed = ["", " ", "e\u0301\u0323 \u1100\u1161\u11a8 \ufb01\u0301 \u212b\u3000  \uac01\u11a8\r\n", "Hello, world!", "don't  stop\n\n now", "你好 Élan naïve", "a\u2581b \u2581", "x" * 300, "zyx 12345"]
    texts = fixed + [text[:60] for text in make_texts(lines, 24, chance)]
    goldens = []
    for name in GOLDENS:
        tokenizer = train(name)
        ids = [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]
        golden = {"name": name, "size": tokenizer.get_vocab_size(), "ids": ids}
        if isinstance(tokenizer, SentencePiece):
            golden["spiece"] = tokenizer.model.hex()
        else:
            golden["tokenizer"] = json.loads(tokenizer.to_str())
        goldens.append(golden)
    with TARGET.open("w") as out:
        out.write('{"texts": ' + json.dumps(texts) + ',\n"types": [\n')
        out.write(",\n".join(json.dumps(golden) for golden in goldens) + "\n]}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", nargs="?")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=1000000)
    parser.add_argument("--only")
    parser.add_argument("--goldens", action="store_true")
    options = parser.parse_args()
    lines = []
    for path in sorted((options.data / "corpora").rglob("*")):
        if path.is_file() and path.name != "NOTES.md":
            lines += [line for line in path.read_bytes().decode().split("\n") if line]
    random.Random(1).shuffle(lines)
    # Merges of the unknown token, which its text in the corpora would cause, are rejected.
    TRAINING[:] = [line.replace("<unk>", "unk") for line in lines[:20000]] + ["你好世界 한국어 日本語。"] * 20
    if options.goldens:
        return write_goldens(lines)
    names = [name for name in TYPES if options.only in (None, name)]
    sys.exit(1 if sum(compare(name, options.program, lines, options.count) for name in names) else 0)


if __name__ == "__main__":
    main()
