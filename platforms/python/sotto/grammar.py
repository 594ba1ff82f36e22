"""Grammars, vocabularies and matchers, with or without a session."""
from __future__ import annotations

import ctypes
import json
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._callbacks import log_callback
from ._convert import Filler, as_bytes, changed, integer, read
from ._library import NO_OFFSET, SottoError, check, lib
from ._resource import Block, Exclusive, Resource, Shared
from .generated import abi, info
from .generated.enums import GrammarLanguage, Status
from .generated.params import GrammarParams, MatcherParams, Text

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .generated.fields import GrammarFields, MatcherFields
    from .model import Model


_COMPILE_LIMIT = 1 << 30  # maximum number of bytes for the compilation of a grammar


class Vocabulary(Resource):
    """The tokens of a matcher's masks: the tokens of a model, or any byte strings."""

    def __init__(self, tokens: Model | Sequence[Text], special: Sequence[int] = (), end_tokens: Sequence[int] = (),
                 *, _is_held: bool = False):
        """`special` lists tokens without text, and `end_tokens` those that end a text. A model defines both itself."""
        filler, error, size, handle = Filler(), abi.Error(), ctypes.c_size_t(), ctypes.c_void_p()
        given = filler.fill(abi.VocabularyParams, None)
        self._model = None
        if isinstance(tokens, Resource):  # a model
            self._model = tokens._retain(_is_held)
            self.token_count = tokens.vocabulary_size
            given.model = tokens._handle
        else:
            self.token_count = len(tokens)
            self._own(given, filler, [as_bytes(token) for token in tokens], special, end_tokens)
        try:
            check(lib.sotto_vocabulary_memory_size(given, size, error), error)
            memory = Block(size.value)
            check(lib.sotto_vocabulary_init(given, memory.address, memory.size, handle, error), error)
        except BaseException:
            if self._model:
                self._model._release()
            raise
        self._memory, self._handle, self._kept = memory, handle, filler
        super().__init__()

    @classmethod
    def of_session(cls, session) -> Vocabulary:
        """Returns the vocabulary of a session's model, even if the model has been closed."""
        return cls(session.model, _is_held=True)

    @staticmethod
    def _own(given, filler, tokens, special, end_tokens) -> None:
        offsets = [0]
        for token in tokens:
            offsets.append(offsets[-1] + len(token))
        flags = bytearray(len(tokens))
        for token in special:
            flags[integer(abi.u32, token, "special")] = 1
        given.token_count = len(tokens)
        given.bytes = filler.text(b"".join(tokens)).text
        filler.array(given, "offsets", ctypes.c_uint32, offsets)
        filler.array(given, "special", ctypes.c_uint8, flags)
        filler.array(given, "end_tokens", ctypes.c_int32, list(end_tokens))

    def _free(self) -> None:
        self._memory = self._handle = self._kept = None
        if self._model:
            self._model._release()


class Grammar(Resource):
    """A compiled grammar. It is immutable and may be shared between threads."""

    def __init__(self, image: Block):
        handle, error = ctypes.c_void_p(), abi.Error()
        check(lib.sotto_grammar_load(image.address, image.size, handle, error), error)
        self._memory, self._handle, self.size = image, handle, image.size
        super().__init__()

    @classmethod
    def compile(cls, source: Text = b"", params: GrammarParams | None = None,
                **changes: Unpack[GrammarFields]) -> Grammar:
        """Compiles a source: `Grammar.compile('root ::= "yes" | "no"')`, or in the language of the parameters."""
        params = changed(GrammarParams, params, changes)
        data, filler, error = as_bytes(source), Filler(), abi.Error()
        handle, used = ctypes.c_void_p(), ctypes.c_size_t()
        vocabulary = params.vocabulary and params.vocabulary._retain()
        try:
            given = filler.fill(abi.GrammarParams, params, log=log_callback(params.log),
                                vocabulary=vocabulary and vocabulary._handle)
            size = min(lib.sotto_grammar_typical_memory(len(data)), _COMPILE_LIMIT)
            while True:
                memory = Block(size)
                status = lib.sotto_grammar_compile(data, len(data), given, memory.address, size, handle, used, error)
                lacks_memory = status == Status.GRAMMAR_TOO_LARGE and error.offset == NO_OFFSET
                if not lacks_memory or size == _COMPILE_LIMIT:
                    break
                size = min(8 * size, _COMPILE_LIMIT)
        finally:
            if vocabulary:
                vocabulary._release()
        check(status, error)
        # Reloads the grammar from its image, because a compiled grammar occupies the compiler's working memory.
        image_size = ctypes.c_size_t()
        lib.sotto_grammar_save(handle, None, 0, image_size)
        image = Block(image_size.value)
        check(lib.sotto_grammar_save(handle, image.address, image.size, image_size))
        return cls(image)

    @classmethod
    def json_schema(cls, schema: Text | dict | bool, **changes: Unpack[GrammarFields]) -> Grammar:
        """Compiles a JSON Schema, given as text or as Python values."""
        source = schema if isinstance(schema, (str, bytes)) else json.dumps(schema)
        return cls.compile(source, GrammarParams(language=GrammarLanguage.JSON_SCHEMA), **changes)

    @classmethod
    def json(cls, **changes: Unpack[GrammarFields]) -> Grammar:
        """Compiles the grammar of any JSON value."""
        return cls.compile(params=GrammarParams(language=GrammarLanguage.JSON), **changes)

    @classmethod
    def json_object(cls, **changes: Unpack[GrammarFields]) -> Grammar:
        """Compiles the grammar of any JSON object."""
        return cls.compile(params=GrammarParams(language=GrammarLanguage.JSON_OBJECT), **changes)

    @classmethod
    def regex(cls, pattern: Text, **changes: Unpack[GrammarFields]) -> Grammar:
        """Compiles a regular expression that the whole text must match."""
        return cls.compile(pattern, GrammarParams(language=GrammarLanguage.REGEX), **changes)

    @classmethod
    def choices(cls, choices: Sequence[str], **changes: Unpack[GrammarFields]) -> Grammar:
        """Compiles a choice between strings."""
        return cls.compile(json.dumps(list(choices)), GrammarParams(language=GrammarLanguage.CHOICES), **changes)

    @classmethod
    def number(cls, minimum=None, maximum=None, integer: bool = False, **changes: Unpack[GrammarFields]) -> Grammar:
        """Compiles a JSON number in a range that includes both ends."""
        limits = {"minimum": minimum, "maximum": maximum, "integer": integer or None}
        source = json.dumps({name: value for name, value in limits.items() if value is not None})
        return cls.compile(source, GrammarParams(language=GrammarLanguage.NUMBER), **changes)

    @classmethod
    def tools(cls, tools: Sequence[dict], **changes: Unpack[GrammarFields]) -> Grammar:
        """Compiles a call of one of the functions."""
        return cls.compile(json.dumps(list(tools)), GrammarParams(language=GrammarLanguage.TOOLS), **changes)

    @classmethod
    def load(cls, image: bytes) -> Grammar:
        """Loads an image that `save` returned. The image is verified, so it may come from an untrusted source."""
        return cls(Block.of_bytes(image))

    def save(self) -> bytes:
        """Returns the grammar as an image, with the same bytes on every platform."""
        with Shared(self):
            return bytes(self._memory.view(self._memory.address, self.size, "B"))

    def _free(self) -> None:
        self._memory = self._handle = None


def _sequence(number, name="sequence") -> int:
    return integer(abi.u32, number, name)


class Matcher(Resource):
    """Follows text through a grammar and computes which tokens may come next."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary | None = None, params: MatcherParams | None = None,
                 **changes: Unpack[MatcherFields]):
        filler, error, size, handle = Filler(), abi.Error(), ctypes.c_size_t(), ctypes.c_void_p()
        given = filler.fill(abi.MatcherParams, changed(MatcherParams, params, changes))
        self._needs = [grammar._retain()]
        try:
            if vocabulary:
                self._needs.append(vocabulary._retain())
            words = vocabulary and vocabulary._handle
            check(lib.sotto_matcher_memory_size(grammar._handle, words, given, size, error), error)
            memory = Block(size.value)
            check(lib.sotto_matcher_init(grammar._handle, words, given, memory.address, memory.size, handle, error),
                  error)
        except BaseException:
            for needed in self._needs:
                needed._release()
            raise
        self._word_count = (vocabulary.token_count + 63) // 64 if vocabulary else 0
        self._memory, self._handle = memory, handle
        super().__init__()

    @property
    def memory_bytes(self) -> int:
        return self._memory.size

    # Methods of sotto_matcher, written by capi/generate from capi/params.

    def reset(self, sequence: int = 0) -> None:
        """Makes a sequence empty again."""
        with Exclusive(self) as handle:
            check(lib.sotto_matcher_reset(handle, integer(abi.u32, sequence, "sequence")))

    def accept_token(self, token: int, sequence: int = 0) -> None:
        """Appends a token to a sequence. The mask must allow the token."""
        with Exclusive(self) as handle:
            check(lib.sotto_matcher_accept_token(handle, integer(abi.u32, sequence, "sequence"),
                                                 integer(abi.i32, token, "token")))

    def accept_text(self, text: Text, sequence: int = 0) -> None:
        """Appends text to a sequence. The text may begin and end inside a token."""
        text_data = as_bytes(text)
        with Exclusive(self) as handle:
            check(lib.sotto_matcher_accept_text(handle, integer(abi.u32, sequence, "sequence"), text_data,
                                                len(text_data)))

    def rewind(self, count: int) -> None:
        """Rolls back the newest tokens or texts of sequence 0."""
        with Exclusive(self) as handle:
            check(lib.sotto_matcher_rewind(handle, integer(abi.u64, count, "count")))

    def info(self, sequence: int = 0) -> info.MatcherInfo:
        """Returns the state of a sequence."""
        found = abi.MatcherInfo()
        with Exclusive(self) as handle:
            check(lib.sotto_matcher_get_info(handle, integer(abi.u32, sequence, "sequence"), found))
        return read(info.MatcherInfo, found)

    def fork(self, source: int, target: int) -> None:
        """Makes the sequence `target` a copy of `source`."""
        with Exclusive(self) as handle:
            check(lib.sotto_matcher_fork(handle, integer(abi.u32, source, "source"),
                                         integer(abi.u32, target, "target")))

    # End of the generated methods.

    def mask(self, sequence: int = 0) -> array:
        """Returns the tokens that may come next as words of 64 bits: bit t % 64 of word t // 64 stands for token t."""
        words = array("Q", bytes(8 * self._word_count))
        address = (ctypes.c_uint64 * self._word_count).from_buffer(words) if words else None
        with Exclusive(self) as handle:
            check(lib.sotto_matcher_mask(handle, _sequence(sequence), address, self._word_count))
        return words

    def allowed_tokens(self, sequence: int = 0) -> list[int]:
        """Returns the tokens that may come next as a list."""
        words = ctypes.POINTER(ctypes.c_uint64)()
        with Exclusive(self) as handle:
            check(lib.sotto_matcher_borrow_mask(handle, _sequence(sequence), ctypes.byref(words)))
            return [64 * place + bit for place, word in enumerate(words[:self._word_count]) if word
                    for bit in range(64) if word >> bit & 1]

    def test(self, text: Text, sequence: int = 0) -> tuple[bool, bool]:
        """Returns whether the sequence followed by the text can be completed, and whether it is complete."""
        data, begins, matches = as_bytes(text), ctypes.c_uint32(), ctypes.c_uint32()
        with Exclusive(self) as handle:
            check(lib.sotto_matcher_test(handle, _sequence(sequence), data, len(data), begins, matches))
        return bool(begins.value), bool(matches.value)

    def matches(self, text: Text) -> bool:
        """Returns whether sequence 0 followed by the text is complete under the grammar."""
        return self.test(text)[1]

    def forced_text(self, sequence: int = 0, capacity: int = 4096) -> bytes:
        """Returns the text that must come next, at most `capacity` bytes of it."""
        capacity = integer(abi.size, capacity, "capacity")
        text, size = ctypes.create_string_buffer(max(capacity, 1)), ctypes.c_size_t()
        with Exclusive(self) as handle:
            check(lib.sotto_matcher_forced_text(handle, _sequence(sequence), text, capacity, size))
        return text.raw[:size.value]

    def _free(self) -> None:
        self._memory = self._handle = None
        for needed in self._needs:
            needed._release()


__all__ = ["Grammar", "Matcher", "SottoError", "Vocabulary"]
