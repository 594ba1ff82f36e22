package sotto

// #include "bridge.h"
import "C"

import "runtime"

// Session is a stream of text that a model continues.
type Session struct{ core *sessionCore }

type sessionCore struct {
	*resource
	handle    *C.sotto_session
	model     *modelCore
	memory    block
	callbacks *callbacks
	uses      map[string]*resource // guide, draft session and matcher, by role
}

func sessionParams(params *SessionParams) C.sotto_session_params {
	given := defaultSessionParamsC()
	if params != nil {
		params.fill(&given)
	}
	return given
}

// NewSession creates a session. nil parameters select the defaults.
func (m *Model) NewSession(params *SessionParams) (*Session, error) {
	core := &sessionCore{model: m.core, uses: map[string]*resource{}}
	err := m.call(func(handle *C.sotto_model) (err error) {
		given, details, size := sessionParams(params), newError(), C.size_t(0)
		if err = check(C.sotto_session_memory_size(handle, &given, &size, &details), &details); err != nil {
			return err
		}
		if core.memory, err = newBlock(size); err != nil {
			return err
		}
		status := C.sotto_session_init(handle, &given, core.memory.address, size, &core.handle, &details)
		if err = check(status, &details); err != nil {
			core.memory.free()
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := m.core.retain(); err != nil { // another goroutine has closed it
		C.sotto_session_deinit(core.handle)
		core.memory.free()
		return nil, err
	}
	core.callbacks = newCallbacks()
	core.resource = newResource(core.free, func() { C.sotto_session_cancel(core.handle) })
	session := &Session{core}
	runtime.SetFinalizer(session, (*Session).Close)
	return session, nil
}

func (s *sessionCore) free() {
	C.sotto_session_deinit(s.handle)
	for _, used := range s.uses {
		used.detach()
	}
	s.memory.free()
	s.callbacks.free()
	s.model.release()
}

// Close stops a running call and then frees the session.
func (s *Session) Close() {
	runtime.SetFinalizer(s, nil)
	s.core.close()
}

// Cancel stops the running call, or the next one, with StopCancelled.
func (s *Session) Cancel() {
	s.core.cancel()
	runtime.KeepAlive(s)
}

// call runs f exclusively, and then panics if a callback has panicked.
func (s *Session) call(f func(handle *C.sotto_session) (C.sotto_status, *C.sotto_error)) (Status, error) {
	if err := s.core.enter(); err != nil {
		return 0, err
	}
	defer runtime.KeepAlive(s)
	defer s.core.leave()
	status, details := f(s.core.handle)
	s.core.callbacks.repanic()
	return Status(status), check(status, details)
}

// plain is like call, for functions without an error parameter, whose failures the session describes.
func (s *Session) plain(f func(handle *C.sotto_session) C.sotto_status) (Status, error) {
	return s.call(func(handle *C.sotto_session) (C.sotto_status, *C.sotto_error) {
		status := f(handle)
		return status, failureOf(handle, status)
	})
}

// failureOf returns the session's description of a failure, or nil if there is none.
func failureOf(handle *C.sotto_session, status C.sotto_status) *C.sotto_error {
	if status >= 0 {
		return nil
	}
	details := newError()
	C.sotto_session_get_error(handle, &details)
	if details.status != status {
		return nil
	}
	return &details
}

// attach replaces one object that the session uses; used may be nil.
func (s *Session) attach(what string, used *resource,
	f func(handle *C.sotto_session, details *C.sotto_error) C.sotto_status) error {
	isNew := used != nil && used != s.core.attachment(what)
	if isNew {
		if err := used.attach(); err != nil {
			return err
		}
	}
	var old *resource
	_, err := s.call(func(handle *C.sotto_session) (C.sotto_status, *C.sotto_error) {
		details := newError()
		status := f(handle, &details)
		if current := s.core.uses[what]; status >= 0 && current != used {
			old = current
			if used != nil {
				s.core.uses[what] = used
			} else {
				delete(s.core.uses, what)
			}
		}
		return status, &details
	})
	if err != nil && isNew {
		used.detach()
	}
	if old != nil {
		old.detach()
	}
	return err
}

func (s *sessionCore) attachment(what string) *resource {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy || s.closed {
		return nil
	}
	return s.uses[what]
}

// SetSampler sets the sampler's parameters and restarts the random numbers from the seed.
func (s *Session) SetSampler(params *SamplerParams) error {
	params = orDefaults(params, DefaultSamplerParams)
	var a arena
	defer a.free()
	_, err := s.call(func(handle *C.sotto_session) (C.sotto_status, *C.sotto_error) {
		given, details := samplerParams(params, &a, s.core.callbacks), newError()
		status := C.sotto_session_set_sampler(handle, &given, &details)
		if status >= 0 {
			s.core.callbacks.logits, s.core.callbacks.processor = params.LogitsCallback, params.LogitsProcessor
		}
		return status, &details
	})
	return err
}

// SetSpeculation sets the parameters of speculative decoding.
func (s *Session) SetSpeculation(params *SpeculationParams) error {
	params = orDefaults(params, DefaultSpeculationParams)
	given := defaultSpeculationParamsC()
	params.fill(&given)
	var used *resource
	if params.DraftSession != nil {
		defer runtime.KeepAlive(params.DraftSession)
		given.draft_session = params.DraftSession.core.handle
		used = params.DraftSession.core.resource
	}
	return s.attach("draft", used, func(handle *C.sotto_session, details *C.sotto_error) C.sotto_status {
		if params.Draft != nil {
			C.sotto_go_set_draft(&given, s.core.callbacks.pointer())
		}
		status := C.sotto_session_set_speculation(handle, &given, details)
		if status >= 0 {
			s.core.callbacks.draft = params.Draft
		}
		return status
	})
}

// SetGuide sets a second session as the guide of this one. nil removes it.
func (s *Session) SetGuide(guide *Session, params *GuideParams) error {
	given := defaultGuideParamsC()
	orDefaults(params, DefaultGuideParams).fill(&given)
	var used *resource
	var second *C.sotto_session
	if guide != nil {
		defer runtime.KeepAlive(guide)
		used, second = guide.core.resource, guide.core.handle
	}
	return s.attach("guide", used, func(handle *C.sotto_session, details *C.sotto_error) C.sotto_status {
		return C.sotto_session_set_guide(handle, second, &given, details)
	})
}

// SetMatcher constrains the generated text to continue sequence 0 of a matcher. nil removes it.
func (s *Session) SetMatcher(matcher *Matcher) error {
	var used *resource
	var given *C.sotto_matcher
	if matcher != nil {
		defer runtime.KeepAlive(matcher)
		used, given = matcher.core.resource, matcher.core.handle
	}
	return s.attach("matcher", used, func(handle *C.sotto_session, details *C.sotto_error) C.sotto_status {
		return C.sotto_session_set_matcher(handle, given, details)
	})
}

// SetGrammar constrains the generated text by a grammar, through a new matcher. nil removes it. Before another text,
// set the grammar again or call Reset.
func (s *Session) SetGrammar(grammar *Grammar) error {
	return s.SetGrammarWithin(grammar, 0)
}

// SetGrammarWithin is SetGrammar for a text that is complete after at most finishWithin tokens.
// 0 means no limit.
func (s *Session) SetGrammarWithin(grammar *Grammar, finishWithin uint32) error {
	if grammar == nil {
		return s.SetMatcher(nil)
	}
	if err := s.core.retain(); err != nil { // it keeps its model
		return err
	}
	defer runtime.KeepAlive(s)
	defer s.core.release()
	vocabulary, err := newModelVocabulary(s.core.model, s.core.model.retainHeld)
	if err != nil {
		return err
	}
	defer vocabulary.Close()
	info, err := s.Info()
	if err != nil {
		return err
	}
	params := DefaultMatcherParams()
	params.SequenceCount = info.MatcherSequenceCount
	params.FinishWithin = finishWithin
	matcher, err := NewMatcher(grammar, vocabulary, params)
	if err != nil {
		return err
	}
	defer matcher.Close()
	return s.SetMatcher(matcher)
}

// Methods of sotto_session, written by capi/generate from capi/params.

// Prefill appends a prompt to the stream and evaluates it. It returns OK or StopCancelled.
func (s *Session) Prefill(prompt []Token) (Status, error) {
	return s.plain(func(handle *C.sotto_session) C.sotto_status {
		promptTokens, promptCount := tokensOf(prompt)
		return C.sotto_session_prefill(handle, promptTokens, promptCount)
	})
}

// SetLimit limits the number of tokens that are generated one by one, from now on until the next prompt. There is no
// limit if maxTokens is NoLimit.
func (s *Session) SetLimit(maxTokens int) error {
	size, err := limit(maxTokens)
	if err != nil {
		return err
	}
	_, err = s.plain(func(handle *C.sotto_session) C.sotto_status {
		C.sotto_session_set_limit(handle, size)
		return C.SOTTO_OK
	})
	return err
}

// Generate evaluates a prompt and generates text until a stop. An empty prompt continues the text. It calls onPiece,
// which may be nil, with each piece until it returns true, and returns the reason why the text ended. There is no limit
// if maxTokens is NoLimit.
func (s *Session) Generate(prompt []Token, maxTokens int, onPiece func(Piece) (stop bool)) (Status, error) {
	size, err := limit(maxTokens)
	if err != nil {
		return 0, err
	}
	return s.plain(func(handle *C.sotto_session) C.sotto_status {
		calls := s.core.callbacks
		calls.piece = onPiece
		defer func() { calls.piece = nil }()
		promptTokens, promptCount := tokensOf(prompt)
		return C.sotto_go_session_generate(handle, promptTokens, promptCount, size, calls.pieces())
	})
}

// Embed evaluates tokens and returns their pooled hidden states.
func (s *Session) Embed(prompt []Token, pooling Pooling) ([]float32, error) {
	embedding := make([]float32, s.core.model.info.EmbeddingSize)
	err := checkWhole(s.plain(func(handle *C.sotto_session) C.sotto_status {
		promptTokens, promptCount := tokensOf(prompt)
		return C.sotto_session_embed(handle, promptTokens, promptCount, C.sotto_pooling(pooling), floatsOf(embedding))
	}))
	return embedding, err
}

// SetStops replaces the stops: the conditions that end a text.
func (s *Session) SetStops(params *StopParams) error {
	params = orDefaults(params, DefaultStopParams)
	var a arena
	defer a.free()
	_, err := s.call(func(handle *C.sotto_session) (C.sotto_status, *C.sotto_error) {
		given := defaultStopParamsC()
		params.fill(&given, &a)
		details := newError()
		return C.sotto_session_set_stops(handle, &given, &details), &details
	})
	return err
}

// Heal applies token healing, for a prompt that ends inside a word. Call it after a prefill.
func (s *Session) Heal() error {
	_, err := s.plain(func(handle *C.sotto_session) C.sotto_status {
		return C.sotto_session_heal(handle)
	})
	return err
}

// Rewind rolls the stream back to its first tokens.
func (s *Session) Rewind(tokenCount uint64) error {
	_, err := s.plain(func(handle *C.sotto_session) C.sotto_status {
		return C.sotto_session_rewind(handle, C.uint64_t(tokenCount))
	})
	return err
}

// Reset removes all tokens and restarts the sampler. The parameters stay in effect.
func (s *Session) Reset() error {
	_, err := s.plain(func(handle *C.sotto_session) C.sotto_status {
		C.sotto_session_reset(handle)
		return C.SOTTO_OK
	})
	return err
}

// Info returns the dimensions and the state of the session.
func (s *Session) Info() (SessionInfo, error) {
	info := C.sotto_session_info{struct_size: C.sizeof_sotto_session_info}
	_, err := s.plain(func(handle *C.sotto_session) C.sotto_status {
		return C.sotto_session_get_info(handle, &info)
	})
	return newSessionInfo(&info), err
}

// Timings returns the counts of tokens and the times since the session was created or its timings were reset.
func (s *Session) Timings() (SessionTimings, error) {
	info := C.sotto_session_timings{struct_size: C.sizeof_sotto_session_timings}
	_, err := s.plain(func(handle *C.sotto_session) C.sotto_status {
		return C.sotto_session_get_timings(handle, &info)
	})
	return newSessionTimings(&info), err
}

// ResetTimings sets all counts and times to zero.
func (s *Session) ResetTimings() error {
	_, err := s.plain(func(handle *C.sotto_session) C.sotto_status {
		C.sotto_session_reset_timings(handle)
		return C.SOTTO_OK
	})
	return err
}

// Logits returns the logits after the last token, before the sampler.
func (s *Session) Logits() ([]float32, error) {
	return s.floats(func(handle *C.sotto_session, values **C.float, count *C.size_t) C.sotto_status {
		return C.sotto_session_logits(handle, values, count)
	})
}

// Hidden returns the hidden state of the last token.
func (s *Session) Hidden() ([]float32, error) {
	return s.floats(func(handle *C.sotto_session, values **C.float, count *C.size_t) C.sotto_status {
		return C.sotto_session_hidden(handle, values, count)
	})
}

// Save returns the stream as bytes, the same on every platform.
func (s *Session) Save() ([]byte, error) {
	var data []byte
	_, err := s.plain(func(handle *C.sotto_session) C.sotto_status {
		var size C.size_t
		C.sotto_session_save(handle, nil, 0, &size)
		data = make([]byte, size)
		return C.sotto_session_save(handle, bytesOf(data), size, &size)
	})
	return data, err
}

// Restore restores a saved stream. The state is validated, so it may come from an untrusted source.
func (s *Session) Restore(state []byte) error {
	_, err := s.call(func(handle *C.sotto_session) (C.sotto_status, *C.sotto_error) {
		details := newError()
		return C.sotto_session_restore(handle, bytesOf(state), C.size_t(len(state)), &details), &details
	})
	return err
}

// SpeculationInfo returns the statistics of speculative decoding. A reset of the timings sets them to zero.
func (s *Session) SpeculationInfo() (SpeculationInfo, error) {
	info := C.sotto_speculation_info{struct_size: C.sizeof_sotto_speculation_info}
	_, err := s.plain(func(handle *C.sotto_session) C.sotto_status {
		return C.sotto_session_get_speculation_info(handle, &info)
	})
	return newSpeculationInfo(&info), err
}

// End of the generated methods.
