"""Tests of every part of the Python interface."""
import asyncio
import concurrent.futures
import json
import math
import pathlib
import re
import runpy
import subprocess
import sys
import tempfile
import threading
import unittest

from support import MODEL, MODEL_PATH, PACKAGE

import sotto


class ModelTest(unittest.TestCase):
    def test_models(self):
        messages = []
        data = pathlib.Path(MODEL_PATH).read_bytes()
        with sotto.Model.from_bytes(data, isa=sotto.Isa.REFERENCE, verify_checksums=False,
                                    copy_weights=True, log=lambda level, text: messages.append(text)) as model:
            self.assertEqual(model.info.isa, sotto.Isa.REFERENCE)
            self.assertEqual(sotto.isa_name(model.info.isa), "reference")
            self.assertEqual(sotto.model_memory_size(data, isa=sotto.Isa.REFERENCE, copy_weights=True),
                             model.memory_bytes)
            self.assertGreater(model.memory_bytes, 4 << 20)
            with model.session(context_tokens=32) as session, MODEL.session(context_tokens=32) as other:
                self.assertEqual(list(session.stream("It was", 5)), list(other.stream("It was", 5)))
                self.assertEqual(session.info.memory_bytes, model.session_memory_size(context_tokens=32))
        self.assertEqual(sotto.version()[0], 1)
        self.assertEqual(MODEL.token_bytes(MODEL.tokenize(" time")[0]), b" time")
        end = MODEL.info.end_of_text_token
        self.assertEqual(MODEL.tokenize("<|endoftext|>", special=True), [end])
        self.assertEqual(MODEL.token_flags(end), sotto.TokenFlag.SPECIAL | sotto.TokenFlag.END_OF_TEXT)
        self.assertEqual(MODEL.text(sotto.ModelTextKind.CHAT_TEMPLATE), "")
        self.assertTrue(MODEL.text(sotto.ModelTextKind.NAME))
        self.assertEqual(MODEL.detokenize([]), b"")
        with self.assertRaisesRegex(sotto.SottoError, r"^tokens\[1\] is 99999; it must be at least 0 and less than 4096$"):
            MODEL.detokenize([11, 99999])
        self.assertRegex(repr(MODEL), r"^<sotto.Model: 6 layers of 256, 4096 tokens>$")

    def test_errors_of_files_name_the_file_once(self):
        self.assertRaisesRegex(FileNotFoundError, "missing.sotto", sotto.Model.open, "missing.sotto")
        with tempfile.TemporaryDirectory() as directory:
            self.assertRaisesRegex(IsADirectoryError, directory, sotto.Model.open, directory)
            for name, data in (("empty", b""), ("damaged", b"no model")):
                path = pathlib.Path(directory, name)
                path.write_bytes(data)
                with self.assertRaisesRegex(sotto.SottoError, f"^{path}: ") as raised:
                    sotto.Model.open(path)
                self.assertEqual(raised.exception.status, sotto.Status.MODEL_CORRUPT)
        self.assertRaisesRegex(sotto.SottoError, "^the text is not UTF-8$", MODEL.tokenize, b"\xff")


class SessionTest(unittest.TestCase):
    def session(self, **params):
        session = MODEL.session(**{"context_tokens": 64, **params})
        self.addCleanup(session.close)
        return session

    def test_embeddings(self):
        session, size = self.session(), MODEL.info.embedding_size
        rows = [math.sin(i) / 8 for i in range(3 * size)]
        self.assertEqual(session.prefill_embeddings(rows), sotto.Status.OK)
        self.assertEqual(session.info.token_count, 3)
        self.assertTrue(all(math.isfinite(logit) for logit in session.logits()))
        self.assertEqual(session.generate("", 4), sotto.Status.STOP_MAX_TOKENS)
        self.assertRaisesRegex(sotto.SottoError, "before all tokens", session.prefill_embeddings, rows)
        self.assertRaisesRegex(ValueError, f"it must have {size} per row", session.prefill_embeddings, rows[1:])
        self.assertRaisesRegex(sotto.SottoError, "begins with embeddings cannot be saved", session.save)

    def test_probabilities(self):
        session = self.session()
        session.set_sampler(temperature=0, log_probabilities=True, alternative_count=3, statistics=True)
        session.prefill("Once upon a")
        logits = list(session.logits())
        piece = session.next()
        self.assertEqual(logits.index(max(logits)), piece.token)
        total = math.log(sum(math.exp(value - max(logits)) for value in logits))
        self.assertAlmostEqual(piece.log_probability, -total, places=4)
        self.assertEqual(piece.alternatives[0], (piece.token, piece.log_probability))
        self.assertEqual(len(piece.alternatives), 3)
        self.assertLessEqual(piece.sampled_log_probability, 0)
        entropy = total + sum(math.exp(value - max(logits) - total) * (max(logits) - value) for value in logits)
        self.assertAlmostEqual(piece.entropy, entropy, places=4)
        self.assertAlmostEqual(piece.effective_vocabulary / math.exp(entropy), 1, places=4)
        self.assertEqual((piece.kept_count, piece.repetitiveness), (1, 0))
        self.assertGreater(piece.elapsed_ns, 0)
        self.assertEqual(len(session.hidden()), MODEL.info.embedding_size)

    def test_lists_of_the_sampler(self):
        session = self.session(context_tokens=256)
        first = [piece.token for piece in session.pieces("It was", 6)]
        session.reset()
        session.set_sampler(temperature=0, logit_bias=[(first[0], -math.inf)], suppressed_tokens=first,
                            bad_words=[first[:2]], sequence_bias=[(first[:2], -5.0)], forced_prefix=[11, 12],
                            stages=[sotto.Stage.BIAS, sotto.Stage.SEQUENCE_BIAS, sotto.Stage.SUPPRESS,
                                    sotto.Stage.BAD_WORDS, sotto.Stage.FORCED, sotto.Stage.TEMPERATURE],
                            top_k=0, top_p=1, min_p=0)
        second = [piece.token for piece in session.pieces("It was", 6)]
        self.assertEqual(second[:2], [11, 12])
        self.assertFalse(set(first) & set(second[2:]))
        with self.assertRaisesRegex(sotto.SottoError, "stage"):
            session.set_sampler(stages=[sotto.Stage.TOP_K] * 2)

    def test_presets_of_the_sampler(self):
        chat = sotto.SamplerParams.preset("chat")
        self.assertEqual(chat, sotto.SamplerParams.preset(sotto.Preset.CHAT))
        self.assertEqual((chat.temperature, chat.top_p, chat.top_k), (0.7, 0.9, None))
        self.session().set_sampler(chat)
        with self.assertRaises(KeyError):
            sotto.SamplerParams.preset("poetry")

    def test_a_limit_of_no_tokens(self):
        session = self.session()
        self.assertEqual(list(session.pieces("It was", 0)), [])
        self.assertEqual(session.info.stop, sotto.Status.STOP_MAX_TOKENS)
        self.assertEqual(session.info.token_count, len(MODEL.tokenize("It was")))
        self.assertGreater(len(list(session.pieces("It was", None))), 2)

    def test_what_a_session_shows(self):
        session = self.session()
        session.prefill("It was")
        self.assertEqual(repr(session), "<sotto.Session: 2 tokens, context of 64>")
        self.assertRaisesRegex(TypeError, "must be a Grammar", session.set_grammar, 'root ::= "a"')
        session.close()
        self.assertEqual(repr(session), "<sotto.Session: the session is closed>")

    def test_logits_callback(self):
        session = self.session()

        def only_seven(logits):
            for token in range(len(logits)):
                logits[token] = 0 if token == 7 else -math.inf

        session.set_sampler(logits_callback=only_seven)
        self.assertEqual([piece.token for piece in session.pieces("It was", 4)], [7] * 4)

    def test_logits_processor(self):
        session = self.session(sequence_count=3)
        prompt, seen = MODEL.tokenize("It was"), set()

        def counting(tokens, sequence, logits):  # each token is the one before it plus 1
            seen.add(sequence)
            self.assertEqual(tokens[:len(prompt)], prompt)
            logits[tokens[-1] + 1] = math.inf

        session.set_sampler(logits_processor=counting)
        first = prompt[-1] + 1
        self.assertEqual([piece.token for piece in session.pieces(prompt, 4)], list(range(first, first + 4)))
        session.reset()
        session.prefill(prompt)
        for sequence in session.search(mode=sotto.SearchMode.SAMPLE, max_tokens=4):
            self.assertEqual(sequence.tokens, list(range(first, first + 4)))
        self.assertEqual(seen, {0, 1, 2})

        def fail(tokens, sequence, logits):
            raise RuntimeError("mine")

        session.set_sampler(logits_processor=fail)
        self.assertRaisesRegex(RuntimeError, "mine", session.next)

    def test_stops_and_rewinding(self):
        session = self.session()
        session.set_stops(stop_tokens=list(range(4096)))
        self.assertEqual(list(session.pieces("It was")), [])
        self.assertEqual(session.info.stop, sotto.Status.STOP_TOKEN)
        session.set_stops(max_time_ns=1, banned_strings=["the"], repetition_limit=0.9, repetition_window=16)
        list(session.pieces("It was"))
        self.assertEqual(session.info.stop, sotto.Status.STOP_TIME)
        session.set_stops(max_tokens=3)
        session.reset()
        texts = ["".join(session.stream("It was")), "".join(session.stream(max_tokens=2))]
        session.rewind(len(MODEL.tokenize("It was")))
        self.assertEqual("".join(session.stream()), texts[0])
        self.assertEqual(session.info.token_count, len(MODEL.tokenize("It was")) + 3)

    def test_a_limit_counts_from_its_call(self):
        session = self.session()
        session.set_sampler(ignore_end=True)
        whole = [piece.token for piece in session.pieces("It was", 9)]
        session.reset()
        session.prefill("It was")
        found = [session.next().token for _ in range(4)]
        for limit in (3, 2):
            session.set_limit(limit)
            while (piece := session.next()) is not None:
                found.append(piece.token)
            self.assertEqual(session.info.stop, sotto.Status.STOP_MAX_TOKENS)
        self.assertEqual(found, whole)
        session.set_limit(None)
        self.assertIsNotNone(session.next())

    def test_a_second_text_needs_the_grammar_again(self):
        session = self.session()
        session.set_grammar(sotto.Grammar.choices(["yes", "no"]))
        for _ in range(2):
            self.assertIn("".join(session.stream("He said ")), ("yes", "no"))
            with self.assertRaisesRegex(sotto.SottoError, "set the grammar again or reset the session"):
                list(session.stream("She said "))
            session.reset()

    def test_a_text_is_complete_within_the_tokens_of_its_grammar(self):
        session = self.session()
        schema = '{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}'
        session.set_grammar(sotto.Grammar.json_schema(schema), finish_within=20)
        self.assertIn("name", json.loads("".join(session.stream("A person: ", max_tokens=20))))
        self.assertEqual(session.info.stop, sotto.Status.STOP_GRAMMAR)

    def test_what_lets_a_text_go_on(self):
        session = self.session(context_tokens=256)
        session.set_sampler(ignore_end=True)

        def fail(_):
            raise KeyError("mine")

        def fail_to_generate():
            self.assertRaises(KeyError, session.generate, "", 3, fail)

        ways = {"generate": fail_to_generate, "score": lambda: session.score([11]),
                "embed": lambda: session.embed([11]), "set_stops": session.set_stops,
                "set_limit": lambda: session.set_limit(5),
                "set_grammar": lambda: session.set_grammar(sotto.Grammar.regex("[a-z ]*")),
                "set_matcher": lambda: session.set_matcher(None)}
        for name, go_on in ways.items():
            with self.subTest(name=name):
                self.assertEqual(session.generate("It was", 3), sotto.Status.STOP_MAX_TOKENS)
                self.assertIsNone(session.next())
                go_on()
                stop = sotto.Status.STOP_CALLBACK if name == "generate" else sotto.Status.OK
                self.assertEqual(session.info.stop, stop)
                self.assertIsNotNone(session.next())

    def test_a_text_goes_on_behind_its_grammar(self):
        session = self.session()
        session.set_grammar(sotto.Grammar.choices(["yes", "no"]))
        self.assertEqual(session.generate("He said "), sotto.Status.STOP_GRAMMAR)
        session.set_grammar(None)
        self.assertIsNotNone(session.next())

    def test_a_cancelled_text_goes_on(self):
        session, other = self.session(), self.session()
        whole = [piece.token for piece in other.pieces("It was", 8)]
        found = []
        for piece in session.pieces("It was"):
            found.append(piece.token)
            if len(found) == 3:
                session.cancel()
        self.assertEqual((len(found), session.info.stop), (3, sotto.Status.STOP_CANCELLED))
        found += [session.next().token for _ in range(5)]
        self.assertEqual((found, session.info.stop), (whole, sotto.Status.OK))
        session.reset()
        session.cancel()
        self.assertEqual(list(session.pieces("It was")), [])
        self.assertEqual(session.info.stop, sotto.Status.STOP_CANCELLED)

    def test_pieces_end_behind_text_that_a_cancellation_lets_go(self):
        session = self.session()
        whole = "".join(session.stream("It was", 8))
        session.reset()
        session.set_stops(stop_strings=[whole + "?"])
        pieces = session.pieces("It was")
        next(pieces)
        session.cancel()
        self.assertEqual([piece.token for piece in pieces], [-1])
        self.assertEqual(session.info.stop, sotto.Status.STOP_CANCELLED)

    def test_states(self):
        session, other = self.session(), self.session()
        list(session.pieces("It was", 5))
        state = session.save()
        session.fork_into(other)
        rest = "".join(session.stream(max_tokens=5))
        self.assertEqual("".join(other.stream(max_tokens=5)), rest)
        other.restore(state)
        self.assertEqual("".join(other.stream(max_tokens=5)), rest)
        with self.assertRaises(sotto.SottoError) as raised:
            other.restore(state[:-1])
        self.assertEqual(raised.exception.status, sotto.Status.STATE_CORRUPT)

    def test_scores_healing_and_timings(self):
        session = self.session()
        score, each = session.score("It was a dark night")
        self.assertTrue(math.isnan(each[0]))
        self.assertAlmostEqual(sum(each[1:]), score.log_probability, places=3)
        self.assertAlmostEqual(score.perplexity, math.exp(-score.log_probability / score.token_count), places=3)
        session.reset()
        self.assertTrue("".join(session.stream("Once upon a tim", 1, heal=True)).startswith("e"))
        self.assertGreater(session.timings.prefill_tokens, 0)
        session.reset_timings()
        self.assertEqual(session.timings.prefill_tokens, 0)

    def test_searches(self):
        session = self.session(sequence_count=4, sequence_tokens=8, features=sotto.Feature.HIDDEN_HISTORY)
        session.prefill("She looked")
        steps = []
        found = session.search(max_tokens=5, phrases=[MODEL.tokenize(" at"), MODEL.tokenize(" up")],
                               phrase_groups=[0, 0], on_step=lambda sequence, token: steps.append(token))
        self.assertTrue(all({MODEL.tokenize(" at")[0], MODEL.tokenize(" up")[0]} & set(one.tokens) for one in found))
        self.assertTrue(steps)
        found = session.search(mode=sotto.SearchMode.SAMPLE, rerank=sotto.Rerank.CALLBACK, max_tokens=4,
                               similarity=lambda a, b: float(len(set(a) & set(b))))
        self.assertEqual(sorted((one.score for one in found), reverse=True), [one.score for one in found])
        self.assertEqual(len(session.search(mode=sotto.SearchMode.CONTRASTIVE, max_tokens=4)), 1)
        self.assertRaises(ValueError, session.search, phrases=[[1]], phrase_groups=[1, 2])
        self.assertRaises(ZeroDivisionError, session.search, max_tokens=4, on_step=lambda *_: 1 // 0)

    def test_conversations(self):
        with MODEL.session(context_tokens=128) as session:
            chat = sotto.Chat(session, sotto.ChatFormat.PLAIN, reply_tokens=16)
            chat.add(sotto.ChatRole.SYSTEM, "Tell stories.")
            chat.add(sotto.ChatRole.USER, "Once upon a time?")
            reply = chat.reply(8)
            self.assertEqual((chat.info.message_count, chat.info.turn_count), (3, 1))
            state = chat.save()
            chat.undo_reply()
            self.assertEqual(chat.reply(8), reply)
            self.assertEqual(chat.info.evaluated_tokens, 1)
            with self.assertRaisesRegex(sotto.SottoError, "last message is a reply"):
                chat.reply()
            chat.undo()
            self.assertEqual(chat.info.turn_count, 0)
            chat.restore(state)
            self.assertEqual(chat.save(), state)
            chat.set_stops(max_tokens=2)
            chat.add(sotto.ChatRole.USER, "And then?")
            chat.reply()
            self.assertEqual(chat.session.info.stop, sotto.Status.STOP_MAX_TOKENS)
            with self.assertRaisesRegex(sotto.SottoError, "no part contains"):
                sotto.Chat(session, "{user}", reply_tokens=16)
            chat.reset()
            self.assertEqual(chat.info.message_count, 0)

    def test_a_stop_string_inside_the_last_token_of_a_reply(self):
        with MODEL.session(context_tokens=128) as session:
            chat = sotto.Chat(session, "User: {user}\n{|}Model:{assistant}\n", reply_tokens=16)
            token = MODEL.tokenize(" you")
            self.assertEqual(len(token), 1)
            session.set_sampler(forced_prefix=token)
            chat.set_stops(stop_strings=["u"])
            chat.add(sotto.ChatRole.USER, "Who?")
            self.assertEqual(chat.reply(1), " yo")
            # Several tokens spell the text, and all of them are the reply.
            self.assertEqual(chat.info.history_bytes, 4 + 4 * (session.info.token_count - chat.info.prompt_tokens))
            self.assertGreater(session.info.token_count, chat.info.prompt_tokens + 1)

    def test_stops_that_leave_nothing_to_give(self):
        session = self.session(context_tokens=16, sequence_count=2, sequence_tokens=4)
        session.set_sampler(ignore_end=True)

        def check_raised(reason, call, *arguments):
            with self.subTest(call=call.__name__):
                with self.assertRaisesRegex(sotto.SottoError, reason.name) as raised:
                    call(*arguments)
                self.assertEqual(raised.exception.status, reason)

        for call in (session.score, session.embed, session.prefill, session.generate):
            with self.assertRaisesRegex(sotto.SottoError, "^17 tokens do not fit a context of 16; ") as raised:
                call([11] * 17)
            self.assertEqual(raised.exception.status, sotto.Status.PROMPT_TOO_LONG)
        with self.assertRaisesRegex(sotto.SottoError, "prefill a prompt first"):
            session.next()
        session.prefill("It was")
        answers = {session.logits: MODEL.vocabulary_size, session.hidden: MODEL.info.embedding_size, session.search: 2}
        for call, size in answers.items():
            session.next()
            session.cancel()
            check_raised(sotto.Status.STOP_CANCELLED, call)
            self.assertEqual(len(call()), size)
        for call in (session.score, session.embed):
            session.cancel()
            check_raised(sotto.Status.STOP_CANCELLED, call, [11, 12])
        session.generate()
        for call in answers:
            check_raised(sotto.Status.STOP_CONTEXT_FULL, call)

    def test_a_search_that_is_stopped_gives_what_it_has(self):
        session = self.session(sequence_count=2)
        session.prefill("It was")
        found = session.search(on_step=lambda *_: True)
        self.assertEqual([len(one.tokens) for one in found], [1, 1])
        found = session.search(on_step=lambda *_: session.cancel())
        self.assertEqual({one.stop for one in found}, {sotto.Status.STOP_CANCELLED})

    def test_speculation(self):
        plain, fast = self.session(), self.session(draft_tokens=4)
        fast.set_speculation(sources=sotto.DraftSource.CALLBACK | sotto.DraftSource.LOOKUP,
                             draft=lambda tokens, hidden, capacity: [tokens[-1]] * capacity)
        for session in (plain, fast):
            session.set_sampler(temperature=0)
        self.assertEqual("".join(plain.stream("It was", 30)), "".join(fast.stream("It was", 30)))
        self.assertGreater(fast.speculation_info.proposed_count, 0)


class AsyncTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.session = MODEL.session(context_tokens=64, overflow=sotto.Overflow.RING)
        self.addCleanup(self.session.close)
        self.session.set_sampler(ignore_end=True)

    async def test_two_sessions_side_by_side(self):
        async def text(session):
            return "".join([text async for text in session.astream("It was", 10)])

        with MODEL.session(context_tokens=64) as other:
            other.set_sampler(ignore_end=True)
            first, second = await asyncio.gather(text(self.session), text(other))
        self.assertEqual(first, second)
        self.assertEqual(self.session.info.stop, sotto.Status.STOP_MAX_TOKENS)

    async def test_cancelling_the_task_stops_the_session(self):
        started = asyncio.Event()

        async def run():
            async for _ in self.session.astream("It was"):  # without an end
                started.set()

        task = asyncio.ensure_future(run())
        await started.wait()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertEqual(self.session.info.stop, sotto.Status.STOP_CANCELLED)
        self.session.reset()
        self.assertEqual(len(list(self.session.pieces("It was", 5))), 5)  # it is idle and no longer cancelled

    async def test_a_cancelled_step_that_fails_leaves_no_cancellation(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        loop = asyncio.get_running_loop()
        loop.set_default_executor(concurrent.futures.ThreadPoolExecutor(1))
        loop.run_in_executor(None, go_on.wait)  # the only thread
        self.session.prefill("It was")

        async def run():
            async for _ in self.session.astream([-1]):
                self.fail("a token of -1 was evaluated")

        task = asyncio.ensure_future(run())
        await asyncio.sleep(0)  # the first step waits for the thread
        task.cancel()
        loop.call_later(0.01, go_on.set)
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertEqual(len(list(self.session.pieces("It was", 5))), 5)

    async def test_errors_and_early_ends(self):
        with self.assertRaises(sotto.SottoError):
            async for _ in self.session.astream():
                pass
        async for _ in self.session.astream("It was"):
            break
        self.assertEqual(len(list(self.session.pieces(max_tokens=3))), 3)


class GrammarTest(unittest.TestCase):
    def test_grammars(self):
        grammars = [(sotto.Grammar.compile('root ::= "a"+'), "aa", "b"),
                    (sotto.Grammar.compile('start ::= "a"', root="start"), "a", "aa"),
                    (sotto.Grammar.regex("[0-9]{2}"), "42", "4a"),
                    (sotto.Grammar.choices(["yes", "no"]), "no", "n"),
                    (sotto.Grammar.json_schema({"type": "integer"}), "17", '"x"'),
                    (sotto.Grammar.json(), "[1, {}]", "[1"), (sotto.Grammar.json_object(), "{}", "[]"),
                    (sotto.Grammar.number(1, 9, integer=True), "5", "10"),
                    (sotto.Grammar.tools([{"name": "f", "parameters": {"type": "object", "properties": {}}}]),
                     '{"name": "f", "arguments": {}}', "f()")]
        for grammar, right, wrong in grammars:
            with self.subTest(right=right):
                matcher = sotto.Matcher(sotto.Grammar.load(grammar.save()))
                self.assertTrue(matcher.matches(right))
                self.assertFalse(matcher.matches(wrong))
        self.assertRaises(sotto.SottoError, sotto.Grammar.load, b"nothing")

    def test_a_matcher_over_any_vocabulary(self):
        words = ["a", "b", "ab", "c", "</s>"]
        vocabulary = sotto.Vocabulary(words, special=[4], end_tokens=[4])
        matcher = sotto.Matcher(sotto.Grammar.compile('root ::= "ab"+'), vocabulary, sequence_count=2)
        self.assertEqual(matcher.allowed_tokens(), [0, 2])
        matcher.accept_token(0)
        self.assertEqual(list(matcher.mask()), [0b10])
        self.assertEqual(matcher.forced_text(), b"b")
        matcher.fork(0, 1)
        matcher.accept_text("b", sequence=1)
        self.assertTrue(matcher.info(1).may_end)
        self.assertEqual(matcher.allowed_tokens(1), [0, 2, 4])
        self.assertEqual(matcher.test("bab"), (True, True))
        matcher.rewind(1)
        self.assertEqual(matcher.info().token_count, 0)
        matcher.reset(1)
        self.assertRaises(sotto.SottoError, matcher.accept_token, 3)


class SamplerTest(unittest.TestCase):
    def test_the_chain_without_a_session(self):
        logits = [1.0, 2.0, 3.0, 2.5]
        with sotto.Sampler(4, top_p=0.8, top_k=0, min_p=0, temperature=1) as sampler:
            left = sampler.apply(logits)
            self.assertEqual(list(left), [1, 2, 3])
            self.assertAlmostEqual(sum(left.values()), 1, places=5)
            self.assertIn(sampler.sample(logits, history=[0, 1], generated_count=1), left)
            self.assertEqual(sampler.sample(logits, allowed=[0b1]), 0)
            sampler.set(temperature=0, logits_callback=lambda values: values.__setitem__(0, 9.0))
            self.assertEqual(sampler.sample(logits), 0)
            self.assertRaises(ValueError, sampler.sample, logits[:2])

    def test_watermarks(self):
        mark = sotto.WatermarkParams(scheme=sotto.WatermarkScheme.LEFT_HASH, key=7, delta=6)
        with MODEL.session(context_tokens=256) as session:
            session.set_sampler(watermark=mark)
            tokens = [piece.token for piece in session.pieces("It was", 80)]
        size = MODEL.info.vocabulary_size
        self.assertTrue(sotto.detect_watermark(tokens, size, mark).is_marked)
        self.assertFalse(sotto.detect_watermark(tokens, size, mark, key=8).is_marked)


class LogitsProcessorTest(unittest.TestCase):
    def test_rows_follow_the_grammar_and_beams_may_be_exchanged(self):
        try:
            import numpy
        except ModuleNotFoundError:
            self.skipTest("numpy is not installed")
        example = runpy.run_path(str(PACKAGE / "examples" / "logits_processor.py"))
        pieces, end = [*(bytes([byte]) for byte in range(256)), b'": ', b"</s>"], 257
        vocabulary = sotto.Vocabulary(pieces, special=[end], end_tokens=[end])
        grammar = sotto.Grammar.json_schema(example["SCHEMA"])
        processor = example["GrammarLogitsProcessor"](grammar, vocabulary, finish_within=80)
        random, prompt = numpy.random.default_rng(4), [5, 6, 7]
        rows = [list(prompt), list(prompt)]
        for _ in range(90):
            scores = processor(numpy.array(rows), random.normal(size=(2, 260)).astype(numpy.float32))
            self.assertTrue(numpy.isneginf(scores[:, 258:]).all())
            rows = [row + [int(token)] for row, token in zip(rows, scores.argmax(1))]
            if random.random() < 0.2:
                rows = [rows[1], rows[1] if random.random() < 0.5 else rows[0]]
        for row in rows:
            text = b"".join(pieces[token] for token in row[3:row.index(end)])
            self.assertEqual(set(json.loads(text)), {"name", "age"})


class PackageTest(unittest.TestCase):
    def test_the_wheel_streams_text_where_it_is_installed(self):
        with tempfile.TemporaryDirectory() as directory:
            run = lambda *command, **options: subprocess.run(  # noqa: E731
                command, check=True, capture_output=True, text=True, **options)
            wheel = run(sys.executable, "build_backend/sotto_build.py", f"{directory}/dist", cwd=PACKAGE).stdout.split()[-1]
            self.assertRegex(wheel, rf"^sotto-{re.escape(sotto.__version__)}-py3-none-\w+\.whl$")
            run(sys.executable, "-m", "venv", "--without-pip", f"{directory}/venv")
            python = f"{directory}/venv/bin/python"
            pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps"]
            try:
                run(*pip, f"{directory}/dist/{wheel}")
            except subprocess.CalledProcessError:  # pip is missing or lacks --python; a wheel is a zip archive
                site = next(pathlib.Path(directory).glob("venv/lib/python*/site-packages"))
                run(sys.executable, "-m", "zipfile", "-e", f"{directory}/dist/{wheel}", str(site))
            clean = {"PATH": "/usr/bin:/bin"}  # the library is the wheel's own
            for example in ("stream.py", "json_output.py"):
                program = [python, str(PACKAGE / "examples" / example)]
                told = run(*program, MODEL_PATH, "It was", env=clean).stdout
                self.assertGreater(len(told), 20)
                for arguments, code, words in (([], 2, "usage: "), (["none", "x"], 1, "No such file or directory")):
                    done = subprocess.run([*program, *arguments], env=clean, capture_output=True, text=True)
                    self.assertEqual(done.returncode, code)
                    self.assertIn(words, done.stderr)
                    self.assertNotIn("Traceback", done.stderr)
                with subprocess.Popen([*program, MODEL_PATH, "It was"], env=clean, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE) as process:
                    process.stdout.close()
                    self.assertEqual(process.stderr.read(), b"")
            where = run(python, "-c", "import sotto; print(sotto.__file__)", env=clean, cwd=directory).stdout
            self.assertIn("site-packages", where)

    def test_the_readme_streams_text(self):
        readme = (PACKAGE / "README.md").read_text(encoding="utf-8")
        program = readme.split("```python\n")[1].split("```")[0]
        self.assertLessEqual(len([line for line in program.splitlines() if line.strip()]), 10)
        done = subprocess.run([sys.executable, "-c", program, MODEL_PATH, "It was"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, "Status.STOP_MAX_TOKENS\n"))
        self.assertGreater(len(done.stdout), 20)


if __name__ == "__main__":
    unittest.main()
