#!/usr/bin/env python3
"""Writes tests/unit/sampling/truncation_goldens.h: the results of truncations of given logits.

The formulas are computed with numpy in double precision. If transformers has the mode, its logits processor must agree
on every row. Rows with a token so close to the border that rounding decides are omitted. Usage:
make_truncation_goldens.py > tests/unit/sampling/truncation_goldens.h
"""

import numpy as np
import torch
from transformers.generation import logits_process as hf

MASK = (1 << 64) - 1
SLACK = 3e-5


def split_mix(seed, index):
    z = (seed + (index + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return z ^ z >> 31


def make_logits(kind, seed, count):
    """Returns multiples of 2^-16, which every language represents exactly."""
    bits = [split_mix(seed, i) for i in range(count)]
    x = np.array([sum(b >> 16 * k & 0xFFFF for k in range(3)) for b in bits], dtype=np.float64)
    x = x / 2**16 - 1.5  # about normal, -1.5 ... 1.5
    dice = np.array([b >> 60 for b in bits])
    if kind == "narrow":
        return x
    if kind == "wide":
        return 16 * x - 30
    if kind == "peaked":
        return np.where(np.array([b >> 48 & 0xFFF for b in bits]) < 8, 8 * x + 12, 4 * x)
    if kind == "tied":
        return np.floor(4 * x) / 2
    return np.where(dice < 13, -np.inf, 4 * x)  # infinite


def softmax(l):
    e = np.exp(l - l.max())
    return e / e.sum()


def surprise(p):
    return -p * np.log(np.where(p > 0, p, 1))


def prefix(l, count):
    order = np.argsort(-l, kind="stable")
    return np.sort(order[: max(int(count), 1)])


def kept(mode, l, v):
    p = softmax(l)
    s = -np.sort(-p, kind="stable")
    if mode == "kTopK":
        return prefix(l, v)
    if mode == "kTopP":
        return prefix(l, np.searchsorted(np.cumsum(s), v) + 1)
    if mode == "kMinP":
        return prefix(l, (p >= v * p.max()).sum())
    if mode == "kTopA":
        return prefix(l, (p >= v * p.max() ** 2).sum())
    if mode == "kEpsilon":
        return prefix(l, (p >= v).sum())
    if mode == "kEta":
        return prefix(l, (p >= min(v, np.sqrt(v) * np.exp(-surprise(p).sum()))).sum())
    if mode == "kTopNSigma":
        return prefix(l, (l >= l.max() - v * np.std(l[np.isfinite(l)])).sum())
    if mode == "kTopH":
        return prefix(l, (np.cumsum(surprise(s)) <= v * surprise(p).sum()).sum())
    if mode == "kTailFree":
        bend = np.abs(np.diff(np.diff(s)))
        return prefix(l, (np.cumsum(bend) <= v * bend.sum()).sum())
    with np.errstate(divide="ignore"):
        distance = np.abs(-np.log(p) - surprise(p).sum())
    order = np.argsort(distance, kind="stable")
    return np.sort(order[: np.searchsorted(np.cumsum(p[order]), v) + 1])


def by_transformers(mode, l, v):
    scores = torch.tensor(l, dtype=torch.float64)[None]
    make = {
        "kTopP": lambda: hf.TopPLogitsWarper(v),
        "kMinP": lambda: hf.MinPLogitsWarper(v),
        "kTypical": lambda: hf.TypicalLogitsWarper(v),
        "kEpsilon": lambda: hf.EpsilonLogitsWarper(v),
        "kEta": lambda: hf.EtaLogitsWarper(v),
        "kTopK": lambda: hf.TopKLogitsWarper(int(v)),
        "kTopH": lambda: hf.TopHLogitsWarper(v) if len(l) <= 100 else None,
    }
    warper = make.get(mode, lambda: None)()
    if warper is None:
        return None
    out = warper(None, scores)[0].numpy()
    return np.flatnonzero(np.isfinite(out))


def digest(ids):
    h = 0xCBF29CE484222325
    for i in ids:
        h = ((h ^ int(i)) * 0x100000001B3) & MASK
    return h


SETTINGS = {
    "kTopK": [1, 40, 1000],
    "kTopP": [0.1, 0.5, 0.9, 0.95],
    "kMinP": [0.01, 0.05, 0.3],
    "kTopA": [0.01, 0.2],
    "kTailFree": [0.5, 0.9, 0.97],
    "kTypical": [0.2, 0.9],
    "kEpsilon": [1e-4, 1e-3, 0.02],
    "kEta": [1e-3, 0.02],
    "kTopNSigma": [0.5, 1, 2],
    "kTopH": [0.2, 0.4, 0.9],
}


def main():
    rows, checked, borderline = [], 0, 0
    for mode, settings in SETTINGS.items():
        for k, kind in enumerate(["narrow", "wide", "peaked", "tied", "infinite"]):
            for count in [100, 3000, 50257]:
                seed = 1000 * k + count
                l = make_logits(kind, seed, count)
                if not np.isfinite(l).any():
                    continue
                for v in settings:
                    v = float(np.float32(v))
                    slack = 5e-3 if mode == "kTailFree" else SLACK
                    ids = kept(mode, l, v)
                    if mode != "kTopK":
                        near = [kept(mode, l, min(v * (1 + d), 1)) for d in (-slack, slack)]
                        if any(len(n) != len(ids) for n in near):
                            borderline += 1
                            continue
                    theirs = by_transformers(mode, l, v)
                    # Their implementation keeps all that are equal to the last.
                    if theirs is not None and kind not in ("tied",) and len(theirs) == len(ids):
                        assert (theirs == ids).all(), (mode, kind, count, v)
                        checked += 1
                    elif theirs is not None and kind not in ("tied", "infinite"):
                        raise AssertionError((mode, kind, count, v, len(theirs), len(ids)))
                    rows.append(f"    {{oracle::Mode::{mode}, {k}, {count}, {v!r}, {len(ids)}, "
                                f"0x{digest(ids):016x}}},")
    print("// Made by tests/tools/make_truncation_goldens.py.")
    print("#pragma once\n\n#include <cstddef>\n#include <cstdint>\n")
    print('#include "tests/unit/sampling/truncation_oracle.h"\n\nnamespace sotto {\n')
    print("struct TruncationGolden {\n  oracle::Mode mode;\n  int kind;\n  size_t count;\n"
          "  double setting;\n  size_t kept;\n  uint64_t digest;\n};\n")
    print(f"// {checked} rows agree with transformers, {borderline} are left out.")
    print("inline constexpr TruncationGolden kTruncationGoldens[] = {")
    print("\n".join(rows))
    print("};\n\n}  // namespace sotto")


main()
