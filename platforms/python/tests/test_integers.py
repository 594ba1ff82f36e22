"""Tests that integers out of range for C and values of wrong types are rejected."""
import unittest

from support import MODEL

import sotto


class IntegerTest(unittest.TestCase):
    def check_refused(self, name, *calls):
        for place, call in enumerate(calls):
            with self.subTest(name=name, place=place):
                self.assertRaisesRegex(OverflowError, f"^{name}: ", call)

    def test_integers_out_of_range_are_refused(self):
        big = 2**32 + 5
        with MODEL.session(context_tokens=64, sequence_count=1, draft_tokens=2) as session:
            self.check_refused(
                "tokens", lambda: session.prefill([big]), lambda: session.generate([big]), lambda: session.score([big]),
                lambda: session.embed([big]), lambda: MODEL.detokenize([big]), lambda: MODEL.detokenize([-2**31 - 1]),
                lambda: sotto.detect_watermark([big], 8))
            session.prefill("It was")
            self.check_refused("token_count", lambda: session.rewind(2**64), lambda: session.rewind(-1))
            self.check_refused("max_tokens", lambda: session.generate("", 2**64 + 3), lambda: session.generate("", -1),
                               lambda: next(session.stream("", 2**64 + 3)), lambda: session.search(max_tokens=big))
            self.check_refused("pooling", lambda: session.embed([1], pooling=2**32))
            self.check_refused("top_k", lambda: session.set_sampler(top_k=2**32))
            for name, value in {"top_k": -1, "seed": 2**64, "dola": 2**32, "suppressed_tokens": [big],
                                "logit_bias": [(big, 1.0)], "bad_words": [[1], [big]], "stages": [2**32],
                                "sequence_bias": [([big], 1.0)]}.items():
                self.check_refused(name, lambda: session.set_sampler(**{name: value}))
            self.check_refused("key", lambda: session.set_sampler(watermark=sotto.WatermarkParams(key=-1)))
            self.check_refused("stop_tokens", lambda: session.set_stops(stop_tokens=[big]))
            self.assertEqual(session.info.token_count, len(MODEL.tokenize("It was")))
            session.set_speculation(sources=sotto.DraftSource.CALLBACK, draft=lambda *_: [big])
            self.check_refused("draft", lambda: list(session.stream("It was", 8)))
        self.check_refused("context_tokens", lambda: MODEL.session(context_tokens=2**32 + 64))
        self.check_refused("token", lambda: MODEL.token_bytes(big))
        self.check_refused("isa", lambda: sotto.isa_name(2**32))

    def test_integers_out_of_range_are_refused_without_a_session(self):
        vocabulary, grammar = sotto.Vocabulary(["a", "b"]), sotto.Grammar.compile('root ::= "a"+')
        matcher = sotto.Matcher(grammar, vocabulary)
        self.check_refused(
            "sequence", lambda: matcher.mask(2**32), lambda: matcher.allowed_tokens(2**32), lambda: matcher.reset(-1),
            lambda: matcher.accept_token(0, 2**32), lambda: matcher.accept_text("a", 2**32),
            lambda: matcher.test("a", 2**32), lambda: matcher.info(2**32), lambda: matcher.forced_text(2**32))
        self.check_refused("token", lambda: matcher.accept_token(2**32))
        self.check_refused("capacity", lambda: matcher.forced_text(capacity=-1))
        self.check_refused("count", lambda: matcher.rewind(2**64))
        self.check_refused("source", lambda: matcher.fork(2**32, 0))
        self.check_refused("target", lambda: matcher.fork(0, 2**32))
        self.check_refused("special", lambda: sotto.Vocabulary(["a", "b"], special=[-1]))
        self.check_refused("end_tokens", lambda: sotto.Vocabulary(["a", "b"], end_tokens=[2**32]))
        self.check_refused("step_budget", lambda: sotto.Matcher(grammar, vocabulary, step_budget=-1))
        self.check_refused("vocabulary_size", lambda: sotto.Sampler(2**64 + 4),
                           lambda: sotto.detect_watermark([1], 2**64 + 8))
        self.check_refused("list_bytes", lambda: sotto.Sampler(4, list_bytes=2**32 + 1024))
        with sotto.Sampler(4) as sampler:
            for name, value in {"history": [2**32], "allowed": [2**64 + 1], "generated_count": -1,
                                "token_limit": 2**64, "sequence": 2**32}.items():
                self.check_refused(name, lambda: sampler.sample([0.0] * 4, **{name: value}))

    def test_integers_are_whole(self):
        with MODEL.session(context_tokens=64) as session:
            for call in (lambda: session.prefill([1.0]), lambda: session.set_sampler(top_k=1.0),
                         lambda: session.set_sampler(stages=[1.0])):
                self.assertRaises(TypeError, call)

    def test_wrong_types_name_their_parameter(self):
        self.assertRaisesRegex(TypeError, "^overflow: ", lambda: MODEL.session(overflow="ring"))
        with MODEL.session(context_tokens=64) as session:
            self.assertRaisesRegex(TypeError, "^temperature: ", lambda: session.set_sampler(temperature="high"))
            self.assertRaisesRegex(TypeError, "^stop_strings is 'end'; it must be a list",
                                   lambda: session.set_stops(stop_strings="end"))


if __name__ == "__main__":
    unittest.main()
