#!/usr/bin/env python3
"""Writes the checkpoints and reference logits in tests/golden/data.

Needs torch, transformers and safetensors; not run by the tests. Each directory is a small
random GPT-2 checkpoint as Hugging Face writes it (config.json, model.safetensors) with
golden.json: the ids of one window, and logits.f32: the logits of transformers' GPT2LMHeadModel
in float32 for every position of it, little-endian (token, vocabulary).

The weights are rounded to what their file's dtype holds before the logits are computed, so
that all readers start from the same numbers. Run from anywhere: python3 make_goldens.py [NAME...]
Without names, all checkpoints are written.
"""

import json
import pathlib
import shutil
import sys

import torch
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel

DATA = pathlib.Path(__file__).parent / "data"

# name, dtype of the file, ids in the window, configuration
MODELS = [
    ("head8_three_tokens", "F16", 11,
     dict(n_embd=24, n_head=3, n_layer=3, vocab_size=3, n_positions=11,
          tie_word_embeddings=False)),
    ("head16_erf", "BF16", 32,
     dict(n_embd=48, n_head=3, n_layer=2, vocab_size=17, n_positions=32,
          activation_function="gelu")),
    ("head20_narrow_inner", "F16", 16,
     dict(n_embd=60, n_head=3, n_layer=1, vocab_size=101, n_positions=16, n_inner=37)),
    ("head32_untied", "F16", 24,
     dict(n_embd=64, n_head=2, n_layer=2, vocab_size=257, n_positions=24,
          activation_function="gelu", tie_word_embeddings=False)),
    ("head64_wide_vocabulary", "F16", 20,
     dict(n_embd=64, n_head=1, n_layer=1, vocab_size=997, n_positions=64, n_inner=96)),
    ("head128", "F16", 40,
     dict(n_embd=128, n_head=1, n_layer=1, vocab_size=61, n_positions=48, n_inner=64,
          tie_word_embeddings=False)),
    ("attention_unscaled", "F16", 32,
     dict(n_embd=32, n_head=4, n_layer=2, vocab_size=65, n_positions=40,
          scale_attn_weights=False)),
    ("attention_by_layer", "F16", 32,
     dict(n_embd=40, n_head=2, n_layer=3, vocab_size=50, n_positions=32,
          scale_attn_by_inverse_layer_idx=True)),
    ("head7_odd", "F32", 13,
     dict(n_embd=35, n_head=5, n_layer=2, vocab_size=33, n_positions=13, n_inner=71,
          tie_word_embeddings=False)),
    ("head40_long", "BF16", 128,
     dict(n_embd=40, n_head=1, n_layer=2, vocab_size=29, n_positions=128,
          layer_norm_epsilon=1e-3)),
    ("deep_tied", "F16", 40,
     dict(n_embd=32, n_head=2, n_layer=10, vocab_size=53, n_positions=48, n_inner=32)),
    ("deep_untied", "F16", 40,
     dict(n_embd=24, n_head=2, n_layer=8, vocab_size=53, n_positions=48, n_inner=32,
          tie_word_embeddings=False)),
]

DTYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def randomize(model, dtype):
    """Weights that keep activations near 1, norms and biases away from their defaults."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".ln_" in name:
                noise = torch.randn_like(parameter)
                parameter.copy_(0.1 * noise if name.endswith("bias") else 1 + 0.2 * noise)
            elif name.endswith("bias"):
                parameter.normal_(0, 0.1)
            elif name.endswith(("wte.weight", "wpe.weight", "lm_head.weight")):
                parameter.normal_(0, 0.3)
            else:
                parameter.normal_(0, 1.2 * parameter.shape[0] ** -0.5)  # Conv1D: (in, out)
            parameter.copy_(parameter.to(dtype).float())


def make(index, name, dtype_name, count, options):
    torch.manual_seed(1000 + index)
    dtype = DTYPES[dtype_name]
    config = GPT2Config(**options, bos_token_id=None, eos_token_id=None)
    config._attn_implementation = "eager"  # the one that honours both scaling options
    model = GPT2LMHeadModel(config).float().eval()
    randomize(model, dtype)

    ids = torch.randint(0, config.vocab_size, (1, count))
    with torch.no_grad():
        logits = model(ids).logits[0].float()

    directory = DATA / name
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    keys = ["n_embd", "n_head", "n_layer", "vocab_size", "n_positions", "n_inner",
            "activation_function", "layer_norm_epsilon", "scale_attn_weights",
            "scale_attn_by_inverse_layer_idx", "tie_word_embeddings"]
    description = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}
    description.update({key: getattr(config, key) for key in keys})
    (directory / "config.json").write_text(json.dumps(description, indent=1) + "\n")
    tensors = {key: value.to(dtype).contiguous() for key, value in model.state_dict().items()
               if key != "lm_head.weight" or not config.tie_word_embeddings}
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
    (directory / "golden.json").write_text(json.dumps({"ids": ids[0].tolist()}) + "\n")
    (directory / "logits.f32").write_bytes(logits.numpy().astype("<f4").tobytes())


for model_index, model_options in enumerate(MODELS):
    if not sys.argv[1:] or model_options[0] in sys.argv[1:]:
        make(model_index, *model_options)
