"""Tests of lifetimes: no use after free, no leaks, and callbacks that call back or raise."""
import gc
import pathlib
import threading
import unittest

from support import MODEL, MODEL_PATH

import sotto
from sotto._resource import Block


def memory_in_use():
    """Returns the resident bytes of the process."""
    fields = pathlib.Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096


def kernel_flags(address):
    """Returns the kernel flags of the mapping at an address (proc(5), VmFlags)."""
    is_inside = False
    for line in pathlib.Path("/proc/self/smaps").read_text().splitlines():
        name, *fields = line.split()
        if "-" in name:
            begin, end = (int(bound, 16) for bound in name.split("-"))
            is_inside = begin <= address < end
        elif is_inside and name == "VmFlags:":
            return fields
    return []


class LifetimeTest(unittest.TestCase):
    def test_a_closed_session_refuses_every_call(self):
        session = MODEL.session(context_tokens=64)
        session.prefill("It was")
        logits = session.logits()
        first = logits[0]
        session.close()
        session.close()
        session.cancel()
        calls = [session.next, session.logits, session.hidden, session.reset, session.save, session.heal,
                 session.reset_timings, lambda: session.prefill([1]), lambda: session.rewind(0),
                 lambda: session.generate("a"), lambda: session.score("a"), lambda: session.embed("a"),
                 lambda: session.search(), lambda: session.restore(b""), lambda: session.set_sampler(top_k=1),
                 lambda: session.set_stops(max_tokens=1), lambda: session.set_matcher(None),
                 lambda: session.set_guide(None), lambda: session.set_speculation(), lambda: session.info,
                 lambda: session.timings, lambda: session.speculation_info, lambda: list(session.stream("a")),
                 lambda: session.set_grammar(sotto.Grammar.json())]
        for call in calls:
            self.assertRaises(sotto.ClosedError, call)
        self.assertEqual(logits[0], first)  # the view keeps its memory

    def test_closed_objects_refuse_calls(self):
        model = sotto.Model.open(MODEL_PATH)
        grammar = sotto.Grammar.regex("[a-z]+")
        vocabulary = sotto.Vocabulary(["a", "b"])
        matcher, sampler = sotto.Matcher(grammar, vocabulary), sotto.Sampler(8)
        for thing in (model, grammar, vocabulary, matcher, sampler):
            thing.close()
            self.assertTrue(thing.closed)
        for call in (lambda: model.info, lambda: model.tokenize("a"), lambda: model.session(), grammar.save,
                     lambda: sotto.Matcher(grammar), matcher.mask, lambda: sampler.sample([0.0] * 8),
                     lambda: sotto.Vocabulary(model), lambda: sotto.Sampler(4096, model=model),
                     lambda: sotto.Grammar.compile("root ::= <|end|>", vocabulary=vocabulary)):
            self.assertRaises(sotto.ClosedError, call)

    def test_a_session_keeps_what_it_needs(self):
        model = sotto.Model.open(MODEL_PATH)
        session = model.session(context_tokens=64, draft_tokens=4, features=sotto.Feature.GUIDE)
        prompt = model.tokenize("It was")
        guide, draft = model.session(context_tokens=64), model.session(context_tokens=64)
        guide.prefill(prompt)
        session.set_grammar(sotto.Grammar.regex("[a-z ]*"))
        session.set_guide(guide, scale=1.2)
        session.set_speculation(sources=sotto.DraftSource.SESSION, draft_session=draft)
        for used in (guide, draft):
            self.assertRaises(sotto.BusyError, used.next)
        for thing in (model, guide, draft):
            thing.close()
        del model, guide, draft
        gc.collect()
        self.assertTrue("".join(session.stream(prompt, max_tokens=10)))
        session.set_guide(None)
        session.set_grammar(sotto.Grammar.regex("[a-z ]*"))
        session.set_speculation()
        self.assertTrue("".join(session.stream("It was", max_tokens=10)))
        session.close()

    def test_a_matcher_belongs_to_one_session(self):
        vocabulary = sotto.Vocabulary(MODEL)
        matcher = sotto.Matcher(sotto.Grammar.choices(["yes", "no"]), vocabulary)
        with MODEL.session(context_tokens=64) as session, MODEL.session(context_tokens=64) as other:
            session.set_matcher(matcher)
            session.set_matcher(matcher)
            self.assertRaises(sotto.BusyError, matcher.mask)
            self.assertRaises(sotto.BusyError, other.set_matcher, matcher)
            self.assertIn("".join(session.stream("He said ")), ("yes", "no"))
            self.assertEqual(session.info.stop, sotto.Status.STOP_GRAMMAR)
            session.set_matcher(None)
            matcher.reset()
            other.set_matcher(matcher)
        self.assertIn(b"", [matcher.forced_text()])

    def test_callbacks_cannot_break_a_session(self):
        with MODEL.session(context_tokens=128) as session:
            def reenter(piece):
                session.next()
            self.assertRaises(sotto.BusyError, session.generate, "It was", 5, reenter)

            def fail(_):
                raise KeyError("mine")
            self.assertRaises(KeyError, session.generate, "It was", 5, fail)
            session.set_sampler(logits_callback=fail)
            self.assertRaises(KeyError, lambda: list(session.stream("a", 3)))
            session.set_sampler()
            self.assertEqual(session.generate("It was", 5, lambda piece: True), sotto.Status.STOP_CALLBACK)
            self.assertEqual(session.generate("a", 9, lambda _: session.close()), sotto.Status.STOP_CANCELLED)
            self.assertRaises(sotto.ClosedError, session.next)

    def test_cancel_from_another_thread(self):
        with MODEL.session(context_tokens=64, overflow=sotto.Overflow.RING) as session:
            session.set_sampler(ignore_end=True)
            started = threading.Event()
            thread = threading.Thread(daemon=True, target=lambda: (started.wait(), session.cancel()))
            thread.start()
            status = session.generate("It was", None, lambda _: started.set())
            thread.join()
            self.assertEqual(status, sotto.Status.STOP_CANCELLED)

    def test_close_from_another_thread(self):
        session = MODEL.session(context_tokens=64, overflow=sotto.Overflow.RING)
        session.set_sampler(ignore_end=True)
        started = threading.Event()
        thread = threading.Thread(daemon=True, target=lambda: (started.wait(), session.close()))
        thread.start()
        self.assertEqual(session.generate("It was", None, lambda _: started.set()), sotto.Status.STOP_CANCELLED)
        thread.join()
        self.assertRaises(sotto.ClosedError, session.next)
        self.assertIsNone(session._handle)

    def test_sessions_run_side_by_side(self):
        texts = {}

        def run(name):
            with MODEL.session(context_tokens=64) as session:
                session.set_sampler(seed=5)
                texts[name] = "".join(session.stream("It was", 20))

        threads = [threading.Thread(target=run, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(texts.values())), 1)
        self.assertEqual(len(texts), 4)

    @unittest.skipUnless(pathlib.Path("/proc/self/statm").exists(), "no /proc here")
    def test_nothing_leaks(self):
        def use():
            model = sotto.Model.open(MODEL_PATH)
            session = model.session(context_tokens=64, sequence_count=2)
            session.set_sampler(logits_callback=lambda logits: None, dry_breakers=["\n"] * 50)
            session.set_grammar(sotto.Grammar.regex("[a-z ]*"))
            self.assertTrue(list(session.stream("It was", 3)))
            session.search(max_tokens=3)
            self.assertRaises(sotto.SottoError, sotto.Grammar.compile, "root ::= (")

        for _ in range(3):
            use()
        gc.collect()
        before = memory_in_use()
        for _ in range(20):
            use()
        gc.collect()
        self.assertLess(memory_in_use() - before, 6 << 20)  # one model alone takes more

    def test_a_grammar_keeps_only_its_image(self):
        schema = {"type": "array", "items": {"enum": list(range(100))}, "uniqueItems": True, "minItems": 2,
                  "maxItems": 99}
        before = memory_in_use()
        grammar = sotto.Grammar.json_schema(schema)
        self.assertLess(memory_in_use() - before, 16 << 20)  # the compilation needs more
        self.assertEqual(grammar.size, len(grammar.save()))

    @unittest.skipUnless(pathlib.Path("/sys/kernel/mm/transparent_hugepage").exists(), "no huge pages here")
    def test_large_blocks_ask_for_huge_pages(self):
        small, large = Block((2 << 20) - 1), Block(4 << 20)
        self.assertEqual(large.address % (2 << 20), 0)
        self.assertIn("hg", kernel_flags(large.address))
        self.assertIn("hg", kernel_flags(large.address + large.size - 1))
        self.assertNotIn("sh", kernel_flags(large.address))  # shared memory rarely gets any
        self.assertNotIn("hg", kernel_flags(small.address))
        large.view(large.address, large.size, "B")[-1] = 7
        self.assertEqual(large.view(large.address + large.size - 1, 1, "B")[0], 7)


if __name__ == "__main__":
    unittest.main()
