package sotto

// #include "bridge.h"
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

func (s *Session) floats(f func(*C.sotto_session, **C.float, *C.size_t) C.sotto_status) (copied []float32, err error) {
	err = checkWhole(s.plain(func(handle *C.sotto_session) C.sotto_status {
		var values *C.float
		var count C.size_t
		status := f(handle, &values, &count)
		if status == C.SOTTO_OK {
			copied = append(copied, unsafe.Slice((*float32)(unsafe.Pointer(values)), count)...)
		}
		return status
	}))
	return copied, err
}

// Score evaluates tokens and returns their total score and ln p of each.
func (s *Session) Score(tokens []Token) (Score, []float32, error) {
	score, each := C.sotto_score{struct_size: C.sizeof_sotto_score}, make([]float32, len(tokens))
	err := checkWhole(s.plain(func(handle *C.sotto_session) C.sotto_status {
		array, count := tokensOf(tokens)
		return C.sotto_session_score(handle, array, count, floatsOf(each), &score)
	}))
	return newScore(&score), each, err
}

// Search returns several continuations of the stream, best first; the stream itself does not change.
func (s *Session) Search(params *SearchParams) (found []Sequence, err error) {
	params = orDefaults(params, DefaultSearchParams)
	if params.PhraseGroups != nil && len(params.PhraseGroups) != len(params.Phrases) {
		return nil, &Error{InvalidArgument, fmt.Sprintf("phrase_groups has %d elements; it must have %d, one per phrase",
			len(params.PhraseGroups), len(params.Phrases)), -1}
	}
	var a arena
	defer a.free()
	status, err := s.call(func(handle *C.sotto_session) (C.sotto_status, *C.sotto_error) {
		given, details, calls := defaultSearchParamsC(), newError(), s.core.callbacks
		params.fill(&given, &a)
		if params.PhraseGroups != nil {
			groups := array[uint32](&a, len(params.PhraseGroups))
			copy(groups, params.PhraseGroups)
			given.phrase_groups = (*C.uint32_t)(unsafe.Pointer(unsafe.SliceData(groups)))
		}
		calls.similarity, calls.step = params.Similarity, params.OnStep
		defer func() { calls.similarity, calls.step = nil, nil }()
		if calls.similarity != nil {
			C.sotto_go_set_similarity(&given, calls.pointer())
		}
		if calls.step != nil {
			C.sotto_go_set_step(&given, calls.pointer())
		}
		var sequences *C.sotto_sequence
		var count C.size_t
		status := C.sotto_session_search(handle, &given, &sequences, &count, &details)
		if status >= 0 {
			found = newSequences(sequences, count)
		}
		return status, &details
	})
	if len(found) == 0 {
		err = checkWhole(status, err)
	}
	return found, err
}

// ForkInto makes other a copy of this stream. Both must have the same model and parameters.
func (s *Session) ForkInto(other *Session) error {
	_, err := s.call(func(handle *C.sotto_session) (C.sotto_status, *C.sotto_error) {
		status := C.sotto_status(C.SOTTO_OK)
		details := newError()
		_, busy := other.plain(func(target *C.sotto_session) C.sotto_status {
			status = C.sotto_session_fork(handle, target, &details)
			return C.SOTTO_OK
		})
		if busy != nil {
			return C.SOTTO_INVALID_STATE, nil
		}
		return status, &details
	})
	runtime.KeepAlive(other)
	return err
}
