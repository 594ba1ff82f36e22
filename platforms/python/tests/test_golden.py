"""Tests that the demo model produces the golden figures that all bindings share."""
import struct
import unittest

from support import MODEL, MODEL_PATH, read_golden, tokens_of

import sotto

GOLDEN = read_golden()
SAMPLER = {"temperature": float, "top_k": int, "top_p": float, "repetition_penalty": float, "seed": int}


def next_text(session, _):
    piece = session.next()
    return piece.text if piece else ""


def generate(session, max_tokens, max_pieces=None):
    texts = []
    session.generate((), max_tokens, lambda piece: texts.append(piece.text) or len(texts) == max_pieces)
    return "".join(texts)


def set_stops(session, argument):
    name, _, value = argument.partition(" ")
    changes = {"": {}, "stop_string": {"stop_strings": [value]}, "banned_string": {"banned_strings": [value]}}
    numbers = {"stop_token": lambda: {"stop_tokens": [int(value)]}, "max_time_ns": lambda: {name: int(value)},
               "repetition_limit": lambda: {name: float(value)}}
    session.set_stops(**(changes[name] if name in changes else numbers[name]()))


CALLS = {
    "prefill": lambda session, text: session.prefill(text) and None,
    "next": next_text,
    "generate": lambda session, count: generate(session, int(count)),
    "callback": lambda session, count: generate(session, None, int(count)),
    "limit": lambda session, count: session.set_limit(int(count)),
    "stops": set_stops,
    "allow": lambda session, tokens: session.set_sampler(temperature=0, allowed_tokens=tokens_of(tokens)),
    "grammar": lambda session, regex: session.set_grammar(sotto.Grammar.regex(regex) if regex else None),
    "score": lambda session, text: session.score(text) and None,
    "embed": lambda session, text: session.embed(text) and None,
    "rewind": lambda session, count: session.rewind(int(count)),
    "restore": lambda session, _: session.restore(session.save()),
    "cancel": lambda session, _: session.cancel(),
    "reset": lambda session, _: session.reset(),
}


class GoldenTest(unittest.TestCase):
    def case(self, name):
        return dict(GOLDEN[name])

    def check_text(self, name, prepare=lambda session, case: None):
        case = self.case(name)
        self.assertEqual(MODEL.tokenize(case["prompt"]), tokens_of(case["prompt_tokens"]))
        with MODEL.session(context_tokens=256) as session:
            session.set_sampler(**{key: kind(case[key]) for key, kind in SAMPLER.items()})
            prepare(session, case)
            pieces = list(session.pieces(case["prompt"], int(case["max_tokens"])))
            self.assertEqual([piece.token for piece in pieces if piece.token >= 0], tokens_of(case["tokens"]))
            self.assertEqual("".join(piece.text for piece in pieces), case["text"])
            self.assertEqual(session.info.stop, int(case["status"]))

            texts = []
            session.reset()
            status = session.generate(case["prompt"], int(case["max_tokens"]), lambda piece: texts.append(piece.text))
            self.assertEqual(("".join(texts), status), (case["text"], int(case["status"])))

    def test_tokenize(self):
        case = self.case("tokenize")
        self.assertEqual(MODEL.tokenize(case["text"]), tokens_of(case["tokens"]))
        self.assertEqual(MODEL.detokenize(tokens_of(case["tokens"])).decode(), case["text"])

    def test_greedy(self):
        self.check_text("greedy")

    def test_sampled(self):
        self.check_text("sampled")

    def test_batch(self):
        cases = [self.case("greedy"), self.case("sampled")]
        with MODEL.session(context_tokens=256) as first, MODEL.session(context_tokens=256) as second, \
                MODEL.session(context_tokens=256) as empty:
            sessions, texts = [first, second, empty], ["", ""]
            for session, case in zip(sessions, cases):
                session.set_sampler(**{key: kind(case[key]) for key, kind in SAMPLER.items()})
                session.prefill(case["prompt"])
                session.set_limit(int(case["max_tokens"]))
            while any(steps := sotto.Session.next_of(sessions)[:2]):
                texts = [text + (step.text if step else "") for text, step in zip(texts, steps)]
            self.assertEqual(texts, [case["text"] for case in cases])
            self.assertEqual([session.info.stop for session in sessions[:2]], [int(case["status"]) for case in cases])
            failure = sotto.Session.next_of(sessions)[2]
            self.assertEqual(str(failure), "the stream is empty: prefill a prompt first")
            with self.assertRaises(sotto.BusyError):
                sotto.Session.next_of([first, first])

    def test_stop(self):
        self.check_text("stop", lambda session, case: session.set_stops(stop_strings=[case["stop_string"]]))

    def test_grammar(self):
        def prepare(session, case):
            session.reset()
            session.set_grammar(sotto.Grammar.compile(case["source"], language=int(case["language"]),
                                                      json_space=int(case["json_space"])))
        self.check_text("grammar", prepare)

    def test_search(self):
        case = self.case("search")
        with MODEL.session(context_tokens=256, sequence_count=int(case["sequence_count"]),
                           sequence_tokens=32) as session:
            session.prefill(case["prompt"])
            found = session.search(max_tokens=int(case["max_tokens"]))
        expected = [tokens_of(value) for key, value in GOLDEN["search"] if key == "sequence"]
        self.assertEqual([sequence.tokens for sequence in found], expected)

    def test_embedding(self):
        case = self.case("embedding")
        with MODEL.session(context_tokens=256) as session:
            embedding = session.embed(case["prompt"], sotto.Pooling(int(case["pooling"])))
        self.assertEqual(len(embedding), int(case["size"]))
        first = [int(bits, 16) for bits in case["first_bits"].split()]
        self.assertEqual([struct.unpack("<I", struct.pack("<f", value))[0] for value in embedding[:4]], first)

    def test_calls(self):
        with MODEL.session(context_tokens=256) as session:
            for (key, call), (_, result) in zip(*[iter(GOLDEN["calls"])] * 2):
                name, _, argument = call.partition(" ")
                with self.subTest(call=call):
                    self.assertEqual(key, "call")
                    try:
                        text = CALLS[name](session, argument) or ""
                        self.assertEqual(f"{int(session.info.stop)} {text}", result)
                    except sotto.SottoError as failure:
                        self.assertEqual(f"{int(failure.status)} ", result)

    def check_failure(self, name, call):
        case = self.case(name)
        with self.assertRaises(sotto.SottoError) as raised:
            call(case)
        self.assertEqual(raised.exception.status, int(case["status"]))
        self.assertEqual(raised.exception.offset, None if case["offset"] == "none" else int(case["offset"]))
        self.assertIn(case["message"], str(raised.exception))

    def test_failures(self):
        self.check_failure("bad_grammar", lambda case: sotto.Grammar.compile(case["source"]))
        self.check_failure("bad_text", lambda case: MODEL.tokenize(bytes.fromhex(case["bytes"])))
        with open(MODEL_PATH, "rb") as file:
            data = file.read()
        self.check_failure("bad_model", lambda case: sotto.Model.from_bytes(data[:int(case["kept_bytes"])]))
        with MODEL.session(context_tokens=256) as session:
            self.check_failure("bad_parameter",
                               lambda case: session.set_sampler(temperature=float(case["temperature"])))


if __name__ == "__main__":
    unittest.main()
