"""Writes the corpora of the fuzzers of checkpoint files: tests/fuzz/corpus/{checkpoint_file,tensor_bundle}.

    python3 tests/tools/make_checkpoint_corpus.py

The models have one layer, width 4, 3 positions and 5 tokens. Those of SentencePiece are taken from
tests/data/tokenizer/types.json. tests/fuzz/make_pytorch_corpus.py writes the checkpoints of PyTorch.
"""
import json
import pathlib
import struct

CORPUS = pathlib.Path(__file__).resolve().parents[1] / "fuzz/corpus"
LAYER = [("attn_norm", [4], [4]), ("attn_qkv", [12, 4], [12]), ("attn_output", [4, 4], [4]), ("ffn_norm", [4], [4]),
         ("ffn_up", [16, 4], [16]), ("ffn_down", [4, 16], [4])]


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def number(value):
    return struct.pack("<II", 4, value)


def string(value):
    return struct.pack("<I", 8) + text(value)


def texts(values):
    return struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(text, values))


def numbers(values):
    return struct.pack(f"<IIQ{len(values)}i", 9, 5, len(values), *values)


def gguf(values, tensors):
    """tensors: name, shape with the innermost extent first, number of the type, bytes"""
    data = b""
    descriptions = b""
    for name, shape, kind, content in tensors:
        data += b"\0" * (-len(data) % 32)
        descriptions += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(data))
        data += content
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    header += b"".join(text(key) + value for key, value in values.items()) + descriptions
    return header + b"\0" * (-len(header) % 32) + data


def halves(shape):
    count = 1
    for extent in shape:
        count *= extent
    return struct.pack(f"<{count}e", *[i % 7 / 8 for i in range(count)])


def gguf_model():
    values = {"general.architecture": string("gpt2"), "general.name": string("tiny"),
              "gpt2.block_count": number(1), "gpt2.embedding_length": number(4),
              "gpt2.attention.head_count": number(2),
              "gpt2.attention.layer_norm_epsilon": struct.pack("<If", 6, 1e-5),
              "tokenizer.ggml.model": string("gpt2"), "tokenizer.ggml.tokens": texts(["a", "b", "ab", "<e>", "x y"]),
              "tokenizer.ggml.token_type": numbers([1, 1, 1, 3, 4]), "tokenizer.ggml.merges": texts(["a b"]),
              "tokenizer.ggml.eos_token_id": number(3)}
    named = [("token_embd.weight", [5, 4]), ("position_embd.weight", [3, 4]), ("output_norm.weight", [4]),
             ("output_norm.bias", [4])]
    for part, weight, bias in LAYER:
        named += [(f"blk.0.{part}.weight", weight), (f"blk.0.{part}.bias", bias)]
    return gguf(values, [(name, shape[::-1], 1, halves(shape)) for name, shape in named])


def gguf_types():
    kinds = {0: (1, 4), 1: (1, 2), 30: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
             12: (256, 144), 13: (256, 176), 14: (256, 210)}
    return gguf({"general.alignment": number(32)},
                [(f"t{kind}", [count], kind, bytes(size)) for kind, (count, size) in kinds.items()])


def llm_c(version, rows):
    shapes = [[rows, 4], [3, 4], *(shape for _, *pair in LAYER for shape in pair), [4], [4]]
    header = [20240326, version, 3, 5, 1, 2, 4, rows]
    count = sum(shape[0] * (shape[1] if len(shape) > 1 else 1) for shape in shapes)
    return struct.pack("<256i", *header, *[0] * 248) + bytes(count * (2 if version == 5 else 4))


def varint(value):
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def block(entries):
    out, last = b"", b""
    for key, value in entries:
        shared = 0
        while shared < min(len(last), len(key)) and last[shared] == key[shared]:
            shared += 1
        out += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        last = key
    return out + struct.pack("<II", 0, 1)


def bundle_entry(shape, offset):
    dimensions = b"".join(b"\x12" + varint(len(varint(extent)) + 1) + b"\x08" + varint(extent) for extent in shape)
    size = 4
    for extent in shape:
        size *= extent
    return (b"\x08\x01\x12" + varint(len(dimensions)) + dimensions + b"\x20" + varint(offset) + b"\x28" + varint(size)
            + b"\x35" + struct.pack("<I", masked_crc32c(bytes(size)))), size


def bundle_block():
    entries, offset = [(b"", b"\x08\x01")], 0
    for name, shape in [(b"model/h0/attn/c_attn/b", [12]), (b"model/h0/attn/c_attn/w", [1, 4, 12]),
                        (b"model/wpe", [3, 4]), (b"model/wte", [5, 4])]:
        value, size = bundle_entry(shape, offset)
        entries.append((name, value))
        offset += size
    return block(entries)


def main():
    files = {"checkpoint_file/gguf_model": gguf_model(), "checkpoint_file/gguf_types": gguf_types(),
             "checkpoint_file/llm_c_1": llm_c(1, 5), "checkpoint_file/llm_c_3": llm_c(3, 8),
             "checkpoint_file/llm_c_5": llm_c(5, 5), "tensor_bundle/model": bundle_block()}
    types = json.loads((CORPUS.parents[1] / "data/tokenizer/types.json").read_text())["types"]
    files |= {"checkpoint_file/" + kind["name"]: bytes.fromhex(kind["spiece"]) for kind in types if "spiece" in kind}
    for name, content in files.items():
        path = CORPUS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


main()
