"""Compares what quantization costs in sotto and in llama.cpp: the same weights, the same windows of text.

    python3 tests/bench/peers/quality.py SOTTO_CONVERT CHECKPOINT TEXT [--windows N] [--outliers 1,10,30,100]

Needs the packages of requirements.txt; setup.sh installs them. CHECKPOINT is a directory of transformers. For every
factor K of --outliers, the script adds outlier channels without changing the function of the model: in each layer, the
gain and bias of a few channels of both norms are multiplied by K, and the weights that read these channels are divided
by K. llama.cpp quantizes the result with its own program, and sotto-convert --compare with every width and calibration.
The table has the size of the file, the Kullback-Leibler divergence from float32 in nats, the change of perplexity, and
how often the most likely token is the same.
"""
import argparse
import ctypes
import json
import pathlib
import shutil
import subprocess
import tempfile

import llama_cpp.llama_cpp as llama
import numpy
from safetensors.numpy import load_file, save_file
from tokenizers import ByteLevelBPETokenizer

from make_models import quantize_gguf, write_gguf

CHANNELS = (7, 101, 190)
LLAMA_KINDS = {"Q8_0": llama.LLAMA_FTYPE_MOSTLY_Q8_0, "Q4_0": llama.LLAMA_FTYPE_MOSTLY_Q4_0,
               "Q4_K_M": llama.LLAMA_FTYPE_MOSTLY_Q4_K_M}


def read_tensors(checkpoint):
    prefix = "transformer."
    return {name.removeprefix(prefix): tensor.astype(numpy.float32)
            for name, tensor in load_file(checkpoint / "model.safetensors").items() if not name.startswith("lm_head")}


def add_outliers(tensors, layers, factor):
    """In place. Linear weights are (inputs, outputs)."""
    channels = list(CHANNELS)
    for layer in range(layers):
        for norm, reader in (("ln_1", "attn.c_attn"), ("ln_2", "mlp.c_fc")):
            for part in ("weight", "bias"):
                tensors[f"h.{layer}.{norm}.{part}"][channels] *= factor
            tensors[f"h.{layer}.{reader}.weight"][channels] /= factor


def log_probabilities(logits):
    shifted = logits.astype(numpy.float64)
    shifted -= shifted.max(axis=1, keepdims=True)
    return shifted - numpy.log(numpy.exp(shifted).sum(axis=1, keepdims=True))


class LlamaModel:
    def __init__(self, path, window):
        self.model = llama.llama_model_load_from_file(str(path).encode(), llama.llama_model_default_params())
        params = llama.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = window
        self.context = llama.llama_init_from_model(self.model, params)
        self.vocabulary = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(self.model))
        self.batch = llama.llama_batch_init(window, 0, 1)

    def logits(self, tokens):
        llama.llama_memory_clear(llama.llama_get_memory(self.context), True)
        self.batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            self.batch.token[i], self.batch.pos[i], self.batch.logits[i] = int(token), i, 1
            self.batch.n_seq_id[i], self.batch.seq_id[i][0] = 1, 0
        if llama.llama_decode(self.context, self.batch) != 0:
            raise SystemExit("llama_decode failed")
        values = ctypes.cast(llama.llama_get_logits(self.context), ctypes.POINTER(ctypes.c_float))
        return numpy.ctypeslib.as_array(values, (len(tokens), self.vocabulary)).copy()

    def close(self):
        llama.llama_batch_free(self.batch)
        llama.llama_free(self.context)
        llama.llama_model_free(self.model)


def compare_llama(whole, quantized, windows):
    """Returns (bytes, KL, perplexity ratio, agreement)."""
    expected_model, model = LlamaModel(whole, len(windows[0])), LlamaModel(quantized, len(windows[0]))
    divergence = loss = agreement = count = 0
    for tokens in windows:
        p, q = (log_probabilities(m.logits(tokens)[:-1]) for m in (expected_model, model))
        rows, following = numpy.arange(len(p)), tokens[1:]
        divergence += (numpy.exp(p) * (p - q)).sum()
        loss += (p[rows, following] - q[rows, following]).sum()
        agreement += (p.argmax(axis=1) == q.argmax(axis=1)).sum()
        count += len(p)
    expected_model.close()
    model.close()
    return quantized.stat().st_size, divergence / count, numpy.exp(loss / count), agreement / count


def compare_sotto(convert, checkpoint, text, windows):
    """Returns the same by the name of the kind."""
    command = [convert, checkpoint, "--compare", text, "--windows", str(windows), "--json"]
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {name: (figures["bytes"], figures["mean_kl"], figures["perplexity_ratio"], figures["top1_agreement"])
            for name, figures in result.items() if name.startswith("int")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("convert")
    parser.add_argument("checkpoint", type=pathlib.Path)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--windows", type=int, default=64)
    parser.add_argument("--outliers", default="1,10,30,100")
    arguments = parser.parse_args()
    silent = llama.llama_log_callback(lambda *_: None)
    llama.llama_log_set(silent, None)
    llama.llama_backend_init()

    config = json.loads((arguments.checkpoint / "config.json").read_text())
    tokenizer = ByteLevelBPETokenizer(str(arguments.checkpoint / "vocab.json"), str(arguments.checkpoint / "merges.txt"))
    tokens = numpy.array(tokenizer.encode(arguments.text.read_text()).ids)
    size = config["n_positions"]
    windows = [tokens[i * size:(i + 1) * size] for i in range(min(arguments.windows, len(tokens) // size))]
    print(f"{len(windows)} windows of {size} tokens")
    print(f"{'outliers':>8}  {'weights':27} {'bytes':>9} {'KL':>9} {'perplexity':>11} {'same token':>11}")
    for factor in (int(text) for text in arguments.outliers.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "model"
            shutil.copytree(arguments.checkpoint, model)
            tensors = read_tensors(arguments.checkpoint)
            add_outliers(tensors, config["n_layer"], factor)
            (model / "model.safetensors").unlink()
            save_file(tensors, model / "model.safetensors")
            whole = pathlib.Path(folder) / "f32.gguf"
            write_gguf(tensors, whole, config)

            def report(name, figures):
                size, divergence, ratio, agreement = figures
                print(f"{factor:7}x  {name:27} {size:9} {divergence:9.6f} {100 * (ratio - 1):+10.3f}% "
                      f"{100 * agreement:10.2f}%", flush=True)

            for name, kind in LLAMA_KINDS.items():
                quantized = pathlib.Path(folder) / f"{name}.gguf"
                quantize_gguf(whole, quantized, kind)
                report(name, compare_llama(whole, quantized, windows))
            for name, figures in compare_sotto(arguments.convert, model, arguments.text, len(windows)).items():
                report(name, figures)


if __name__ == "__main__":
    main()
