"""Writes the corpora of the fuzzers of checkpoints: tests/fuzz/corpus/{checkpoint_file,checkpoint_directory,
tensor_bundle}.

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


SOME_VARIABLES = {"h0/attn/c_attn/b": [12], "h0/attn/c_attn/w": [1, 4, 12], "wpe": [3, 4], "wte": [5, 4]}


def bundle_entry(shape, offset):
    dimensions = b"".join(b"\x12" + varint(len(varint(extent)) + 1) + b"\x08" + varint(extent) for extent in shape)
    size = 4
    for extent in shape:
        size *= extent
    return (b"\x08\x01\x12" + varint(len(dimensions)) + dimensions + b"\x20" + varint(offset) + b"\x28" + varint(size)
            + b"\x35" + struct.pack("<I", masked_crc32c(bytes(size)))), size


def bundle_block(variables):
    """Returns the block of an index, and the size of the data."""
    entries, offset = [(b"", b"\x08\x01")], 0
    for name, shape in sorted(variables.items()):
        value, size = bundle_entry(shape, offset)
        entries.append((b"model/" + name.encode(), value))
        offset += size
    return block(entries), offset


def bundle_index(content):
    """Wraps a block in a valid file, as fuzz_tensor_bundle.cpp does."""
    file = b""

    def append(content):
        nonlocal file
        handle = varint(len(file)) + varint(len(content))
        file += content + b"\0" + struct.pack("<I", masked_crc32c(content + b"\0"))
        return handle

    data = append(content)
    meta = append(block([]))
    index = append(block([(b"z", data)]))
    return file + (meta + index).ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


# fuzz_checkpoint_directory.cpp has the same list.
NAMES = ["config.json", "model.safetensors", "model.safetensors.index.json", "model-00001-of-00002.safetensors",
         "model-00002-of-00002.safetensors", "pytorch_model.bin", "tokenizer.json", "tokenizer_config.json",
         "special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt", "vocab.txt", "spiece.model",
         "generation_config.json", "chat_template.jinja", "README.md", "adapter/adapter_config.json",
         "adapter/adapter_model.safetensors", "hparams.json", "checkpoint", "model.ckpt.index",
         "model.ckpt.data-00000-of-00001", "t3_turbo.safetensors"]


def directory(files):
    out = b""
    for name, content in files.items():
        if isinstance(content, dict):
            content = json.dumps(content, separators=(",", ":")).encode()
        out += struct.pack("<BI", NAMES.index(name), len(content)) + content
    return out


def safetensors(shapes):
    header, data = {}, b""
    for name, shape in shapes.items():
        content = halves(shape)
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + data


def gpt2_shapes(prefix="", tokens=5):
    shapes = {"wte.weight": [tokens, 4], "wpe.weight": [3, 4], "ln_f.weight": [4], "ln_f.bias": [4]}
    for norm in ("ln_1", "ln_2"):
        shapes |= {f"h.0.{norm}.weight": [4], f"h.0.{norm}.bias": [4]}
    for part, inputs, outputs in (("attn.c_attn", 4, 12), ("attn.c_proj", 4, 4), ("mlp.c_fc", 4, 16),
                                  ("mlp.c_proj", 16, 4)):
        shapes |= {f"h.0.{part}.weight": [inputs, outputs], f"h.0.{part}.bias": [outputs]}
    return {prefix + name: shape for name, shape in shapes.items()}


def opt_shapes():
    shapes = {"embed_tokens.weight": [5, 4], "embed_positions.weight": [5, 4]}
    for norm in ("layers.0.self_attn_layer_norm", "layers.0.final_layer_norm", "final_layer_norm"):
        shapes |= {f"{norm}.weight": [4], f"{norm}.bias": [4]}
    for part, inputs, outputs in (*((f"self_attn.{kind}_proj", 4, 4) for kind in ("q", "k", "v", "out")),
                                  ("fc1", 4, 16), ("fc2", 16, 4)):
        shapes |= {f"layers.0.{part}.weight": [outputs, inputs], f"layers.0.{part}.bias": [outputs]}
    return {"model.decoder." + name: shape for name, shape in shapes.items()}


def gpt2_variables():
    """Returns the shapes by the names of OpenAI's code."""
    variables = {}
    for name, shape in gpt2_shapes().items():
        part, kind = name.replace("h.0.", "h0/").replace(".", "/").rsplit("/", 1)
        if part not in ("wte", "wpe"):
            part += "/b" if kind == "bias" else "/g" if "ln_" in part else "/w"
        variables[part] = [1, *shape] if part.endswith("/w") else shape
    return variables


def directories(spiece):
    config = {"model_type": "gpt2", "vocab_size": 5, "n_positions": 3, "n_embd": 4, "n_layer": 1, "n_head": 2,
              "eos_token_id": [3, 4]}
    model = {"config.json": config, "model.safetensors": safetensors(gpt2_shapes())}
    shapes = gpt2_shapes("transformer.")
    names = sorted(shapes)
    files = [f"model-0000{part}-of-00002.safetensors" for part in (1, 2)]
    index = {"weight_map": {name: files[i % 2] for i, name in enumerate(names)}}
    tokenizer = {"added_tokens": [{"id": 3, "content": "<e>", "special": True}], "normalizer": {"type": "NFC"},
                 "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
                 "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}
    adapter = {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["c_attn"], "fan_in_fan_out": True}
    lora = "base_model.model.transformer.h.0.attn.c_attn.lora_"
    block_of_index, data_size = bundle_block(gpt2_variables())
    chatterbox = gpt2_shapes("tfmr.")
    del chatterbox["tfmr.wte.weight"]
    return {
        "sharded": directory({
            "config.json": config, "model.safetensors.index.json": index,
            files[0]: safetensors({name: shapes[name] for name in names[0::2]}),
            files[1]: safetensors({name: shapes[name] for name in names[1::2]}),
            "tokenizer.json": tokenizer, "generation_config.json": {"do_sample": True, "top_k": 5, "eos_token_id": 3},
            "tokenizer_config.json": {"chat_template": "{{ m }}"}, "README.md": b"---\nlicense: mit\n---\n"}),
        "vocabulary": directory(model | {
            "vocab.json": {"a": 0, "b": 1, "ab": 2, "<e>": 3}, "merges.txt": b"#version: 0.2\na b\n",
            "added_tokens.json": {"<x>": 4}, "special_tokens_map.json": {"eos_token": "<e>"}}),
        "bert": directory(model | {"vocab.txt": b"[UNK]\na\n##b\n[CLS]\n[SEP]\n",
                                   "tokenizer_config.json": {"do_lower_case": True}}),
        "spiece": directory({"config.json": config | {"vocab_size": 150},
                             "model.safetensors": safetensors(gpt2_shapes(tokens=150)), "spiece.model": spiece}),
        "adapter": directory(model | {
            "adapter/adapter_config.json": adapter,
            "adapter/adapter_model.safetensors": safetensors({lora + "A.weight": [2, 4], lora + "B.weight": [12, 2]})}),
        "reward": directory({"config.json": config,
                             "model.safetensors": safetensors(shapes | {"score.weight": [2, 4]})}),
        "opt": directory({"config.json": {"model_type": "opt", "vocab_size": 5, "max_position_embeddings": 3,
                                          "hidden_size": 4, "num_attention_heads": 2, "num_hidden_layers": 1,
                                          "ffn_dim": 16}, "model.safetensors": safetensors(opt_shapes())}),
        "tensorflow": directory({
            "hparams.json": {"n_vocab": 5, "n_ctx": 3, "n_embd": 4, "n_head": 2, "n_layer": 1},
            "checkpoint": b'model_checkpoint_path: "model.ckpt"\n', "model.ckpt.index": bundle_index(block_of_index),
            "model.ckpt.data-00000-of-00001": bytes(data_size)}),
        "chatterbox": directory({"t3_turbo.safetensors": safetensors(
            chatterbox | {"speech_emb.weight": [5, 4], "speech_head.weight": [5, 4], "speech_head.bias": [5]})}),
    }


def main():
    files = {"checkpoint_file/gguf_model": gguf_model(), "checkpoint_file/gguf_types": gguf_types(),
             "checkpoint_file/llm_c_1": llm_c(1, 5), "checkpoint_file/llm_c_3": llm_c(3, 8),
             "checkpoint_file/llm_c_5": llm_c(5, 5), "tensor_bundle/model": bundle_block(SOME_VARIABLES)[0]}
    types = json.loads((CORPUS.parents[1] / "data/tokenizer/types.json").read_text())["types"]
    files |= {"checkpoint_file/" + kind["name"]: bytes.fromhex(kind["spiece"]) for kind in types if "spiece" in kind}
    spiece = files["checkpoint_file/spiece-few"]
    files |= {"checkpoint_directory/" + name: content for name, content in directories(spiece).items()}
    for name, content in files.items():
        path = CORPUS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


main()
