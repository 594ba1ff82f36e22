"""Sessions: streams of text that a model continues."""
from __future__ import annotations

import asyncio
import contextlib
import ctypes
import math
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ._callbacks import Callbacks, Piece
from ._callbacks import Sequence as FoundSequence
from ._convert import Filler, as_bytes, changed, integer, read, tokens_in
from ._library import BusyError, ClosedError, check, check_session, check_whole, lib
from ._resource import Block, Exclusive, Resource, Shared
from .generated import abi, info
from .generated.enums import Pooling, Status
from .generated.params import (GuideParams, SamplerParams, SearchParams, SessionParams, SpeculationParams,
                               StopParams, Text)
from .grammar import Grammar, Matcher, Vocabulary

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .generated.fields import (GuideFields, MatcherFields, SamplerFields, SearchFields, SessionFields,
                                   SpeculationFields, StopFields)
    from .model import Model


def limit_of(max_tokens: int | None) -> int:
    """Converts a limit on tokens, which may be None, to the library's form."""
    return ctypes.c_size_t(-1).value if max_tokens is None else integer(abi.size, max_tokens, "max_tokens")


class Session(Resource):
    """A stream of text that a model continues. One thread at a time may use it; only cancel and close may be called
    from another. `info.stop` says why the newest text ended."""

    def __init__(self, model: Model, params: SessionParams | None = None, **changes: Unpack[SessionFields]):
        error, size, handle, filler = abi.Error(), ctypes.c_size_t(), ctypes.c_void_p(), Filler()
        given = filler.fill(abi.SessionParams, changed(SessionParams, params, changes))
        self.model = model._retain()
        try:
            check(lib.sotto_session_memory_size(model._handle, given, size, error), error)
            memory = Block(size.value)
            check(lib.sotto_session_init(model._handle, given, memory.address, memory.size, handle, error), error)
        except BaseException:
            model._release()
            raise
        self._memory, self._handle = memory, handle
        self._callbacks, self._kept, self._attachments = Callbacks(), {}, {}
        self._embedding_size = model.info.embedding_size
        super().__init__()

    def __repr__(self) -> str:
        try:
            info = self.info
        except (BusyError, ClosedError) as failure:
            return f"<sotto.Session: {failure}>"
        return f"<sotto.Session: {info.token_count} tokens, context of {info.context_tokens}>"

    # ---- Parameters

    def set_sampler(self, params: SamplerParams | None = None, **changes: Unpack[SamplerFields]) -> None:
        """Sets the sampler: `session.set_sampler(temperature=0.7, top_p=0.9, seed=1)`."""
        params = changed(SamplerParams, params, changes)
        self._set("sampler", lib.sotto_session_set_sampler, abi.SamplerParams, params,
                  logits_callback=self._callbacks.logits(params.logits_callback, self._memory),
                  logits_processor=self._callbacks.processor(params.logits_processor, self._memory))

    def set_speculation(self, params: SpeculationParams | None = None, **changes: Unpack[SpeculationFields]) -> None:
        """Sets speculative decoding: `session.set_speculation(sources=DraftSource.LOOKUP)`."""
        params = changed(SpeculationParams, params, changes)
        draft = params.draft_session
        with self._new_attachment("draft", draft):
            self._set("speculation", lib.sotto_session_set_speculation, abi.SpeculationParams, params,
                      draft_session=draft and draft._handle, draft=self._callbacks.draft(params.draft))

    def set_guide(self, guide: Session | None, params: GuideParams | None = None,
                  **changes: Unpack[GuideFields]) -> None:
        """Sets a second session as the guide of this one. None removes it."""
        with self._new_attachment("guide", guide):
            self._set("guide", lib.sotto_session_set_guide, abi.GuideParams, changed(GuideParams, params, changes),
                      first=(guide and guide._handle,))

    def set_matcher(self, matcher: Matcher | None) -> None:
        """Constrains the generated text to continue sequence 0 of a matcher. None removes it."""
        error = abi.Error()
        with self._new_attachment("matcher", matcher), Exclusive(self) as handle:
            check(lib.sotto_session_set_matcher(handle, matcher and matcher._handle, error), error)

    def set_grammar(self, grammar: Grammar | None, **changes: Unpack[MatcherFields]) -> None:
        """Constrains the generated text by a grammar, through a new matcher. None removes it. Before another text, set
        the grammar again or call reset."""
        if grammar is None:
            return self.set_matcher(None)
        if not isinstance(grammar, Grammar):
            raise TypeError(f"the grammar is {grammar!r}; it must be a Grammar, such as Grammar.compile(source)")
        changes.setdefault("sequence_count", self.info.matcher_sequence_count)
        with Shared(self), Vocabulary.of_session(self) as vocabulary:
            with Matcher(grammar, vocabulary, **changes) as matcher:
                self.set_matcher(matcher)

    def _set(self, what, function, kind, params, first=(), **special) -> None:
        filler, error = Filler(), abi.Error()
        given = filler.fill(kind, params, **special)
        with Exclusive(self) as handle:
            check(function(handle, *first, given, error), error)
            self._kept[what] = filler

    def _new_attachment(self, what, resource):
        return _NewAttachment(self._attachments, what, resource)

    # ---- The stream

    def prefill_embeddings(self, embeddings: Sequence[float]) -> Status:
        """Begins an empty stream with rows of embedding_size floats instead of tokens."""
        count, rest = divmod(len(embeddings), self._embedding_size)
        if rest:
            raise ValueError(f"embeddings has {len(embeddings)} floats; it must have {self._embedding_size} per row")
        return self._evaluate(lib.sotto_session_prefill_embeddings,
                              (ctypes.c_float * max(len(embeddings), 1))(*embeddings), count)

    def _evaluate(self, function, *arguments) -> Status:
        """Calls a function that evaluates tokens; the next text begins after them."""
        with Exclusive(self) as handle:
            return Status(check_session(handle, function(handle, *arguments)))

    def next(self) -> Piece | None:
        """Generates one token. Returns None at a stop; if text was withheld, a piece without a token comes first. After
        a cancellation, the next call continues the text; after another stop it does not."""
        piece = ctypes.POINTER(abi.Piece)()
        with Exclusive(self) as handle:
            return self._step(handle, lib.sotto_session_next(handle, piece), piece)

    def _step(self, handle, status, piece) -> Piece | None:
        self._callbacks.raise_first()
        check_session(handle, status)
        has_piece = status == Status.OK or piece.contents.text_size > 0
        return Piece.of(piece.contents) if has_piece else None

    @staticmethod
    def next_of(sessions: Sequence[Session]) -> list[Piece | None | Exception]:
        """Generates one token in each of several sessions of the same model, in one batch, which is faster than one
        session after the other. Returns what `next` would return in each session, or the exception that it would
        raise."""
        with contextlib.ExitStack() as stack:
            handles = [stack.enter_context(Exclusive(session)) for session in sessions]
            pieces = (ctypes.POINTER(abi.Piece) * len(handles))()
            statuses, error = (abi.i32 * len(handles))(), abi.Error()
            check(lib.sotto_sessions_next((ctypes.c_void_p * len(handles))(*handles), len(handles), pieces, statuses,
                                          error), error)
            steps: list[Piece | None | Exception] = []
            for session, handle, status, piece in zip(sessions, handles, statuses, pieces):
                try:
                    steps.append(session._step(handle, status, piece))
                except Exception as failure:
                    steps.append(failure)
            return steps

    def pieces(self, prompt: Text | Sequence[int] = (), max_tokens: int | None = None,
               heal: bool = False) -> Iterator[Piece]:
        """Evaluates the prompt and yields pieces until a stop, or after `max_tokens`. `heal` applies token healing to
        the end of the prompt. An empty prompt continues the text."""
        limit_of(max_tokens)
        if self.prefill(prompt) != Status.OK:
            return
        self.set_limit(max_tokens)
        if heal:
            self.heal()
        while (piece := self.next()) is not None:
            yield piece
            if piece.token < 0:
                return

    def stream(self, prompt: Text | Sequence[int] = (), max_tokens: int | None = None,
               heal: bool = False) -> Iterator[str]:
        """Like pieces, but yields text."""
        return (piece.text for piece in self.pieces(prompt, max_tokens, heal) if piece.text)

    async def astream(self, prompt: Text | Sequence[int] = (), max_tokens: int | None = None,
                      heal: bool = False) -> AsyncIterator[str]:
        """Like stream, for asyncio: a thread generates the text, and cancelling the task stops it."""
        texts = self.stream(prompt, max_tokens, heal)
        while True:
            step = asyncio.get_running_loop().run_in_executor(None, next, texts, None)
            try:
                text = await asyncio.shield(step)
            except asyncio.CancelledError:
                self.cancel()
                await asyncio.wait([step])
                with contextlib.suppress(ClosedError):  # another thread may have closed the session
                    if self.info.stop != Status.STOP_CANCELLED:
                        self._take_cancellation()
                raise
            if text is None:
                return
            yield text

    def _take_cancellation(self) -> None:
        """Consumes a cancellation that stopped no call, so that it does not stop the next text."""
        with Exclusive(self) as handle:
            lib.sotto_session_next(handle, ctypes.POINTER(abi.Piece)())

    def _tokens(self, prompt):
        if not isinstance(prompt, (str, bytes)):
            return prompt
        with Shared(self):  # the session keeps its model alive, closed or not
            return self.model._tokenize(prompt, is_held=True)

    def cancel(self) -> None:
        """Stops the running call, or the next one. May be called from any thread."""
        with self._lock:
            if not self._closed:
                lib.sotto_session_cancel(self._handle)

    # Methods of sotto_session, written by capi/generate from capi/params.

    def prefill(self, prompt: Text | Sequence[int]) -> Status:
        """Appends a prompt to the stream and evaluates it. Returns OK or STOP_CANCELLED."""
        prompt_tokens, prompt_count = tokens_in(self._tokens(prompt))
        with Exclusive(self) as handle:
            return Status(check_session(handle, lib.sotto_session_prefill(handle, prompt_tokens, prompt_count)))

    def set_limit(self, max_tokens: int | None) -> None:
        """Limits the number of tokens that are generated one by one, from now on until the next prompt. There is no
        limit if `max_tokens` is None."""
        limit = limit_of(max_tokens)
        with Exclusive(self) as handle:
            lib.sotto_session_set_limit(handle, limit)

    def generate(self, prompt: Text | Sequence[int] = (), max_tokens: int | None = None,
                 on_piece: Callable[[Piece], object] | None = None) -> Status:
        """Evaluates a prompt and generates text until a stop. An empty prompt continues the text. Calls `on_piece` with
        each piece until it returns a true value. Returns the reason why the text ended. There is no limit if
        `max_tokens` is None."""
        limit = limit_of(max_tokens)
        prompt_tokens, prompt_count = tokens_in(self._tokens(prompt))
        callback = self._callbacks.piece(on_piece)
        with Exclusive(self) as handle:
            status = lib.sotto_session_generate(handle, prompt_tokens, prompt_count, limit, callback, None)
            self._callbacks.raise_first()
            return Status(check_session(handle, status))

    def embed(self, prompt: Text | Sequence[int], pooling: Pooling = Pooling.MEAN) -> list[float]:
        """Evaluates tokens and returns their pooled hidden states."""
        prompt_tokens, prompt_count = tokens_in(self._tokens(prompt))
        embedding = (ctypes.c_float * self._embedding_size)()
        with Exclusive(self) as handle:
            check_whole(check_session(handle,
                                      lib.sotto_session_embed(handle, prompt_tokens, prompt_count,
                                                              integer(abi.i32, pooling, "pooling"), embedding)))
        return list(embedding)

    def set_stops(self, params: StopParams | None = None, **changes: Unpack[StopFields]) -> None:
        """Replaces the stops: the conditions that end a text."""
        filler = Filler()
        given = filler.fill(abi.StopParams, changed(StopParams, params, changes))
        error = abi.Error()
        with Exclusive(self) as handle:
            check(lib.sotto_session_set_stops(handle, given, error), error)

    def heal(self) -> None:
        """Applies token healing, for a prompt that ends inside a word. Call it after a prefill."""
        with Exclusive(self) as handle:
            check_session(handle, lib.sotto_session_heal(handle))

    def rewind(self, token_count: int) -> None:
        """Rolls the stream back to its first tokens."""
        with Exclusive(self) as handle:
            check_session(handle, lib.sotto_session_rewind(handle, integer(abi.u64, token_count, "token_count")))

    def reset(self) -> None:
        """Removes all tokens and restarts the sampler. The parameters stay in effect."""
        with Exclusive(self) as handle:
            lib.sotto_session_reset(handle)

    @property
    def info(self) -> info.SessionInfo:
        """Returns the dimensions and the state of the session."""
        found = abi.SessionInfo()
        with Exclusive(self) as handle:
            check_session(handle, lib.sotto_session_get_info(handle, found))
        return read(info.SessionInfo, found)

    @property
    def timings(self) -> info.SessionTimings:
        """Returns the counts of tokens and the times since the session was created or its timings were reset."""
        found = abi.SessionTimings()
        with Exclusive(self) as handle:
            check_session(handle, lib.sotto_session_get_timings(handle, found))
        return read(info.SessionTimings, found)

    def reset_timings(self) -> None:
        """Sets all counts and times to zero."""
        with Exclusive(self) as handle:
            lib.sotto_session_reset_timings(handle)

    def logits(self) -> memoryview:
        """Returns the logits after the last token, before the sampler. The result is a read-only view of the session's
        memory, which is valid until its next call. numpy.asarray uses it without a copy."""
        return self._floats(lib.sotto_session_logits)

    def hidden(self) -> memoryview:
        """Returns the hidden state of the last token. The result is a read-only view of the session's memory, which is
        valid until its next call. numpy.asarray uses it without a copy."""
        return self._floats(lib.sotto_session_hidden)

    def save(self) -> bytes:
        """Returns the stream as bytes, the same on every platform."""
        size = ctypes.c_size_t()
        with Exclusive(self) as handle:
            lib.sotto_session_save(handle, None, 0, size)
            data = ctypes.create_string_buffer(size.value)
            check_session(handle, lib.sotto_session_save(handle, data, size.value, size))
        return data.raw

    def restore(self, state: bytes) -> None:
        """Restores a saved stream. The state is validated, so it may come from an untrusted source."""
        state_data = as_bytes(state)
        error = abi.Error()
        with Exclusive(self) as handle:
            check(lib.sotto_session_restore(handle, state_data, len(state_data), error), error)

    @property
    def speculation_info(self) -> info.SpeculationInfo:
        """Returns the statistics of speculative decoding. A reset of the timings sets them to zero."""
        found = abi.SpeculationInfo()
        with Exclusive(self) as handle:
            check_session(handle, lib.sotto_session_get_speculation_info(handle, found))
        return read(info.SpeculationInfo, found)

    # End of the generated methods.

    # ---- Logits, hidden states and scores

    def _floats(self, function) -> memoryview:
        values, count = ctypes.POINTER(ctypes.c_float)(), ctypes.c_size_t()
        with Exclusive(self) as handle:
            check_whole(check_session(handle, function(handle, values, count)))
            address = ctypes.cast(values, ctypes.c_void_p).value
            return self._memory.view(address, 4 * count.value, "f").toreadonly()

    def score(self, prompt: Text | Sequence[int]) -> tuple[info.Score, list[float]]:
        """Evaluates tokens and returns their total score and ln p of each."""
        tokens, count = tokens_in(self._tokens(prompt))
        each, score = (ctypes.c_float * max(count, 1))(*[math.nan] * count), abi.Score()
        check_whole(self._evaluate(lib.sotto_session_score, tokens, count, each, score))
        return read(info.Score, score), each[:count]

    def search(self, params: SearchParams | None = None, **changes: Unpack[SearchFields]) -> list[FoundSequence]:
        """Searches for several continuations of the stream, best first; the stream itself does not change."""
        params, filler, error = changed(SearchParams, params, changes), Filler(), abi.Error()
        if params.phrase_groups is not None and len(params.phrase_groups) != len(params.phrases or ()):
            raise ValueError(f"phrase_groups has {len(params.phrase_groups)} elements; it must have one per phrase")
        given = filler.fill(abi.SearchParams, params, similarity=self._callbacks.similarity(params.similarity),
                            on_step=self._callbacks.step(params.on_step))
        found, count = ctypes.POINTER(abi.Sequence)(), ctypes.c_size_t()
        with Exclusive(self) as handle:
            status = lib.sotto_session_search(handle, given, found, count, error)
            self._callbacks.raise_first()
            check(status, error)
            if not count.value:
                check_whole(status)
            return [FoundSequence.of(found[place]) for place in range(count.value)]

    # ---- States

    def fork_into(self, other: Session) -> None:
        """Makes `other` a copy of this stream. Both must have the same model and parameters."""
        error = abi.Error()
        with Exclusive(self) as source, Exclusive(other) as target:
            check(lib.sotto_session_fork(source, target, error), error)

    def _interrupt(self) -> None:
        lib.sotto_session_cancel(self._handle)

    def _free(self) -> None:
        lib.sotto_session_deinit(self._handle)
        for resource in self._attachments.values():
            resource._detach()
        self._attachments.clear()
        self._memory = self._handle = None
        self.model._release()


class _NewAttachment:
    """A context manager that replaces one attached resource of a session by `resource`."""

    def __init__(self, attachments: dict, what: str, resource: Resource | None):
        self._attachments, self._what, self._resource = attachments, what, resource
        self._is_same = resource is not None and attachments.get(what) is resource

    def __enter__(self):
        if self._resource is not None and not self._is_same:
            self._resource._attach()

    def __exit__(self, failure, *_):
        if self._is_same:
            return
        if failure is None:
            old = self._attachments.pop(self._what, None)
            if self._resource is not None:
                self._attachments[self._what] = self._resource
        else:
            old = self._resource
        if old is not None:
            old._detach()
