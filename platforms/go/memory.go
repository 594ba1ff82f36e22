package sotto

// #include "bridge.h"
import "C"

import "unsafe"

// block is C memory that holds an object of the library.
type block struct {
	address unsafe.Pointer
	size    C.size_t
}

func newBlock(size C.size_t) (block, error) {
	address := C.sotto_go_allocate(size)
	if address == nil {
		return block{}, errMemory
	}
	return block{address, size}, nil
}

func copyToBlock(data []byte) (block, error) {
	b, err := newBlock(C.size_t(len(data)))
	if err == nil {
		copy(unsafe.Slice((*byte)(b.address), len(data)), data)
	}
	return b, err
}

func (b block) free() { C.sotto_go_free(b.address) }

// arena holds the C memory that parameters point to during a call.
type arena struct{ blocks []unsafe.Pointer }

func (a *arena) free() {
	for _, address := range a.blocks {
		C.sotto_go_free(address)
	}
	a.blocks = nil
}

// array allocates count C values in an arena.
func array[T any](a *arena, count int) []T {
	var one T
	address := C.sotto_go_allocate(C.size_t(max(count, 1)) * C.size_t(unsafe.Sizeof(one)))
	if address == nil {
		panic(errMemory)
	}
	a.blocks = append(a.blocks, address)
	return unsafe.Slice((*T)(address), count)
}

func (a *arena) text(text string) C.sotto_text {
	bytes := array[byte](a, len(text))
	copy(bytes, text)
	return C.sotto_text{(*C.char)(unsafe.Pointer(unsafe.SliceData(bytes))), C.size_t(len(text))}
}

func (a *arena) tokens(tokens []Token) (*C.sotto_token, C.size_t) {
	values := array[C.sotto_token](a, len(tokens))
	for i, token := range tokens {
		values[i] = C.sotto_token(token)
	}
	return unsafe.SliceData(values), C.size_t(len(tokens))
}

func (a *arena) stages(stages []Stage) (*C.sotto_stage, C.size_t) {
	values := array[C.sotto_stage](a, len(stages))
	for i, stage := range stages {
		values[i] = C.sotto_stage(stage)
	}
	return unsafe.SliceData(values), C.size_t(len(stages))
}

func (a *arena) texts(texts []string) (*C.sotto_text, C.size_t) {
	values := array[C.sotto_text](a, len(texts))
	for i, text := range texts {
		values[i] = a.text(text)
	}
	return unsafe.SliceData(values), C.size_t(len(texts))
}

func (a *arena) tokenLists(lists [][]Token) (*C.sotto_token_list, C.size_t) {
	values := array[C.sotto_token_list](a, len(lists))
	for i, list := range lists {
		values[i].tokens, values[i].count = a.tokens(list)
	}
	return unsafe.SliceData(values), C.size_t(len(lists))
}

func (a *arena) tokenBiases(biases []TokenBias) (*C.sotto_token_bias, C.size_t) {
	values := array[C.sotto_token_bias](a, len(biases))
	for i, bias := range biases {
		values[i] = C.sotto_token_bias{C.sotto_token(bias.Token), C.float(bias.Bias)}
	}
	return unsafe.SliceData(values), C.size_t(len(biases))
}

func (a *arena) sequenceBiases(biases []SequenceBias) (*C.sotto_sequence_bias, C.size_t) {
	values := array[C.sotto_sequence_bias](a, len(biases))
	for i, bias := range biases {
		values[i].tokens, values[i].count = a.tokens(bias.Tokens)
		values[i].bias = C.float(bias.Bias)
	}
	return unsafe.SliceData(values), C.size_t(len(biases))
}

func flag(value bool) C.uint32_t {
	if value {
		return 1
	}
	return 0
}

func goTexts(texts *C.sotto_text, count C.size_t) []string {
	var result []string
	for _, text := range unsafe.Slice(texts, count) {
		result = append(result, C.GoStringN(text.text, C.int(text.size)))
	}
	return result
}

func goTokens(tokens *C.sotto_token, count C.size_t) []Token {
	return append([]Token(nil), unsafe.Slice((*Token)(unsafe.Pointer(tokens)), count)...)
}

// tokensOf returns the address of tokens, which is valid during one call, and their number.
func tokensOf(tokens []Token) (*C.sotto_token, C.size_t) {
	return (*C.sotto_token)(unsafe.Pointer(unsafe.SliceData(tokens))), C.size_t(len(tokens))
}

func floatsOf(values []float32) *C.float { return (*C.float)(unsafe.Pointer(unsafe.SliceData(values))) }

func bytesOf(data []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(data)) }

func charsOf(text string) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.StringData(text))), C.size_t(len(text))
}

// liveBlocks returns the number of allocated blocks.
func liveBlocks() int64 { return int64(C.sotto_go_blocks()) }
