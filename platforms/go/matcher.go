package sotto

// #include "bridge.h"
import "C"

import (
	"math/bits"
	"runtime"
	"unsafe"
)

// Matcher follows text through a grammar and computes which tokens may come next.
type Matcher struct{ core *matcherCore }

type matcherCore struct {
	*resource
	handle     *C.sotto_matcher
	grammar    *grammarCore
	vocabulary *vocabularyCore // may be nil
	memory     block
}

// NewMatcher creates a matcher. Without a vocabulary it can follow text but not tokens. nil parameters select the
// defaults.
func NewMatcher(grammar *Grammar, vocabulary *Vocabulary, params *MatcherParams) (*Matcher, error) {
	defer runtime.KeepAlive(grammar)
	defer runtime.KeepAlive(vocabulary)
	core := &matcherCore{grammar: grammar.core}
	if err := grammar.core.retain(); err != nil {
		return nil, err
	}
	given, details, size := defaultMatcherParamsC(), newError(), C.size_t(0)
	if params != nil {
		params.fill(&given)
	}
	var words *C.sotto_vocabulary
	if vocabulary != nil {
		if err := vocabulary.core.retain(); err != nil {
			grammar.core.release()
			return nil, err
		}
		core.vocabulary, words = vocabulary.core, vocabulary.core.handle
	}
	err := check(C.sotto_matcher_memory_size(grammar.core.handle, words, &given, &size, &details), &details)
	if err == nil {
		core.memory, err = newBlock(size)
	}
	if err == nil {
		err = check(C.sotto_matcher_init(grammar.core.handle, words, &given, core.memory.address, size, &core.handle,
			&details), &details)
	}
	if err != nil {
		core.free()
		return nil, err
	}
	core.resource = newResource(core.free, nil)
	matcher := &Matcher{core}
	runtime.SetFinalizer(matcher, (*Matcher).Close)
	return matcher, nil
}

func (m *matcherCore) free() {
	m.memory.free()
	m.grammar.release()
	if m.vocabulary != nil {
		m.vocabulary.release()
	}
}

// Close frees the matcher when no session uses it.
func (m *Matcher) Close() {
	runtime.SetFinalizer(m, nil)
	m.core.close()
}

func (m *Matcher) call(f func(handle *C.sotto_matcher) C.sotto_status) error {
	if err := m.core.enter(); err != nil {
		return err
	}
	defer runtime.KeepAlive(m)
	defer m.core.leave()
	return check(f(m.core.handle), nil)
}

// MemoryBytes returns the number of bytes of memory that the matcher uses.
func (m *Matcher) MemoryBytes() uint64 { return uint64(m.core.memory.size) }

// Mask returns the tokens that may come next: bit t % 64 of word t / 64 stands for token t.
func (m *Matcher) Mask(sequence uint32) (words []uint64, err error) {
	err = m.call(func(handle *C.sotto_matcher) C.sotto_status {
		if m.core.vocabulary != nil {
			words = make([]uint64, (m.core.vocabulary.count+63)/64)
		}
		return C.sotto_matcher_mask(handle, C.uint32_t(sequence),
			(*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(words))), C.size_t(len(words)))
	})
	return words, err
}

// AllowedTokens returns the tokens of Mask as a list.
func (m *Matcher) AllowedTokens(sequence uint32) ([]Token, error) {
	var tokens []Token
	err := m.call(func(handle *C.sotto_matcher) C.sotto_status {
		var words *C.uint64_t
		status := C.sotto_matcher_borrow_mask(handle, C.uint32_t(sequence), &words)
		if words == nil {
			return status
		}
		count := (m.core.vocabulary.count + 63) / 64
		for place, word := range unsafe.Slice((*uint64)(unsafe.Pointer(words)), count) {
			for ; word != 0; word &= word - 1 {
				tokens = append(tokens, Token(64*place+bits.TrailingZeros64(word)))
			}
		}
		return status
	})
	return tokens, err
}

// Test reports whether the sequence followed by the text can be completed, and whether it is complete.
func (m *Matcher) Test(sequence uint32, text string) (begins, matches bool, err error) {
	var b, e C.uint32_t
	err = m.call(func(handle *C.sotto_matcher) C.sotto_status {
		chars, size := charsOf(text)
		return C.sotto_matcher_test(handle, C.uint32_t(sequence), chars, size, &b, &e)
	})
	return b != 0, e != 0, err
}

// ForcedText returns the text that must come next, at most capacity bytes of it.
func (m *Matcher) ForcedText(sequence uint32, capacity int) ([]byte, error) {
	text := make([]byte, max(capacity, 0))
	var size C.size_t
	err := m.call(func(handle *C.sotto_matcher) C.sotto_status {
		return C.sotto_matcher_forced_text(handle, C.uint32_t(sequence), (*C.char)(bytesOf(text)),
			C.size_t(len(text)), &size)
	})
	return text[:size], err
}

// Methods of sotto_matcher, written by capi/generate from capi/params.

// Reset makes a sequence empty again.
func (m *Matcher) Reset(sequence uint32) error {
	err := m.call(func(handle *C.sotto_matcher) C.sotto_status {
		return C.sotto_matcher_reset(handle, C.uint32_t(sequence))
	})
	return err
}

// AcceptToken appends a token to a sequence. The mask must allow the token.
func (m *Matcher) AcceptToken(sequence uint32, token Token) error {
	err := m.call(func(handle *C.sotto_matcher) C.sotto_status {
		return C.sotto_matcher_accept_token(handle, C.uint32_t(sequence), C.sotto_token(token))
	})
	return err
}

// AcceptText appends text to a sequence. The text may begin and end inside a token.
func (m *Matcher) AcceptText(sequence uint32, text string) error {
	err := m.call(func(handle *C.sotto_matcher) C.sotto_status {
		textChars, textSize := charsOf(text)
		return C.sotto_matcher_accept_text(handle, C.uint32_t(sequence), textChars, textSize)
	})
	return err
}

// Rewind rolls back the newest tokens or texts of sequence 0.
func (m *Matcher) Rewind(count uint64) error {
	err := m.call(func(handle *C.sotto_matcher) C.sotto_status {
		return C.sotto_matcher_rewind(handle, C.uint64_t(count))
	})
	return err
}

// Info returns the state of a sequence.
func (m *Matcher) Info(sequence uint32) (MatcherInfo, error) {
	info := C.sotto_matcher_info{struct_size: C.sizeof_sotto_matcher_info}
	err := m.call(func(handle *C.sotto_matcher) C.sotto_status {
		return C.sotto_matcher_get_info(handle, C.uint32_t(sequence), &info)
	})
	return newMatcherInfo(&info), err
}

// Fork makes the sequence `target` a copy of `source`.
func (m *Matcher) Fork(source uint32, target uint32) error {
	err := m.call(func(handle *C.sotto_matcher) C.sotto_status {
		return C.sotto_matcher_fork(handle, C.uint32_t(source), C.uint32_t(target))
	})
	return err
}

// End of the generated methods.
