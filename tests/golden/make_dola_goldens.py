#!/usr/bin/env python3
"""Writes tests/golden/data/dola.json: DoLa, decoding by contrasting layers, by transformers 4.46.

Needs torch 2.5 and transformers 4.46, the last line of versions that contain DoLa; not run by the tests:

  make_dola_goldens.py SHARED_DATA       (the directory of the demo model's checkpoint, demo)

"layers" has the premature layers that generate() chooses for models of 1 to 48 layers. "contrasts" has the results of
_dola_select_contrast() for random logits, which tests/golden/dola_test.cpp makes again: the layer that it chose, and
the finite logits. "generations" has greedy texts of generate(), and the layer that it chose for each token.
"""

import functools
import json
import pathlib
import random
import sys

import torch
import transformers
from transformers import GPT2Config, GPT2LMHeadModel, GPT2TokenizerFast
from transformers.generation import utils

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
from make_process_goldens import Numbers

DATA = pathlib.Path(__file__).parent / "data"
SEQUENCES = 16
SELECT = utils._dola_select_contrast
FILTER = utils._relative_top_filter

# The number of generated tokens of each model.
MODELS = {"deep_tied": 32, "deep_untied": 32, "attention_by_layer": 24, "head40_long": 32, "head32_untied": 16}


class Recorder:
    """Stands for _dola_select_contrast(), and records its arguments and the layer that it chooses."""

    def __init__(self):
        self.candidates = []
        self.chosen = []

    def __enter__(self):
        utils._dola_select_contrast = self
        return self

    def __exit__(self, *_):
        utils._dola_select_contrast = SELECT

    def __call__(self, layers, premature, final):
        result = SELECT(layers, premature, final)
        self.candidates.append(layers)
        self.chosen.append(next(layer for layer in layers if torch.equal(SELECT([layer], premature, final), result)))
        return result


def generate(model, prompt, count, which):
    with Recorder() as recorder:
        output = model.generate(torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
                                do_sample=False, max_new_tokens=count, dola_layers=which, repetition_penalty=1.0,
                                pad_token_id=0)
    return output[0, len(prompt):].tolist(), recorder


def premature_layers():
    for count in range(1, 49):
        for tied in (True, False):
            model = GPT2LMHeadModel(GPT2Config(n_layer=count, n_embd=2, n_head=1, vocab_size=4, n_positions=4,
                                               tie_word_embeddings=tied, bos_token_id=None, eos_token_id=None)).eval()
            for which in ("low", "high"):
                try:
                    layers = generate(model, [1], 1, which)[1].candidates[0]
                except RuntimeError:  # there are no such layers
                    layers = []
                yield {"layer_count": count, "is_tied": tied, "which": which, "layers": layers}


def random_rows(numbers, count, size):
    rows = []
    for _ in range(count):
        scale = 1 + numbers.below(30)
        rows.append([(numbers.below(20001) - 10000) * scale / 30000 for _ in range(size)])
    return rows


def contrasts():
    for seed in range(120):
        numbers = Numbers(seed)
        size, count = 3 + numbers.below(60), 1 + numbers.below(5)
        rows = random_rows(numbers, 1 + count, size)
        if seed % 8 == 0:
            rows[-1] = rows[1]  # the divergences are equal
        final, *premature = [torch.tensor([row], dtype=torch.float32) for row in rows]
        top = (0.1, 0.1, 0.5, 0.01, 1.0, 1e-6)[seed % 6]
        utils._relative_top_filter = functools.partial(FILTER, relative_top=top)
        with Recorder() as recorder:
            result = utils._dola_select_contrast(list(range(count)), dict(enumerate(premature)), final)[0].tolist()
        utils._relative_top_filter = FILTER
        yield {"seed": seed, "relative_top": top, "chosen": recorder.chosen[0],
               "logits": {str(i): float("%.9g" % x) for i, x in enumerate(result) if x != float("-inf")}}


def generations(name, model, prompts, count):
    for which in ("low", "high"):
        if which == "low" and model.config.n_layer == 3 and model.config.tie_word_embeddings:
            continue
        for prompt in prompts:
            tokens, recorder = generate(model, prompt, count, which)
            yield {"model": name, "which": which, "prompt": prompt, "tokens": tokens, "layers": recorder.chosen}


def all_generations(shared_data):
    for name, count in MODELS.items():
        random_ = random.Random(name)
        model = GPT2LMHeadModel.from_pretrained(DATA / name, attn_implementation="eager").float().eval()
        prompts = [[random_.randrange(model.config.vocab_size) for _ in range(8)] for _ in range(SEQUENCES)]
        yield from generations(name, model, prompts, count)
    demo = pathlib.Path(shared_data) / "demo"
    model = GPT2LMHeadModel.from_pretrained(demo, attn_implementation="eager").float().eval()
    tokenizer = GPT2TokenizerFast(str(demo / "vocab.json"), str(demo / "merges.txt"))
    lines = [line for line in (demo / "validation.txt").read_text(encoding="utf-8").split("\n") if len(line) > 60]
    prompts = [tokenizer(line)["input_ids"][:10] for line in lines[::len(lines) // SEQUENCES][:SEQUENCES]]
    yield from generations("demo", model, prompts, 32)


def main():
    torch.set_num_threads(1)
    parts = {"layers": list(premature_layers()), "contrasts": list(contrasts()),
             "generations": list(all_generations(sys.argv[1]))}
    text = ",\n".join(f'"{name}": [\n' + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]"
                      for name, cases in parts.items())
    (DATA / "dola.json").write_text("{\n" + text + "\n}\n", encoding="ascii")
    print({name: len(cases) for name, cases in parts.items()}, "by transformers", transformers.__version__)


if __name__ == "__main__":
    main()
