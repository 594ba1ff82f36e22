#!/usr/bin/env python3
"""Writes tests/golden/data/searches.json: the results of beam search and contrastive search by transformers'
generate().

Needs torch, transformers and safetensors; not run by the tests. Beam search is run with transformers 5. Groups and
contrastive search, which version 5 removed, are run with version 4.46 and added to the file:

  python3 make_search_goldens.py               (transformers 5: begins the file)
  python3 make_search_goldens.py               (transformers 4: adds to it)
"""

import json
import pathlib

import torch
import transformers
from transformers import GPT2Config, GPT2LMHeadModel

DATA = pathlib.Path(__file__).parent / "data"
PATH = DATA / "searches.json"
LEGACY = int(transformers.__version__.split(".")[0]) < 5

MODELS = {
    "attention_by_layer": ([7, 3, 41, 12, 12, 30], 18),
    "head64_wide_vocabulary": ([101, 7, 900, 44, 513], 14),
    "head40_long": ([1, 28, 14, 3], 24),
}

BEAM = [
    dict(num_beams=1, early_stopping=True),
    dict(num_beams=2),
    dict(num_beams=5),
    dict(num_beams=4, early_stopping=True),
    dict(num_beams=4, early_stopping="never"),
    dict(num_beams=4, length_penalty=0.0),
    dict(num_beams=4, length_penalty=2.0),
    dict(num_beams=3, length_penalty=-1.0, early_stopping="never"),
    dict(num_beams=4, length_penalty=0.6, early_stopping="never"),
    dict(num_beams=4, repetition_penalty=1.4),
    dict(num_beams=4, no_repeat_ngram_size=2),
    dict(num_beams=4, min_new_tokens=8),
    dict(num_beams=4, repetition_penalty=0.8, no_repeat_ngram_size=3, length_penalty=0.0),
    dict(num_beams=12, length_penalty=1.5, early_stopping="never"),
]
GROUPS = [
    dict(num_beams=4, num_beam_groups=2, diversity_penalty=0.5),
    dict(num_beams=6, num_beam_groups=3, diversity_penalty=1.0),
    dict(num_beams=4, num_beam_groups=4, diversity_penalty=2.0, length_penalty=0.0),
]
CONTRASTIVE = [
    dict(top_k=4, penalty_alpha=0.6),
    dict(top_k=3, penalty_alpha=0.2),
    dict(top_k=8, penalty_alpha=0.9),
]


def load(name):
    model = GPT2LMHeadModel.from_pretrained(DATA / name, attn_implementation="eager").float().eval()
    return model


def generate(model, prompt, max_tokens, end_tokens, settings):
    """Returns the sequences after the prompt, cut at the end token, with their scores."""
    beams = settings.get("num_beams", 1)
    returned = 1 if "penalty_alpha" in settings else beams
    output = model.generate(
        torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long), do_sample=False,
        max_new_tokens=max_tokens, eos_token_id=end_tokens, pad_token_id=end_tokens[0], num_return_sequences=returned,
        return_dict_in_generate=True, output_scores=True, **settings)
    scores = getattr(output, "sequences_scores", None)
    sequences = []
    for i, row in enumerate(output.sequences.tolist()):
        tokens = row[len(prompt):]
        ends = [k for k, token in enumerate(tokens) if token in end_tokens]
        ended = bool(ends)
        if ended:
            tokens = tokens[:ends[0]]
        sequences.append(dict(tokens=tokens, ended=ended, score=None if scores is None else scores[i].item()))
    return sequences


def main():
    cases = json.loads(PATH.read_text())["cases"] if LEGACY else []
    for name, (prompt, max_tokens) in MODELS.items():
        model = load(name)
        # A token that beams do meet, and one that they do not.
        with torch.no_grad():
            likely = generate(model, prompt, max_tokens, [10 ** 6], dict(num_beams=4))[0]["tokens"]
        for end_token in (likely[len(likely) * 2 // 3], 2):
            for settings in GROUPS + CONTRASTIVE if LEGACY else BEAM:
                cases.append(dict(model=name, prompt=prompt, max_tokens=max_tokens, end_token=end_token,
                                  settings=settings,
                                  sequences=generate(model, prompt, max_tokens, [end_token], settings)))
    PATH.write_text("{\"cases\": [\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]}\n")
    print(f"{len(cases)} cases by transformers {transformers.__version__}")


if __name__ == "__main__":
    main()
