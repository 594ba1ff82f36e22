"""Restricts the texts of a Hugging Face model to a JSON Schema: pip install transformers torch, then
python3 logits_processor.py openai-community/gpt2 "A person: "

`GrammarLogitsProcessor` needs only numpy and works on numpy arrays and on torch tensors in the CPU's memory.
"""
import sys

import numpy

import sotto

SCHEMA = {"type": "object", "required": ["name", "age"], "additionalProperties": False,
          "properties": {"name": {"type": "string", "maxLength": 20},
                         "age": {"type": "integer", "minimum": 0, "maximum": 120}}}


class GrammarLogitsProcessor:
    """Sets the logits of tokens that the grammar does not allow to minus infinity. Follows the protocol of transformers'
    LogitsProcessor. A processor belongs to one call of `generate`: what its first call finds in `input_ids` is the
    prompt, and the grammar applies after it. Beams may be reordered."""

    def __init__(self, grammar: sotto.Grammar, vocabulary: sotto.Vocabulary, **matcher_fields):
        self._grammar, self._vocabulary, self._fields = grammar, vocabulary, matcher_fields
        self._prompt_size = None
        self._matchers: list[sotto.Matcher] = []
        self._accepted: list[list[int]] = []  # the tokens that each matcher has accepted

    def __call__(self, input_ids, scores):
        if self._prompt_size is None:
            self._prompt_size = len(input_ids[0])
            self._matchers = [sotto.Matcher(self._grammar, self._vocabulary, **self._fields) for _ in input_ids]
            self._accepted = [[] for _ in input_ids]
        for row, tokens in enumerate(input_ids):
            self._follow(row, [int(token) for token in tokens[self._prompt_size:]])
            scores[row][~self._allowed(row, len(scores[row]))] = -numpy.inf
        return scores

    def _follow(self, row: int, tokens: list[int]) -> None:
        known = self._accepted[row]
        if tokens[:len(known)] != known:  # the row continues another beam
            self._matchers[row].reset()
            known = []
        for token in tokens[len(known):]:
            if self._matchers[row].info().must_end:
                break  # after the end of the text, generate() adds padding
            self._matchers[row].accept_token(token)
        self._accepted[row] = tokens

    def _allowed(self, row: int, count: int) -> numpy.ndarray:
        words = numpy.frombuffer(self._matchers[row].mask(), numpy.uint8)
        allowed = numpy.zeros(count, bool)  # a model may have more logits than tokens
        bits = numpy.unpackbits(words, bitorder="little")[:min(count, self._vocabulary.token_count)]
        allowed[:len(bits)] = bits
        return allowed


def vocabulary_of(tokenizer) -> sotto.Vocabulary:
    """Returns the vocabulary of a byte-level tokenizer such as GPT-2's."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    bytes_of = {chr(byte): byte for byte in printable}
    others = [byte for byte in range(256) if byte not in printable]
    bytes_of |= {chr(256 + index): byte for index, byte in enumerate(others)}
    special = set(tokenizer.all_special_ids)
    pieces = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    tokens = [piece.encode() if token in special else bytes(bytes_of[c] for c in piece)
              for token, piece in enumerate(pieces)]
    return sotto.Vocabulary(tokens, special=sorted(special), end_tokens=[tokenizer.eos_token_id])


def main(name: str, prompt: str) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(name), AutoModelForCausalLM.from_pretrained(name)
    processor = GrammarLogitsProcessor(sotto.Grammar.json_schema(SCHEMA), vocabulary_of(tokenizer), finish_within=60)
    inputs = tokenizer(prompt, return_tensors="pt")
    output = model.generate(**inputs, logits_processor=[processor], max_new_tokens=61, do_sample=True,
                            pad_token_id=tokenizer.eos_token_id)
    print(tokenizer.decode(output[0][inputs["input_ids"].shape[1]:], skip_special_tokens=True))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python3 logits_processor.py MODEL PROMPT")
    main(*sys.argv[1:])
