"""Writes GGUF, llm.c and TensorFlow files as the original tools do, converts them with sotto-convert, and compares.

    pip install gguf numpy safetensors
    python3 tests/tools/compare_formats.py build/release/bin/sotto-convert

CI does not run it. A GGUF file of each type must give the same bytes as a safetensors file with the values that gguf-py
decodes. TensorFlow's part needs tensorflow-cpu, llama.cpp's needs cyllama.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy
from safetensors.numpy import load_file, save_file

from make_gguf_types import TYPES, random_blocks

CONVERT = pathlib.Path(sys.argv[1]).resolve()
LAYERS, HEADS, WIDTH, POSITIONS, VOCABULARY = 2, 4, 256, 32, 512
NAMES = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "ln_1": "attn_norm",
         "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up",
         "mlp.c_proj": "ffn_down"}
PARTS = {"ln_1": None, "attn.c_attn": (3 * WIDTH, WIDTH), "attn.c_proj": (WIDTH, WIDTH), "ln_2": None,
         "mlp.c_fc": (4 * WIDTH, WIDTH), "mlp.c_proj": (WIDTH, 4 * WIDTH)}
LLAMA_CPP_TYPES = {2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 15: "Q4_K_M", 17: "Q5_K_M", 18: "Q6_K"}
failures = []


def check(name, holds, detail=""):
    print("ok  " if holds else "FAIL", name, "" if holds else detail)
    if not holds:
        failures.append(name)


def run(*arguments):
    return subprocess.run([CONVERT, *map(str, arguments)], capture_output=True, text=True)


def convert(checkpoint, output):
    """Returns the bytes of the model file, or the message of an error."""
    done = run(checkpoint, "-o", output, "--name", "n", "--source", "s", "--quiet")
    return output.read_bytes() if done.returncode == 0 else done.stderr


def model(random, name):
    """Returns the parameters of a GPT-2 by nanoGPT's names: blocks of the type, or None, and float32 values."""
    kind = gguf.GGMLQuantizationType[name]
    elements, _ = gguf.GGML_QUANT_SIZES[kind]

    def matrix(rows, columns):
        if name == "F32":
            return None, (random.standard_normal((rows, columns)) * 0.1).astype(numpy.float32)
        count = rows * columns // (32 if elements == 1 else elements)
        blocks = random_blocks(random, name, count).reshape(rows, -1)
        return blocks, gguf.quants.dequantize(blocks, kind).astype(numpy.float32).reshape(rows, columns)

    def vector(size):
        return None, random.standard_normal(size).astype(numpy.float32)

    tensors = {"wte.weight": matrix(VOCABULARY, WIDTH), "wpe.weight": matrix(POSITIONS, WIDTH),
               "ln_f.weight": vector(WIDTH), "ln_f.bias": vector(WIDTH)}
    for layer in range(LAYERS):
        for part, shape in PARTS.items():
            tensors[f"h.{layer}.{part}.weight"] = matrix(*shape) if shape else vector(WIDTH)
            tensors[f"h.{layer}.{part}.bias"] = vector(shape[0] if shape else WIDTH)
    return tensors


def gguf_name(name):
    stem, _, suffix = name.rpartition(".")
    if stem.startswith("h."):
        _, layer, part = stem.split(".", 2)
        return f"blk.{layer}.{NAMES[part]}.{suffix}"
    return f"{NAMES[stem]}.{suffix}"


def save_gguf(path, tensors, name):
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_block_count(LAYERS)
    writer.add_context_length(POSITIONS)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(4 * WIDTH)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(1e-5)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("no_vocab")
    for tensor, (blocks, values) in tensors.items():
        if blocks is None:
            writer.add_tensor(gguf_name(tensor), values)
        else:
            writer.add_tensor(gguf_name(tensor), blocks, raw_dtype=gguf.GGMLQuantizationType[name])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def save_safetensors(directory, tensors):
    directory.mkdir()
    config = {"model_type": "gpt2", "vocab_size": VOCABULARY, "n_positions": POSITIONS, "n_embd": WIDTH,
              "n_layer": LAYERS, "n_head": HEADS, "eos_token_id": None}
    (directory / "config.json").write_text(json.dumps(config))
    is_linear = lambda name: ".c_" in name and name.endswith(".weight")
    save_file({name: numpy.ascontiguousarray(values.T) if is_linear(name) else values
               for name, (_, values) in tensors.items()}, directory / "model.safetensors")


def save_llm_c(path, tensors):
    """As write_model() of llm.c's train_gpt2.py, version 3."""
    padded = VOCABULARY + 128
    header = numpy.zeros(256, dtype=numpy.int32)
    header[:8] = [20240326, 3, POSITIONS, VOCABULARY, LAYERS, HEADS, WIDTH, padded]
    embedding = numpy.pad(tensors["wte.weight"][1], ((0, padded - VOCABULARY), (0, 0)))
    with path.open("wb") as file:
        file.write(header.tobytes() + embedding.tobytes() + tensors["wpe.weight"][1].tobytes())
        for part in PARTS:
            for suffix in ("weight", "bias"):
                for layer in range(LAYERS):
                    file.write(tensors[f"h.{layer}.{part}.{suffix}"][1].tobytes())
        file.write(tensors["ln_f.weight"][1].tobytes() + tensors["ln_f.bias"][1].tobytes())


def check_tensorflow(directory, tensors, expected):
    """A checkpoint with the variables of OpenAI's code, and with an optimizer's."""
    try:
        import tensorflow.compat.v1 as tensorflow
    except ImportError:
        print("skip TensorFlow: it is not installed")
        return
    run = directory / "run1"
    run.mkdir()
    hparams = {"n_vocab": VOCABULARY, "n_ctx": POSITIONS, "n_embd": WIDTH, "n_head": HEADS, "n_layer": LAYERS}
    (run / "hparams.json").write_text(json.dumps(hparams))
    with tensorflow.Graph().as_default(), tensorflow.Session() as session:
        for name, (_, values) in tensors.items():
            stem, _, suffix = name.rpartition(".")
            variable = "model/" + stem.replace("h.", "h", 1).replace(".", "/")
            if "ln_" in stem:
                variable += "/g" if suffix == "weight" else "/b"
            elif stem not in ("wte", "wpe"):
                variable += "/w" if suffix == "weight" else "/b"
                values = values.T[numpy.newaxis] if suffix == "weight" else values
            tensorflow.get_variable(variable, initializer=numpy.ascontiguousarray(values))
        loss = sum(tensorflow.reduce_sum(variable) for variable in tensorflow.global_variables())
        tensorflow.train.AdamOptimizer(0.1).minimize(loss)
        session.run(tensorflow.global_variables_initializer())
        tensorflow.train.Saver().save(session, str(run / "model"), global_step=10)
    check("TensorFlow", convert(run, directory / "t.sotto") == expected, str(convert(run, directory / "t.sotto"))[:300])


def check_export(directory):
    """The exported files have the values of the .sotto file, in GGUF rounded to Q8_0 as gguf-py rounds."""
    done = run(directory / "m.sotto", "--export", "safetensors", "-o", directory / "out")
    done_gguf = run(directory / "m.sotto", "--export", "gguf", "-o", directory / "out.gguf")
    check("export", done.returncode == 0 and done_gguf.returncode == 0, done.stderr + done_gguf.stderr)
    exact = load_file(directory / "out/model.safetensors")
    for tensor in gguf.GGUFReader(directory / "out.gguf").tensors:
        name = next(name for name in exact if gguf_name(name.removeprefix("transformer.")) == tensor.name)
        values = exact[name].T if ".c_" in name and exact[name].ndim == 2 else exact[name]
        if tensor.tensor_type == gguf.GGMLQuantizationType.Q8_0:
            expected = gguf.quants.quantize(numpy.ascontiguousarray(values), tensor.tensor_type)
            if not numpy.array_equal(tensor.data.reshape(expected.shape), expected):
                check(f"export of {tensor.name}", False, "other blocks than gguf-py's")
        elif not numpy.array_equal(tensor.data.reshape(values.shape), values):
            check(f"export of {tensor.name}", False, "other values")


def check_llama_cpp(directory):
    """llama.cpp quantizes a file to each type, and computes nearly the logits of the original from an exported file."""
    try:
        from cyllama.llama import llama_cpp
    except ImportError:
        print("skip llama.cpp: cyllama is not installed")
        return
    llama_cpp.disable_logging()
    for number, name in LLAMA_CPP_TYPES.items():
        params = llama_cpp.LlamaModelQuantizeParams()
        params.ftype = number
        llama_cpp.model_quantize(str(directory / "m.gguf"), str(directory / f"{name}.gguf"), params)
        values = {tensor.name: gguf.quants.dequantize(tensor.data, tensor.tensor_type)
                  for tensor in gguf.GGUFReader(directory / f"{name}.gguf").tensors}
        names = load_file(directory / "hf/model.safetensors")
        tensors = {key: (None, numpy.ascontiguousarray(values[gguf_name(key)], numpy.float32)) for key in names}
        save_safetensors(directory / name, tensors)
        expected = convert(directory / name, directory / "q.sotto")
        check(f"llama.cpp {name}", convert(directory / f"{name}.gguf", directory / "g.sotto") == expected, "other bytes")

    class Model(llama_cpp.LlamaModel):
        n_vocab = property(lambda self: self.get_vocab().n_vocab)  # cyllama 0.7's contexts read it, its models lack it

    def logits(path):
        model = Model(str(path))
        context = llama_cpp.LlamaContext(model)
        context.decode(llama_cpp.llama_batch_get_one(list(range(16))))
        return numpy.array(context.get_logits_ith(-1))

    expected, actual = logits(directory / "m.gguf"), logits(directory / "out.gguf")
    error = numpy.linalg.norm(actual - expected) / numpy.linalg.norm(expected - expected.mean())
    check("llama.cpp's logits of an exported file", error < 0.1, f"relative error {error}")


def main():
    random = numpy.random.default_rng(7)
    for name in ["F32", *TYPES]:
        with tempfile.TemporaryDirectory() as temporary:
            directory = pathlib.Path(temporary)
            tensors = model(random, name)
            save_gguf(directory / "m.gguf", tensors, name)
            save_safetensors(directory / "hf", tensors)
            expected = convert(directory / "hf", directory / "m.sotto")
            check(f"GGUF {name}", convert(directory / "m.gguf", directory / "g.sotto") == expected, "other bytes")
            if name != "F32":
                continue
            save_llm_c(directory / "m.bin", tensors)
            check("llm.c", convert(directory / "m.bin", directory / "l.sotto") == expected, "other bytes")
            check_tensorflow(directory, tensors, expected)
            check("verify", run(directory / "m.gguf", "--verify", directory / "m.sotto").returncode == 0)
            check_export(directory)
            check_llama_cpp(directory)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
