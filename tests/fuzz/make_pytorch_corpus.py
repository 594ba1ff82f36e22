"""Writes the PyTorch files of the corpora of fuzz_tensor_file and fuzz_checkpoint_file, without PyTorch.

    python3 tests/fuzz/make_pytorch_corpus.py tests/fuzz/corpus
"""
import argparse
import collections
import io
import pathlib
import pickle
import struct
import sys
import types
import zipfile


def module(name, **members):
    sys.modules[name] = types.ModuleType(name)
    for key, member in members.items():
        setattr(sys.modules[name], key, member)
        member.__module__, member.__qualname__ = name, key


def rebuild(*arguments):
    raise AssertionError("only pickled")


def parameter(*arguments):
    raise AssertionError("only pickled")


STORAGES = {"f": "FloatStorage", "e": "HalfStorage", "d": "DoubleStorage", "q": "LongStorage"}
module("torch", **{name: type(name, (), {}) for name in STORAGES.values()})
module("torch._utils", _rebuild_tensor_v2=rebuild, _rebuild_parameter=parameter)


class Storage:
    def __init__(self, kind, values):
        self.kind, self.count = kind, len(values)
        self.data = struct.pack(f"<{len(values)}{kind}", *values)


class Tensor:
    def __init__(self, storage, shape, strides, offset=0):
        self.arguments = storage, offset, shape, strides, False, collections.OrderedDict()

    def __reduce__(self):
        return rebuild, self.arguments


class Parameter:
    def __init__(self, tensor):
        self.tensor = tensor

    def __reduce__(self):
        return parameter, (self.tensor, True, collections.OrderedDict())


class Call:
    def __reduce__(self):
        return eval, ("1",)


class Pickler(pickle.Pickler):
    def __init__(self, file, protocol, is_legacy=False):
        super().__init__(file, protocol)
        self.storages, self.is_legacy = [], is_legacy

    def persistent_id(self, value):
        if not isinstance(value, Storage):
            return None
        if value not in self.storages:
            self.storages.append(value)
        name = getattr(sys.modules["torch"], STORAGES[value.kind])
        identity = ("storage", name, str(self.storages.index(value)), "cpu", value.count)
        return identity + (None,) if self.is_legacy else identity


def zip_file(value, protocol=2, compression=zipfile.ZIP_STORED, force_zip64=False):
    text, archive = io.BytesIO(), io.BytesIO()
    pickler = Pickler(text, protocol)
    pickler.dump(value)
    with zipfile.ZipFile(archive, "w", compression) as output:
        def write(name, data):
            information = zipfile.ZipInfo("m/" + name)
            information.compress_type = compression
            with output.open(information, "w", force_zip64=force_zip64) as entry:
                entry.write(data)
        write("data.pkl", text.getvalue())
        write("byteorder", b"little")
        for key, storage in enumerate(pickler.storages):
            write(f"data/{key}", storage.data)
        write("version", b"3\n")
    return archive.getvalue()


def legacy_file(value):
    output = io.BytesIO()
    for head in 0x1950a86a20f9469cfc6c, 1001, {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}:
        pickle.dump(head, output, 2)
    pickler = Pickler(output, 2, is_legacy=True)
    pickler.dump(value)
    pickle.dump([str(key) for key in range(len(pickler.storages))], output, 2)
    for storage in pickler.storages:
        output.write(struct.pack("<Q", storage.count) + storage.data)
    return output.getvalue()


def tensors(shapes):
    """Returns tensors that are parts of one storage."""
    sizes = [shape[0] * (shape[1] if len(shape) == 2 else 1) for shape in shapes.values()]
    storage = Storage("f", [i % 7 / 8 for i in range(sum(sizes))])
    return {name: Tensor(storage, shape, (shape[1], 1) if len(shape) == 2 else (1,), sum(sizes[:i]))
            for i, (name, shape) in enumerate(shapes.items())}


def nanogpt():
    shapes = {"wte.weight": (5, 4), "wpe.weight": (3, 4), "h.0.ln_1.weight": (4,), "h.0.attn.c_attn.weight": (12, 4),
              "h.0.attn.c_proj.weight": (4, 4), "h.0.ln_2.weight": (4,), "h.0.mlp.c_fc.weight": (16, 4),
              "h.0.mlp.c_proj.weight": (4, 16), "ln_f.weight": (4,)}
    model = {"_orig_mod.transformer." + name: tensor for name, tensor in tensors(shapes).items()}
    model["_orig_mod.lm_head.weight"] = model["_orig_mod.transformer.wte.weight"]
    return {"model": model, "model_args": {"n_layer": 1, "n_head": 2, "n_embd": 4, "block_size": 3, "bias": False,
                                           "vocab_size": 5}, "iter_num": 1}


def megatron():
    shapes = {"input_layernorm": (4,), "attention.query_key_value": (12, 4), "attention.dense": (4, 4),
              "post_attention_layernorm": (4,), "mlp.dense_h_to_4h": (16, 4), "mlp.dense_4h_to_h": (4, 16)}
    both = {f"layers.0.{name}.{kind}": shape[:1] if kind == "bias" else shape
            for name, shape in shapes.items() for kind in ("weight", "bias")}
    layers = tensors(both | {"final_layernorm.weight": (4,), "final_layernorm.bias": (4,)})
    embedding = {"word_embeddings": tensors({"weight": (5, 4)}), "position_embeddings": tensors({"weight": (3, 4)})}
    arguments = argparse.Namespace(hidden_size=4, num_attention_heads=2, num_layers=1, max_position_embeddings=3,
                                   ffn_hidden_size=16, padded_vocab_size=5, tensor_model_parallel_size=1)
    return {"args": arguments, "checkpoint_version": 3.0,
            "model": {"language_model": {"embedding": embedding, "transformer": layers}}}


def main():
    corpus = pathlib.Path(sys.argv[1])
    folder = corpus / "tensor_file"
    six = Storage("f", [0, 1, 2, 3, 4, 5])
    state = collections.OrderedDict(a=Tensor(six, (2, 3), (3, 1)), b=Tensor(six, (3, 2), (1, 3)),
                                    c=Parameter(Tensor(Storage("e", [1, 2]), (2,), (1,))),
                                    d=Tensor(Storage("d", [1e300, 2]), (), (), 1), e=Tensor(Storage("q", [7]), (1,), (1,)))
    state._metadata = collections.OrderedDict(version=1)
    nested = {"model": state, "model_args": {"n_layer": 1, "bias": False, "lr": 0.5, "name": "x" * 300}, "iter": -3}
    files = {"pytorch_zip": zip_file(nested), "pytorch_zip64": zip_file(state, force_zip64=True),
             "pytorch_protocol5": zip_file(nested, protocol=5), "pytorch_legacy": legacy_file(nested),
             "pytorch_call": zip_file({"a": Call()}), "pytorch_call_legacy": legacy_file([Call()]),
             "pytorch_compressed": zip_file(state, compression=zipfile.ZIP_DEFLATED),
             "pytorch_outside": zip_file({"a": Tensor(six, (2, 3), (2**62, 1))}),
             "pytorch_repeated": zip_file({"a": Tensor(six, (2**40, 3), (0, 1))})}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    for name, value in {"nanogpt": nanogpt(), "megatron": megatron()}.items():
        (corpus / "checkpoint_file" / name).write_bytes(zip_file(value))


main()
