"""Compares the times of Sotto's, llama.cpp's, llguidance's and xgrammar's grammar engines in one run: the same grammars,
texts and tokens.

    pip install llama-cpp-python llguidance xgrammar numpy
    python3 tests/bench/peers/grammar_peers.py build/release/lib/libsotto.so.1 --vocabulary ggml-vocab-gpt-2.gguf

CI does not run it. The vocabulary is any GGUF file of a byte-level tokenizer. For each grammar, every engine in turn
runs in its own process: it compiles the grammar, then several times starts from scratch and follows the same texts
token by token. Computing each mask, including the first one at a position, and accepting each token are timed. The time
of a position is the minimum over all rounds, in which the same work is done. An engine that takes more than --seconds
for a grammar is stopped and counted as failed. All engines use one thread and no cached grammars. The times include the
call from Python, which is also printed by itself as `call`; it is most of Sotto's median (sotto-bench --grammar
measures without it).

`same masks` counts the positions at which an engine allows the same tokens as Sotto. Schemas leave the engines some
freedom, mostly in white space, so only the counts for grammars show errors.
"""
import argparse
import ctypes
import json
import math
import multiprocessing
import os
import pathlib
import statistics
import sys
import time

import llama_cpp.llama_cpp as llama
import numpy
from llama_cpp import llama_grammar

from grammar_peers_workloads import SCHEMA, made_workloads, read_workloads

DATA = pathlib.Path(os.environ.get("SOTTO_TEST_DATA", pathlib.Path(__file__).parents[3] / "../shared/data"))
ENGINES = ("sotto", "llama.cpp", "llguidance", "xgrammar")


class Vocabulary:
    def __init__(self, path):
        self.silent = llama.llama_log_callback(lambda *_: None)
        llama.llama_log_set(self.silent, None)
        llama.llama_backend_init()
        params = llama.llama_model_default_params()
        params.vocab_only = True
        self.model = llama.llama_model_load_from_file(str(path).encode(), params)
        if not self.model:
            raise SystemExit(f"{path}: not a GGUF vocabulary")
        self.handle = llama.llama_model_get_vocab(self.model)
        self.count = llama.llama_vocab_n_tokens(self.handle)
        self.end = llama.llama_vocab_eos(self.handle)
        buffer = ctypes.create_string_buffer(512)
        self.pieces = []
        for token in range(self.count):
            size = llama.llama_token_to_piece(self.handle, token, buffer, 512, 0, True)
            self.pieces.append(buffer.raw[:size])
        self.ids = {piece: token for token, piece in enumerate(self.pieces) if token != self.end}
        self.longest = max(map(len, self.pieces))


class Text(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char_p), ("size", ctypes.c_size_t)]


# The first fields of the structs; omitted ones keep their defaults.
class VocabularyParams(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("token_count", ctypes.c_uint32), ("model", ctypes.c_void_p),
                ("bytes", ctypes.c_char_p), ("offsets", ctypes.c_void_p), ("special", ctypes.c_void_p),
                ("end_tokens", ctypes.c_void_p), ("end_token_count", ctypes.c_size_t)]


class GrammarParams(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("language", ctypes.c_int32), ("root", Text),
                ("vocabulary", ctypes.c_void_p)]


class Block:
    def __init__(self, size):
        self.memory = ctypes.create_string_buffer(size + 64)
        self.size = ctypes.c_size_t(size)
        self.place = ctypes.c_void_p((ctypes.addressof(self.memory) + 63) // 64 * 64)


class Refused(Exception):
    pass


class Sotto:
    def __init__(self, path, vocabulary):
        self.library = ctypes.CDLL(str(path))
        self.count = vocabulary.count
        text = b"".join(vocabulary.pieces)
        self.offsets = numpy.cumsum([0] + [len(piece) for piece in vocabulary.pieces]).astype(numpy.uint32)
        self.ends = (ctypes.c_int32 * 1)(vocabulary.end)
        params = VocabularyParams()
        self.library.sotto_vocabulary_params_init(ctypes.byref(params), ctypes.c_size_t(ctypes.sizeof(params)))
        params.token_count, params.bytes = vocabulary.count, text
        params.offsets, params.end_tokens = self.offsets.ctypes.data, ctypes.addressof(self.ends)
        params.end_token_count = 1
        size = ctypes.c_size_t()
        self.check(self.library.sotto_vocabulary_memory_size(ctypes.byref(params), ctypes.byref(size), None))
        self.vocabulary_memory = Block(size.value)
        self.vocabulary, self.kept = ctypes.c_void_p(), text
        self.check(self.library.sotto_vocabulary_init(
            ctypes.byref(params), self.vocabulary_memory.place, size, ctypes.byref(self.vocabulary), None))
        self.memory = Block(64 << 20)
        self.words = numpy.zeros((self.count + 63) // 64, numpy.uint64)
        self.arguments = (ctypes.c_void_p(self.words.ctypes.data), ctypes.c_size_t(len(self.words)))
        self.zero = ctypes.c_uint32(0)

    @staticmethod
    def check(status):
        if status != 0:
            raise Refused(f"status {status}")

    def compile(self, language, source):
        params = GrammarParams()
        self.library.sotto_grammar_params_init(ctypes.byref(params), ctypes.c_size_t(ctypes.sizeof(params)))
        params.language, params.vocabulary = language, self.vocabulary
        grammar, size = ctypes.c_void_p(), ctypes.c_size_t()
        text = source.encode()
        begin = time.perf_counter()
        status = self.library.sotto_grammar_compile(
            text, ctypes.c_size_t(len(text)), ctypes.byref(params), self.memory.place, self.memory.size,
            ctypes.byref(grammar), ctypes.byref(size), None)
        taken = time.perf_counter() - begin
        self.check(status)
        need = ctypes.c_size_t()
        self.check(self.library.sotto_matcher_memory_size(grammar, self.vocabulary, None, ctypes.byref(need), None))
        self.matcher_memory, self.matcher = Block(need.value), ctypes.c_void_p()
        self.check(self.library.sotto_matcher_init(grammar, self.vocabulary, None, self.matcher_memory.place, need,
                                                   ctypes.byref(self.matcher), None))
        return taken

    def restart(self):
        self.check(self.library.sotto_matcher_reset(self.matcher, self.zero))

    def mask(self):
        call, matcher, zero, arguments = self.library.sotto_matcher_mask, self.matcher, self.zero, self.arguments
        begin = time.perf_counter()
        status = call(matcher, zero, *arguments)
        taken = time.perf_counter() - begin
        self.check(status)
        return taken

    def allowed(self):
        bits = numpy.unpackbits(self.words.view(numpy.uint8), bitorder="little")
        return bits[:self.count].astype(bool)

    def accept(self, token):
        call, matcher, zero, value = self.library.sotto_matcher_accept_token, self.matcher, self.zero, ctypes.c_int32(token)
        begin = time.perf_counter()
        status = call(matcher, zero, value)
        taken = time.perf_counter() - begin
        self.check(status)
        return taken

    def call(self):
        """Measures a call that does almost nothing."""
        call, matcher, zero, arguments = self.library.sotto_matcher_mask, None, self.zero, (None, ctypes.c_size_t(0))
        times = []
        for _ in range(2000):
            begin = time.perf_counter()
            call(matcher, zero, *arguments)
            times.append(time.perf_counter() - begin)
        return statistics.median(times)


class Llama:
    def __init__(self, vocabulary):
        self.vocabulary, self.sampler = vocabulary, None
        self.fresh = (llama.llama_token_data * vocabulary.count)()
        view = numpy.ctypeslib.as_array(self.fresh)
        view["id"], view["logit"], view["p"] = numpy.arange(vocabulary.count), 1, 0
        self.work = (llama.llama_token_data * vocabulary.count)()
        self.view = numpy.ctypeslib.as_array(self.work)
        self.candidates = llama.llama_token_data_array(self.work, vocabulary.count, -1, False)

    def compile(self, language, source):
        if self.sampler:
            llama.llama_sampler_free(self.sampler)
        begin = time.perf_counter()
        text = llama_grammar.json_schema_to_gbnf(source) if language == SCHEMA else source
        self.sampler = llama.llama_sampler_init_grammar(self.vocabulary.handle, text.encode(), b"root")
        taken = time.perf_counter() - begin
        if not self.sampler:
            raise Refused("not parsed")
        return taken

    def restart(self):
        llama.llama_sampler_reset(self.sampler)

    def mask(self):
        ctypes.memmove(self.work, self.fresh, ctypes.sizeof(self.work))
        reference = ctypes.byref(self.candidates)
        begin = time.perf_counter()
        llama.llama_sampler_apply(self.sampler, reference)
        return time.perf_counter() - begin

    def allowed(self):
        return ~numpy.isneginf(self.view["logit"])

    def accept(self, token):
        if numpy.isneginf(self.view["logit"][token]):  # which would end the process
            raise Refused(f"token {token}")
        begin = time.perf_counter()
        llama.llama_sampler_accept(self.sampler, token)
        return time.perf_counter() - begin


class Llguidance:
    def __init__(self, vocabulary):
        import llguidance
        import llguidance.numpy

        class Tokenizer:
            eos_token_id, bos_token_id, special_token_ids = vocabulary.end, None, [vocabulary.end]
            tokens = [piece if token != vocabulary.end else b"" for token, piece in enumerate(vocabulary.pieces)]

            def __call__(self, text):
                return [vocabulary.ids[bytes([byte])] for byte in text]

        self.package, self.count = llguidance, vocabulary.count
        self.tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Tokenizer()))
        self.bits = llguidance.numpy.allocate_token_bitmask(1, vocabulary.count)

    def compile(self, language, source):
        matcher = self.package.LLMatcher
        begin = time.perf_counter()
        grammar = (matcher.grammar_from_json_schema(source) if language == SCHEMA
                   else matcher.grammar_from_lark(self.package.gbnf_to_lark.any_to_lark(source)))
        self.matcher = matcher(self.tokenizer, grammar)
        taken = time.perf_counter() - begin
        if self.matcher.is_error():
            raise Refused(self.matcher.get_error())
        return taken

    def restart(self):
        self.matcher.reset()

    def mask(self):
        fill, matcher, bits = self.package.numpy.fill_next_token_bitmask, self.matcher, self.bits
        begin = time.perf_counter()
        fill(matcher, bits)
        return time.perf_counter() - begin

    def allowed(self):
        return numpy.unpackbits(self.bits.view(numpy.uint8), bitorder="little")[:self.count].astype(bool)

    def accept(self, token):
        begin = time.perf_counter()
        accepted = self.matcher.consume_token(token)
        taken = time.perf_counter() - begin
        if not accepted:
            raise Refused(f"token {token}")
        return taken


class Xgrammar:
    def __init__(self, vocabulary):
        import xgrammar

        self.package = xgrammar
        info = xgrammar.TokenizerInfo(vocabulary.pieces, vocab_type=xgrammar.VocabType.RAW, vocab_size=vocabulary.count,
                                      stop_token_ids=[vocabulary.end])
        self.count = vocabulary.count
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self.bits = numpy.zeros((1, (vocabulary.count + 31) // 32), numpy.int32)

    def compile(self, language, source):
        begin = time.perf_counter()
        if language == SCHEMA:
            compiled = self.compiler.compile_json_schema(source, any_whitespace=True, strict_mode=False)
        else:
            compiled = self.compiler.compile_grammar(source)
        taken = time.perf_counter() - begin
        self.matcher = self.package.GrammarMatcher(compiled)
        return taken

    def restart(self):
        self.matcher.reset()

    def mask(self):
        fill, bits = self.matcher.fill_next_token_bitmask, self.bits
        begin = time.perf_counter()
        is_needed = fill(bits)
        taken = time.perf_counter() - begin
        if not is_needed:
            self.bits.fill(-1)
        return taken

    def allowed(self):
        return numpy.unpackbits(self.bits.view(numpy.uint8), bitorder="little")[:self.count].astype(bool)

    def accept(self, token):
        begin = time.perf_counter()
        accepted = self.matcher.accept_token(token)
        taken = time.perf_counter() - begin
        if not accepted:
            raise Refused(f"token {token}")
        return taken


def tokenize(sotto, vocabulary, text):
    """Returns the longest allowed token at every position, as far as the text fits."""
    sotto.restart()
    rest, tokens = text.encode(), []
    while rest:
        sotto.mask()
        allowed = sotto.allowed()
        sizes = range(min(len(rest), vocabulary.longest), 0, -1)
        token = next((vocabulary.ids[rest[:n]] for n in sizes
                      if rest[:n] in vocabulary.ids and allowed[vocabulary.ids[rest[:n]]]), None)
        if token is None:
            break
        sotto.accept(token)
        tokens.append(token)
        rest = rest[len(vocabulary.pieces[token]):]
    return tokens


def follow(engine, texts, masks):
    """Returns the times of one round. `masks`, unless it is None, receives the allowed tokens at every position."""
    times = {"mask": [], "accept": []}
    for tokens in texts:
        engine.restart()
        for token in tokens:
            times["mask"].append(engine.mask())
            if masks is not None:
                masks.append(numpy.packbits(engine.allowed()))
            times["accept"].append(engine.accept(token))
    return times


def least(rounds):
    return [min(times) for times in zip(*rounds)]


def run_rounds(pipe, engine, language, source, tokens, runs):
    rounds, masks = [], []
    try:
        for run in range(runs):
            compiled = engine.compile(language, source)
            rounds.append({"compile": [compiled], **follow(engine, tokens, None if run else masks)})
        pipe.send((rounds, masks, None))
    except Exception as error:  # each package has its own
        pipe.send(([], [], f"{type(error).__name__}: {error}"[:100]))


def in_child(seconds, *arguments):
    """Calls run_rounds in a new process, which can be stopped in the middle of a call."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=run_rounds, args=(theirs, *arguments))
    child.start()
    theirs.close()
    try:
        result = ours.recv() if ours.poll(seconds) else ([], [], f"took more than {seconds} s")
    except EOFError:
        result = [], [], "ended its process"
    child.kill()
    child.join()
    return result


def measure(engines, vocabulary, workload, runs, seconds, longest):
    name, language, source, texts = workload
    engines["sotto"].compile(language, source)
    tokens = [tokenize(engines["sotto"], vocabulary, text)[:longest] for text in texts]
    rounds, masks, failed = {}, {}, {}
    for key, engine in engines.items():
        rounds[key], masks[key], why = in_child(seconds, engine, language, source, tokens, runs)
        if why:
            failed[key] = why
    positions = sum(map(len, tokens))
    same = {key: sum(map(numpy.array_equal, masks["sotto"], masks[key])) for key in engines if key not in failed}
    print(f"{name}: {positions} places" + "".join(f"; {key}: {why}" for key, why in failed.items()), file=sys.stderr)
    return {"name": name, "positions": positions, "same_masks": same, "failed": failed,
            "times": {key: {what: least([times[what] for times in rounds[key]]) for what in ("compile", "mask", "accept")}
                      for key in engines if key not in failed}}


def percentile(times, part):
    ordered = sorted(times)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] * 1e6


def summarize(results):
    summary = {}
    for engine in ENGINES:
        mine = [result for result in results if engine in result["times"]]
        if not mine:
            continue
        row = {"grammars": len(mine), "failed": len(results) - len(mine)}
        for what in ("mask", "accept", "compile"):
            times = [value for result in mine for value in result["times"][engine][what]]
            row[what] = {"p50": percentile(times, 0.5), "p99": percentile(times, 0.99),
                         "p99.9": percentile(times, 0.999), "max": max(times) * 1e6}
        row["same_masks"] = sum(result["same_masks"][engine] for result in mine)
        row["positions"] = sum(result["positions"] for result in mine)
        summary[engine] = row
    return summary


def print_table(title, summary):
    print(f"{title:24} {'mask p50':>10} {'p99':>10} {'p99.9':>10} {'max':>11} {'accept p50':>11} {'p99':>8} {'compile p50':>12} "
          f"{'max':>11} {'same masks':>13}")
    for engine, row in summary.items():
        cells = [row["mask"]["p50"], row["mask"]["p99"], row["mask"]["p99.9"], row["mask"]["max"], row["accept"]["p50"],
                 row["accept"]["p99"], row["compile"]["p50"], row["compile"]["max"]]
        same = f"{row['same_masks']}/{row['positions']}"
        print(f"  {engine:22} {cells[0]:10.2f} {cells[1]:10.1f} {cells[2]:10.1f} {cells[3]:11.1f} {cells[4]:11.2f} "
              f"{cells[5]:8.1f} {cells[6]:12.1f} {cells[7]:11.1f} {same:>13}" + (f"  {row['failed']} failed" if row["failed"] else ""))
    ours = summary.get("sotto")
    for engine, row in summary.items():
        if engine == "sotto" or ours is None:
            continue
        ratios = [row["mask"][part] / ours["mask"][part] for part in ("p50", "p99", "p99.9", "max")]
        print(f"  {engine + ' / sotto':22} {ratios[0]:9.0f}x {ratios[1]:9.0f}x {ratios[2]:9.0f}x {ratios[3]:10.0f}x {'':20} "
              f"{row['compile']['p50'] / ours['compile']['p50']:11.1f}x")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=pathlib.Path, help="libsotto.so.1")
    parser.add_argument("--vocabulary", type=pathlib.Path, default=DATA / "tokenizer/vocab/ggml-vocab-gpt-2.gguf",
                        help="a GGUF file, which may be without weights")
    parser.add_argument("--schemas", type=pathlib.Path, help="also the schemas of this directory, as JSONSchemaBench's")
    parser.add_argument("--limit", type=int, default=40, help="schemas of it, spread over all (default: 40)")
    parser.add_argument("--tokens", type=int, default=60, help="at most, of each of their texts (default: 60)")
    parser.add_argument("--seconds", type=float, default=20, help="at most, for one engine and grammar (default: 20)")
    parser.add_argument("--texts", type=int, default=4, help="texts a grammar (default: 4)")
    parser.add_argument("--runs", type=int, default=3, help="rounds (default: 3)")
    parser.add_argument("--engines", default=",".join(ENGINES), help="names separated by commas (default: all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    vocabulary = Vocabulary(args.vocabulary)
    peers = {"llama.cpp": Llama, "llguidance": Llguidance, "xgrammar": Xgrammar}
    engines = {"sotto": Sotto(args.library, vocabulary),
               **{name: peers[name](vocabulary) for name in args.engines.split(",") if name != "sotto"}}
    made = [measure(engines, vocabulary, workload, args.runs, 10 * args.seconds, None)
            for workload in made_workloads(args.texts)]
    figures = {result["name"]: summarize([result]) for result in made}
    if args.schemas:
        found = []
        for workload in read_workloads(args.schemas, args.limit, args.texts):
            try:
                found.append(measure(engines, vocabulary, workload, args.runs, args.seconds, args.tokens))
            except Refused as refused:
                print(f"{workload[0]}: sotto refuses it: {refused}")
        made += found
        figures[f"{len(found)} schemas"] = summarize(found)
    call = engines["sotto"].call() * 1e6
    if args.json:
        print(json.dumps({"vocabulary": vocabulary.count, "call": call, "figures": figures}, indent=2))
        return
    print(f"microseconds; {vocabulary.count} tokens; {args.runs} rounds; call {call:.2f}")
    for title, summary in figures.items():
        print_table(title, summary)
    for result in made:
        for engine, why in result["failed"].items():
            print(f"{result['name']}: {engine}: {why}")


if __name__ == "__main__":
    main()
