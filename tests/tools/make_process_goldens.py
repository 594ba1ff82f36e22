#!/usr/bin/env python3
"""Writes the results of other libraries' penalties, bans and biases for random logits and histories.

  make_process_goldens.py transformers FILE   needs torch and transformers
  make_process_goldens.py llama FILE          needs llama-cpp-python (made with 0.3.36)

A case holds the seed of its inputs, sizes, parameters and the logits that changed, null for
-infinity; tests/unit/sampling/process_golden_test.cpp makes the same inputs again.
"""
import ctypes
import json
import sys

CASES = 150


class Numbers:
    """The random number generator of the test."""

    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % limit


def make_input(seed, vocabulary, count, distinct):
    numbers = Numbers(seed)
    logits = [(numbers.below(20001) - 10000) / 1000 for _ in range(vocabulary)]
    return logits, [numbers.below(distinct) for _ in range(count)]


def sizes(choose):
    vocabulary = 6 + choose.below(20)
    return vocabulary, 8 + choose.below(60), 1 + choose.below(vocabulary)


def pick(choose, values):
    return values[choose.below(len(values))]


def sequences(choose, vocabulary, count):
    return [[choose.below(min(vocabulary, 4)) for _ in range(1 + choose.below(4))]
            for _ in range(count)]


def transformers_cases():
    import torch
    from transformers.generation import logits_process as hf

    def run(processor, case):
        logits, history = make_input(case["seed"], *case["sizes"])
        before = torch.tensor([logits], dtype=torch.float32)
        after = processor(torch.tensor([history]), before.clone())
        return before[0].tolist(), after[0].tolist()

    def repetition(choose, v, n):
        p = {"penalty": pick(choose, [0.5, 1.1, 1.3, 2.0]), "ignored": choose.below(n)}
        return p, hf.RepetitionPenaltyLogitsProcessor(p["penalty"],
                                                      prompt_ignore_length=p["ignored"])

    def ngram(choose, v, n):
        p = {"n": 1 + choose.below(5)}
        return p, hf.NoRepeatNGramLogitsProcessor(p["n"])

    def bad_words(choose, v, n):
        words = [list(w) for w in {tuple(w) for w in sequences(choose, v, 6)}]
        p = {"words": words + [[v - 1], [0, v - 1]], "end": v - 1}
        return p, hf.NoBadWordsLogitsProcessor(p["words"], p["end"])

    def sequence_bias(choose, v, n):
        words = {tuple(w) for w in sequences(choose, v, 8)}
        p = {"biases": [[list(w), (choose.below(2001) - 1000) / 100] for w in sorted(words)]}
        return p, hf.SequenceBiasLogitsProcessor({tuple(w): b for w, b in p["biases"]})

    def min_new_tokens(choose, v, n):
        p = {"prompt": choose.below(n + 1), "min": choose.below(20), "end": choose.below(v)}
        return p, hf.MinNewTokensLengthLogitsProcessor(p["prompt"], p["min"], p["end"])

    def forced_last(choose, v, n):
        p = {"limit": pick(choose, [n, n + 1, n + 2]), "token": choose.below(v)}
        return p, hf.ForcedEOSTokenLogitsProcessor(p["limit"], p["token"])

    def suppress(choose, v, n):
        p = {"tokens": [choose.below(v) for _ in range(3)]}
        return p, hf.SuppressTokensLogitsProcessor(p["tokens"])

    def begin_suppress(choose, v, n):
        p = {"tokens": [choose.below(v) for _ in range(3)], "begin": n - choose.below(2)}
        return p, hf.SuppressTokensAtBeginLogitsProcessor(p["tokens"], p["begin"])

    def end_decay(choose, v, n):
        p = {"prompt": choose.below(n), "start": choose.below(20), "end": choose.below(v),
             "factor": pick(choose, [0.5, 1.01, 1.5, 3.0])}
        return p, hf.ExponentialDecayLengthPenalty((p["start"], p["factor"]), p["end"],
                                                   p["prompt"])

    for make in (repetition, ngram, bad_words, sequence_bias, min_new_tokens, forced_last,
                 suppress, begin_suppress, end_decay):
        yield make.__name__, make, run


def llama_cases():
    import llama_cpp

    class Vector(ctypes.Structure):  # std::vector: begin, end, end of the storage
        _fields_ = [(name, ctypes.c_void_p) for name in ("begin", "end", "storage")]

    def vector(array):
        first = ctypes.addressof(array)
        return Vector(first, first + ctypes.sizeof(array), first + ctypes.sizeof(array))

    def run(sampler, case):
        logits, history = make_input(case["seed"], *case["sizes"])
        for token in history:
            llama_cpp.llama_sampler_accept(sampler, token)
        data = (llama_cpp.llama_token_data * len(logits))(
            *[llama_cpp.llama_token_data(i, l, 0) for i, l in enumerate(logits)])
        before = [d.logit for d in data]
        array = llama_cpp.llama_token_data_array(data, len(logits), -1, False)
        llama_cpp.llama_sampler_apply(sampler, ctypes.byref(array))
        after = [None] * len(logits)
        for i in range(array.size):
            after[array.data[i].id] = array.data[i].logit
        llama_cpp.llama_sampler_free(sampler)
        return before, after

    def penalties(choose, v, n):
        p = {"window": pick(choose, [1, 5, 20, n + 5]), "repeat": pick(choose, [1.0, 1.3, 0.7]),
             "frequency": pick(choose, [0.0, 0.25, -0.5]),
             "presence": pick(choose, [0.0, 0.6, -0.3])}
        return p, llama_cpp.llama_sampler_init_penalties(
            v, p["window"], p["repeat"], p["frequency"], p["presence"])

    # The function that llama.cpp's own tests use, which takes breakers as tokens.
    init_dry = getattr(llama_cpp.llama_cpp._lib, "_Z30llama_sampler_init_dry_testingffii"
                                                 "RKSt6vectorIS_IiSaIiEESaIS1_EE")
    init_dry.restype = llama_cpp.llama_sampler_p_ctypes

    def dry(choose, v, n):
        p = {"multiplier": pick(choose, [0.8, 2.0]), "base": pick(choose, [1.1, 1.75, 4.0]),
             "allowed": 1 + choose.below(3), "window": pick(choose, [7, 20, n + 5]),
             "breakers": [choose.below(v) for _ in range(choose.below(3))]}
        inner = [(ctypes.c_int32 * 1)(token) for token in p["breakers"]]
        outer = (Vector * len(inner))(*[vector(i) for i in inner])
        return p, init_dry(ctypes.c_float(p["multiplier"]), ctypes.c_float(p["base"]),
                           p["allowed"], p["window"], ctypes.byref(vector(outer)))

    for make in (penalties, dry):
        yield make.__name__, make, run


def write(families, path):
    goldens = {}
    for number, (name, make, run) in enumerate(families):
        goldens[name] = []
        for i in range(CASES):
            choose = Numbers(1000 * number + i)
            case = {"seed": 7000 * number + i, "sizes": sizes(choose)}
            case["p"], processor = make(choose, case["sizes"][0], case["sizes"][1])
            before, after = run(processor, case)
            case["changed"] = {
                str(t): None if after[t] in (None, float("-inf")) else float("%.9g" % after[t])
                for t in range(len(before)) if before[t] != after[t]}
            goldens[name].append(case)
    with open(path, "w", encoding="ascii") as file:
        families = [f'"{name}": [\n' + ",\n".join(
            json.dumps(case, separators=(",", ":")) for case in cases) + "\n]"
            for name, cases in goldens.items()]
        file.write("{\n" + ",\n".join(families) + "\n}\n")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("transformers", "llama"):
        sys.exit(__doc__)
    write((transformers_cases if sys.argv[1] == "transformers" else llama_cases)(), sys.argv[2])
