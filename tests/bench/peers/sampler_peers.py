"""Compares the times of Sotto's and llama.cpp's samplers in one run over the same logits of 50,257 tokens.

    pip install llama-cpp-python numpy
    python3 tests/bench/peers/sampler_peers.py build/release/lib/libsotto.so.1

CI does not run it. Each figure is the median of interleaved rounds, in microseconds per token on one thread. The time
to fill llama.cpp's array of candidates, which its caller does for every token, is measured separately and not included.
"""
import argparse
import ctypes
import json
import pathlib
import statistics
import time

import llama_cpp.llama_cpp as llama
import numpy

COUNT = 50257
LAYOUT = pathlib.Path(__file__).parents[2] / "abi" / "layout_lp64.txt"
NEUTRAL = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
# Name, settings of Sotto, samplers of llama.cpp.
MODES = [
    ("greedy", {"temperature": 0.0}, [("greedy",)]),
    ("default chain", {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05},
     [("top_k", 40), ("top_p", 0.95, 1), ("min_p", 0.05, 1), ("temp", 0.8), ("dist", 1)]),
    ("full draw", {}, [("dist", 1)]),
    ("top_p 0.95 alone", {"top_p": 0.95}, [("top_p", 0.95, 1), ("dist", 1)]),
    ("top_k 1000", {"top_k": 1000}, [("top_k", 1000), ("dist", 1)]),
    ("min_p 0.05", {"min_p": 0.05}, [("min_p", 0.05, 1), ("dist", 1)]),
    ("typical 0.9", {"typical_p": 0.9}, [("typical", 0.9, 1), ("dist", 1)]),
    ("top_n_sigma 1", {"top_n_sigma": 1.0}, [("top_n_sigma", 1.0), ("dist", 1)]),
    ("xtc 0.1", {"xtc_probability": 1.0, "xtc_threshold": 0.1}, [("xtc", 1.0, 0.1, 1, 1), ("dist", 1)]),
    ("mirostat 1", {"selection": 3}, [("mirostat", COUNT, 1, 5.0, 0.1, 100)]),
    ("mirostat 2", {"selection": 4}, [("mirostat_v2", 1, 5.0, 0.1)]),
]


def make_logits(peaked):
    random = numpy.random.default_rng(3)
    logits = random.normal(size=COUNT).astype(numpy.float32)
    if peaked:
        logits = 2 * logits - 30
        logits[random.integers(COUNT, size=60)] = -22 + 8 * numpy.exp(-numpy.arange(60) / 8)
    return logits.astype(numpy.float32)


class Input(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("sequence", ctypes.c_uint32), ("logits", ctypes.c_void_p),
                ("allowed", ctypes.c_void_p), ("history", ctypes.c_void_p), ("history_count", ctypes.c_size_t),
                ("generated_count", ctypes.c_uint64), ("token_limit", ctypes.c_uint64)]


class Sotto:
    """sotto_sampler_* of the library; fields of the parameters by their place in memory."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        rows = [line.split() for line in LAYOUT.read_text().splitlines()]
        self.places = {row[1]: int(row[2]) for row in rows if row[0] == "sotto_sampler_params" and row[1] != "-"}
        self.params_size = next(int(r[3]) for r in rows if r[0] == "sotto_sampler_params" and r[1] == "-")
        size = ctypes.c_size_t()
        self.check(self.library.sotto_sampler_memory_size(ctypes.c_size_t(COUNT), 0, ctypes.byref(size), None))
        self.memory = ctypes.create_string_buffer(size.value + 64)
        place = (ctypes.addressof(self.memory) + 63) // 64 * 64
        self.sampler = ctypes.c_void_p()
        self.check(self.library.sotto_sampler_init(None, ctypes.c_size_t(COUNT), 0, ctypes.c_void_p(place), size,
                                                   ctypes.byref(self.sampler), None))

    @staticmethod
    def check(status):
        if status != 0:
            raise SystemExit(f"sotto: status {status}")

    def set(self, settings):
        params = ctypes.create_string_buffer(self.params_size)
        self.library.sotto_sampler_params_init(params, ctypes.c_size_t(self.params_size))
        for name, value in {**NEUTRAL, **settings}.items():
            kind = ctypes.c_float if isinstance(value, float) else ctypes.c_uint32
            kind.from_buffer(params, self.places[name]).value = value
        self.check(self.library.sotto_sampler_set(self.sampler, params, None))

    def time(self, logits, calls):
        history = (ctypes.c_int32 * calls)(*range(calls))
        entry = Input(ctypes.sizeof(Input), 0, logits.ctypes.data, None, ctypes.addressof(history), 0, 0, 0)
        token, reference = ctypes.c_int32(), ctypes.byref(entry)
        sample, sampler, out = self.library.sotto_sampler_sample, self.sampler, ctypes.byref(token)
        begin = time.perf_counter()
        for i in range(calls):
            entry.history_count = i  # another draw
            sample(sampler, reference, out, None)
        return (time.perf_counter() - begin) / calls * 1e6


class Llama:
    def __init__(self, samplers):
        self.chain = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
        for name, *arguments in samplers:
            llama.llama_sampler_chain_add(self.chain, getattr(llama, f"llama_sampler_init_{name}")(*arguments))

    def time(self, logits, calls):
        fresh = (llama.llama_token_data * COUNT)()
        view = numpy.ctypeslib.as_array(fresh)
        view["id"], view["logit"], view["p"] = numpy.arange(COUNT), logits, 0
        work = (llama.llama_token_data * COUNT)()
        size = ctypes.sizeof(work)
        candidates = llama.llama_token_data_array(work, COUNT, -1, False)
        filling = used = 0.0
        for _ in range(calls):
            begin = time.perf_counter()
            ctypes.memmove(work, fresh, size)
            filled = time.perf_counter()
            candidates.data, candidates.size = ctypes.cast(work, type(candidates.data)), COUNT
            candidates.selected, candidates.sorted = -1, False
            llama.llama_sampler_apply(self.chain, ctypes.byref(candidates))
            used += time.perf_counter() - filled
            filling += filled - begin
        return used / calls * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=pathlib.Path, help="libsotto.so.1")
    parser.add_argument("--runs", type=int, default=7, help="rounds (default: 7)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    sotto = Sotto(args.library)
    figures = {}
    for kind in ("peaked", "flat"):
        logits = make_logits(kind == "peaked")
        for name, settings, samplers in MODES:
            chain = Llama(samplers)
            ours, theirs = [], []
            for _ in range(args.runs):
                sotto.set(settings)
                ours.append(sotto.time(logits, 200))
                theirs.append(chain.time(logits, 10))
            figures[f"{name}, {kind}"] = {"sotto": statistics.median(ours), "llama.cpp": statistics.median(theirs)}
    if args.json:
        print(json.dumps(figures, indent=2))
        return
    print(f"{'us per token':28} {'Sotto':>8} {'llama.cpp':>10} {'ratio':>7}")
    for name, figure in figures.items():
        print(f"{name:28} {figure['sotto']:8.1f} {figure['llama.cpp']:10.1f} "
              f"{figure['llama.cpp'] / figure['sotto']:6.1f}x")


if __name__ == "__main__":
    main()
