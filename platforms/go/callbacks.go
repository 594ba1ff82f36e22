package sotto

// #include "bridge.h"
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// callbacks holds the functions that C may call for one object. If one panics, the Go call that led to it panics with
// the same value.
type callbacks struct {
	handle     cgo.Handle
	panicked   bool
	value      any
	log        func(level LogLevel, message string)
	piece      func(Piece) bool
	logits     func(logits []float32)
	processor  func(tokens []Token, sequence uint32, logits []float32)
	similarity func(a, b []Token) float64
	step       func(sequence uint32, token Token) bool
	draft      func(tokens []Token, hidden []float32, drafts []Token) int
}

func newCallbacks() *callbacks {
	c := &callbacks{}
	c.handle = cgo.NewHandle(c)
	return c
}

func (c *callbacks) free() { c.handle.Delete() }

func (c *callbacks) pointer() C.uintptr_t { return C.uintptr_t(c.handle) }

// pieces returns the handle if there is a function for pieces.
func (c *callbacks) pieces() C.uintptr_t {
	if c.piece == nil {
		return 0
	}
	return c.pointer()
}

// repanic panics with the value of a callback's panic, if there was one.
func (c *callbacks) repanic() {
	if c.panicked {
		value := c.value
		c.panicked, c.value = false, nil
		panic(value)
	}
}

// guard calls a function and recovers from its panic, which must not unwind C frames.
func (c *callbacks) guard(call func()) (ok bool) {
	defer func() {
		if !ok {
			c.panicked, c.value = true, recover()
		}
	}()
	call()
	return true
}

func callbacksOf(handle C.uintptr_t) *callbacks { return cgo.Handle(handle).Value().(*callbacks) }

//export sottoGoLog
func sottoGoLog(handle C.uintptr_t, level C.sotto_log_level, message *C.char) {
	c := callbacksOf(handle)
	c.guard(func() { c.log(LogLevel(level), C.GoString(message)) })
}

//export sottoGoPiece
func sottoGoPiece(handle C.uintptr_t, piece *C.sotto_piece) (stop C.int32_t) {
	c := callbacksOf(handle)
	if !c.guard(func() {
		if c.piece(newPiece(piece)) {
			stop = 1
		}
	}) {
		stop = 1
	}
	return stop
}

//export sottoGoLogits
func sottoGoLogits(handle C.uintptr_t, logits *C.float, count C.size_t) {
	c := callbacksOf(handle)
	c.guard(func() { c.logits(unsafe.Slice((*float32)(unsafe.Pointer(logits)), count)) })
}

//export sottoGoProcessor
func sottoGoProcessor(handle C.uintptr_t, tokens *C.sotto_token, tokenCount C.size_t, sequence C.uint32_t,
	logits *C.float, count C.size_t) {
	c := callbacksOf(handle)
	c.guard(func() {
		values := unsafe.Slice((*float32)(unsafe.Pointer(logits)), count)
		c.processor(goTokens(tokens, tokenCount), uint32(sequence), values)
	})
}

//export sottoGoSimilarity
func sottoGoSimilarity(handle C.uintptr_t, a *C.sotto_token, aCount C.size_t, b *C.sotto_token,
	bCount C.size_t) (result C.double) {
	c := callbacksOf(handle)
	c.guard(func() { result = C.double(c.similarity(goTokens(a, aCount), goTokens(b, bCount))) })
	return result
}

//export sottoGoStep
func sottoGoStep(handle C.uintptr_t, sequence C.uint32_t, token C.sotto_token) (stop C.int32_t) {
	c := callbacksOf(handle)
	if !c.guard(func() {
		if c.step(uint32(sequence), Token(token)) {
			stop = 1
		}
	}) {
		stop = 1
	}
	return stop
}

//export sottoGoDraft
func sottoGoDraft(handle C.uintptr_t, tokens *C.sotto_token, tokenCount C.size_t, hidden *C.float,
	hiddenCount C.size_t, drafts *C.sotto_token, capacity C.size_t) (count C.size_t) {
	c := callbacksOf(handle)
	c.guard(func() {
		var state []float32
		if hidden != nil {
			state = append(state, unsafe.Slice((*float32)(unsafe.Pointer(hidden)), hiddenCount)...)
		}
		guesses := unsafe.Slice((*Token)(unsafe.Pointer(drafts)), capacity)
		count = C.size_t(min(max(c.draft(goTokens(tokens, tokenCount), state, guesses), 0), len(guesses)))
	})
	return count
}
