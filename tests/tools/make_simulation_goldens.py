"""Writes tests/unit/converters/data/simulation_goldens.json: the errors of sotto-convert --simulate, computed by numpy.

    pip install numpy
    python3 tests/tools/make_simulation_goldens.py
"""
import json
import math
import pathlib

import numpy

OUTPUTS, INPUTS, BLOCK = 5, 70, 32
PATH = pathlib.Path(__file__).resolve().parents[1] / "unit/converters/data/simulation_goldens.json"


def weights():
    """Cubes of uniform numbers, which have a few large values. The test computes the same."""
    state = 1
    values = []
    for _ in range(OUTPUTS * INPUTS):
        state = (1103515245 * state + 12345) % 2**31
        uniform = (state >> 8) / 2**22 - 1
        values.append(uniform * uniform * uniform)
    return numpy.array(values, dtype=numpy.float32).astype(numpy.float64).reshape(OUTPUTS, INPUTS)


def main():
    w = weights()
    rows = []
    for share in [0, 0.01, 0.1]:
        count = math.ceil(share * w.size)
        kept = numpy.abs(w) >= (numpy.sort(numpy.abs(w), axis=None)[-count] if count > 0 else math.inf)
        for bits in [2, 3, 4, 5, 6, 8]:
            error = numpy.zeros_like(w)
            for first in range(0, INPUTS, BLOCK):
                block = numpy.where(kept, 0, w)[:, first:first + BLOCK]
                scale = numpy.abs(block).max(axis=1, keepdims=True) / (2**(bits - 1) - 1)
                error[:, first:first + BLOCK] = block - numpy.rint(block / scale) * scale
            noise = (error**2).sum()
            rows.append({"share": share, "bits": bits, "mean_squared_error": noise / w.size,
                         "largest_error": numpy.abs(error).max(),
                         "signal_to_noise_db": 10 * math.log10((w**2).sum() / noise)})
    PATH.write_text("[" + ",\n ".join(json.dumps(row) for row in rows) + "]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
