"""Writes tests/data/gguf/types.gguf: blocks of each supported type, and the values that gguf-py gives for them.

    pip install gguf numpy
    python3 tests/tools/make_gguf_types.py

Each type T has a tensor "T" of random bytes with finite scales and a float32 tensor "T.expected".
"""
import pathlib

import gguf
import numpy

TYPES = ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"]
# Offsets of the 16-bit scales within a block.
SCALES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2],
          "Q6_K": [208]}
PATH = pathlib.Path(__file__).resolve().parents[1] / "data/gguf/types.gguf"


def random_blocks(random, name, count):
    block_elements, block_bytes = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
    if block_elements == 1:  # plain numbers
        values = random.standard_normal(count * 32).astype(numpy.float32)
        return gguf.quants.quantize(values.reshape(1, -1), gguf.GGMLQuantizationType[name]).view(numpy.uint8)
    blocks = random.integers(0, 256, (count, block_bytes), dtype=numpy.uint8)
    for offset in SCALES[name]:
        scale = random.standard_normal(count).astype(numpy.float16)
        blocks[:, offset:offset + 2] = scale.view(numpy.uint8).reshape(count, 2)
    return blocks.reshape(1, -1)


def main():
    random = numpy.random.default_rng(1)
    writer = gguf.GGUFWriter(PATH, "types")
    for name in TYPES:
        kind = gguf.GGMLQuantizationType[name]
        blocks = random_blocks(random, name, 1 if name.endswith("_K") else 2)
        writer.add_tensor(name, blocks, raw_dtype=kind)
        writer.add_tensor(name + ".expected", gguf.quants.dequantize(blocks, kind).astype(numpy.float32))
    PATH.parent.mkdir(parents=True, exist_ok=True)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
