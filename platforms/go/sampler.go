package sotto

// #include "bridge.h"
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// samplerParams returns C parameters whose callbacks call the functions in calls.
func samplerParams(params *SamplerParams, a *arena, calls *callbacks) C.sotto_sampler_params {
	given := defaultSamplerParamsC()
	params.fill(&given, a)
	if params.LogitsCallback != nil {
		C.sotto_go_set_logits(&given, calls.pointer())
	}
	if params.LogitsProcessor != nil {
		C.sotto_go_set_processor(&given, calls.pointer())
	}
	if params.Watermark != nil {
		mark := &array[C.sotto_watermark_params](a, 1)[0]
		*mark = defaultWatermarkParamsC()
		params.Watermark.fill(mark)
		given.watermark = mark
	}
	return given
}

// Sampler applies the sampler's chain without a session, to the logits of any runtime.
type Sampler struct{ core *samplerCore }

type samplerCore struct {
	*resource
	handle    *C.sotto_sampler
	model     *modelCore // may be nil
	memory    block
	callbacks *callbacks
	size      int
}

const defaultListBytes = 16384

// NewSampler creates a sampler for vocabularySize tokens. model may be nil; it defines the text of the tokens and the
// end-of-text token.
func NewSampler(vocabularySize int, model *Model, params *SamplerParams) (*Sampler, error) {
	var size C.size_t
	details := newError()
	status := C.sotto_sampler_memory_size(C.size_t(max(vocabularySize, 0)), defaultListBytes, &size, &details)
	if err := check(status, &details); err != nil {
		return nil, err
	}
	core := &samplerCore{size: vocabularySize}
	var given *C.sotto_model
	if model != nil {
		if err := model.core.retain(); err != nil {
			return nil, err
		}
		defer runtime.KeepAlive(model)
		core.model, given = model.core, model.core.handle
	}
	memory, err := newBlock(size)
	core.memory, core.callbacks = memory, newCallbacks()
	if err == nil {
		err = check(C.sotto_sampler_init(given, C.size_t(vocabularySize), defaultListBytes, memory.address, size,
			&core.handle, &details), &details)
	}
	if err != nil {
		core.free()
		return nil, err
	}
	core.resource = newResource(core.free, nil)
	sampler := &Sampler{core}
	runtime.SetFinalizer(sampler, (*Sampler).Close)
	if err := sampler.Set(params); err != nil {
		sampler.Close()
		return nil, err
	}
	return sampler, nil
}

func (s *samplerCore) free() {
	s.memory.free()
	s.callbacks.free()
	if s.model != nil {
		s.model.release()
	}
}

// Close frees the sampler.
func (s *Sampler) Close() {
	runtime.SetFinalizer(s, nil)
	s.core.close()
}

func (s *Sampler) call(f func(handle *C.sotto_sampler, details *C.sotto_error) C.sotto_status) error {
	if err := s.core.enter(); err != nil {
		return err
	}
	defer runtime.KeepAlive(s)
	defer s.core.leave()
	details := newError()
	status := f(s.core.handle, &details)
	s.core.callbacks.repanic()
	return check(status, &details)
}

// Set sets the parameters and restarts the random numbers from the seed.
func (s *Sampler) Set(params *SamplerParams) error {
	params = orDefaults(params, DefaultSamplerParams)
	var a arena
	defer a.free()
	return s.call(func(handle *C.sotto_sampler, details *C.sotto_error) C.sotto_status {
		given := samplerParams(params, &a, s.core.callbacks)
		status := C.sotto_sampler_set(handle, &given, details)
		if status >= 0 {
			s.core.callbacks.logits, s.core.callbacks.processor = params.LogitsCallback, params.LogitsProcessor
		}
		return status
	})
}

// SamplerInput is the input for one token.
type SamplerInput struct {
	Logits         []float32
	Allowed        []uint64 // bit i % 64 of word i / 64 allows token i; nil allows all
	History        []Token  // the previous tokens, newest last
	GeneratedCount uint64   // number of tokens at the end of History that were generated
	TokenLimit     uint64   // maximum number of generated tokens; 0 if not known
	Sequence       uint32   // stream of random numbers to draw from
}

func (s *Sampler) with(input SamplerInput,
	f func(*C.sotto_sampler, *C.sotto_sampler_input, *C.sotto_error) C.sotto_status) error {
	size := s.core.size
	if len(input.Logits) != size {
		return &Error{InvalidArgument, fmt.Sprintf("logits has %d elements; it must have %d", len(input.Logits), size), -1}
	}
	if words := (size + 63) / 64; input.Allowed != nil && len(input.Allowed) < words {
		return &Error{InvalidArgument, fmt.Sprintf("allowed has %d words; it must have at least %d", len(input.Allowed),
			words), -1}
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	given := C.sotto_sampler_input{struct_size: C.sizeof_sotto_sampler_input, sequence: C.uint32_t(input.Sequence),
		generated_count: C.uint64_t(input.GeneratedCount), token_limit: C.uint64_t(input.TokenLimit)}
	pinner.Pin(unsafe.SliceData(input.Logits))
	given.logits = floatsOf(input.Logits)
	if input.Allowed != nil {
		pinner.Pin(unsafe.SliceData(input.Allowed))
		given.allowed = (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(input.Allowed)))
	}
	if len(input.History) > 0 {
		pinner.Pin(unsafe.SliceData(input.History))
		given.history, given.history_count = tokensOf(input.History)
	}
	return s.call(func(handle *C.sotto_sampler, details *C.sotto_error) C.sotto_status {
		return f(handle, &given, details)
	})
}

// Sample selects a token.
func (s *Sampler) Sample(input SamplerInput) (Token, error) {
	var token C.sotto_token
	err := s.with(input, func(h *C.sotto_sampler, in *C.sotto_sampler_input, details *C.sotto_error) C.sotto_status {
		return C.sotto_sampler_sample(h, in, &token, details)
	})
	return Token(token), err
}

// Apply returns the distribution after the chain: tokens in order and their probabilities.
func (s *Sampler) Apply(input SamplerInput) ([]Token, []float32, error) {
	tokens, probabilities := make([]Token, s.core.size), make([]float32, s.core.size)
	var count C.size_t
	err := s.with(input, func(h *C.sotto_sampler, in *C.sotto_sampler_input, details *C.sotto_error) C.sotto_status {
		array, capacity := tokensOf(tokens)
		return C.sotto_sampler_apply(h, in, array, floatsOf(probabilities),
			capacity, &count, details)
	})
	return tokens[:count], probabilities[:count], err
}

// DetectWatermark detects a watermark in tokens of a model whose vocabulary has vocabularySize tokens.
func DetectWatermark(params *WatermarkParams, vocabularySize int, tokens []Token) (WatermarkResult, error) {
	given, details := defaultWatermarkParamsC(), newError()
	orDefaults(params, DefaultWatermarkParams).fill(&given)
	result := C.sotto_watermark_result{struct_size: C.sizeof_sotto_watermark_result}
	array, count := tokensOf(tokens)
	status := C.sotto_watermark_detect(&given, C.size_t(max(vocabularySize, 0)), array, count, &result, &details)
	return newWatermarkResult(&result), check(status, &details)
}
