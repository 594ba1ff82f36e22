package sotto

// #include "bridge.h"
import "C"

import (
	"errors"
	"runtime"
	"unsafe"
)

// Model holds the weights and the tokenizer of a model file. Sessions keep their model alive, so it may be closed
// before them.
type Model struct{ core *modelCore }

type modelCore struct {
	*resource
	handle    *C.sotto_model
	file      file
	memory    block
	callbacks *callbacks
	info      ModelInfo
}

// OpenModel maps and opens a model file. The file must not change while the model is in use. nil parameters select the
// defaults.
func OpenModel(path string, params *ModelParams) (*Model, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	model, err := newModel(f, params)
	var failure *Error
	if errors.As(err, &failure) {
		failure.Message = path + ": " + failure.Message
	}
	return model, err
}

// NewModel opens a model from a copy of a file's bytes.
func NewModel(data []byte, params *ModelParams) (*Model, error) {
	b, err := copyToBlock(data)
	if err != nil {
		return nil, err
	}
	return newModel(file{block: b}, params)
}

// ModelMemorySize returns the number of bytes of memory that a model uses in addition to its file. data is the content
// of the file.
func ModelMemorySize(data []byte, params *ModelParams) (uint64, error) {
	b, err := copyToBlock(data)
	if err != nil {
		return 0, err
	}
	defer b.free()
	given, details, size := modelParams(params), newError(), C.size_t(0)
	status := C.sotto_model_memory_size(b.address, b.size, &given, &size, &details)
	return uint64(size), check(status, &details)
}

func modelParams(params *ModelParams) C.sotto_model_params {
	given := defaultModelParamsC()
	if params != nil {
		params.fill(&given)
	}
	return given
}

func newModel(f file, params *ModelParams) (*Model, error) {
	m := &modelCore{file: f, callbacks: newCallbacks()}
	if err := m.init(params); err != nil {
		m.freeMemory()
		return nil, err
	}
	m.resource = newResource(m.free, nil)
	model := &Model{m}
	runtime.SetFinalizer(model, (*Model).Close)
	return model, nil
}

func (m *modelCore) init(params *ModelParams) (err error) {
	given, details, size := modelParams(params), newError(), C.size_t(0)
	if params != nil && params.Log != nil {
		m.callbacks.log = params.Log
		C.sotto_go_set_log(&given, m.callbacks.pointer())
	}
	if m.file.mapped != nil {
		C.sotto_go_set_release(&given)
	}
	defer m.callbacks.repanic()
	status := C.sotto_model_memory_size(m.file.address, m.file.size, &given, &size, &details)
	if err = check(status, &details); err != nil {
		return err
	}
	if m.memory, err = newBlock(size); err != nil {
		return err
	}
	status = C.sotto_model_init(m.file.address, m.file.size, &given, m.memory.address, size, &m.handle, &details)
	if err = check(status, &details); err != nil {
		return err
	}
	info := C.sotto_model_info{struct_size: C.sizeof_sotto_model_info}
	err = check(C.sotto_model_get_info(m.handle, &info), nil)
	m.info = newModelInfo(&info)
	return err
}

func (m *modelCore) free() {
	C.sotto_model_deinit(m.handle)
	m.freeMemory()
}

func (m *modelCore) freeMemory() {
	m.memory.free()
	m.file.close()
	m.callbacks.free()
}

// Close frees the model when no session uses it.
func (m *Model) Close() {
	runtime.SetFinalizer(m, nil)
	m.core.close()
}

// call runs f while the model is kept alive.
func (m *Model) call(f func(handle *C.sotto_model) error) error {
	if err := m.core.retain(); err != nil {
		return err
	}
	defer runtime.KeepAlive(m)
	defer m.core.release()
	return f(m.core.handle)
}

// Info returns the properties of the model. It may be called after Close.
func (m *Model) Info() ModelInfo { return m.core.info }

// MemoryBytes returns the number of bytes of memory that the model uses in addition to its file.
func (m *Model) MemoryBytes() uint64 { return uint64(m.core.memory.size) }

// Tokenize encodes text.
func (m *Model) Tokenize(text string) ([]Token, error) { return m.tokenize(text, 0) }

// TokenizeSpecial encodes text. Strings such as <|endoftext|> become special tokens.
func (m *Model) TokenizeSpecial(text string) ([]Token, error) {
	return m.tokenize(text, C.SOTTO_TOKENIZE_SPECIAL)
}

func (m *Model) tokenize(text string, flags C.uint32_t) (tokens []Token, err error) {
	err = m.call(func(*C.sotto_model) error {
		tokens, err = m.core.tokenize(text, flags)
		return err
	})
	return tokens, err
}

func (m *modelCore) tokenize(text string, flags C.uint32_t) ([]Token, error) {
	tokens := make([]Token, len(text)/2+8)
	chars, size := charsOf(text)
	for {
		details, count := newError(), C.size_t(0)
		array, capacity := tokensOf(tokens)
		status := C.sotto_tokenize(m.handle, chars, size, flags, array, capacity, &count, &details)
		if status == C.SOTTO_OK {
			return tokens[:count], nil
		}
		if status != C.SOTTO_BUFFER_TOO_SMALL {
			return nil, check(status, &details)
		}
		tokens = make([]Token, count)
	}
}

// TokenBytes returns the bytes of one token; they may begin or end inside a character.
func (m *Model) TokenBytes(token Token) (data []byte, err error) {
	err = m.call(func(handle *C.sotto_model) error {
		var chars *C.char
		var size C.size_t
		status := C.sotto_token_bytes(handle, C.sotto_token(token), &chars, &size)
		if status == C.SOTTO_OK {
			data = C.GoBytes(unsafe.Pointer(chars), C.int(size))
		}
		return check(status, nil)
	})
	return data, err
}

// TokenFlags returns the flags of a token.
func (m *Model) TokenFlags(token Token) (flags TokenFlag, err error) {
	err = m.call(func(handle *C.sotto_model) error {
		var bits C.uint32_t
		status := C.sotto_token_flags(handle, C.sotto_token(token), &bits)
		flags = TokenFlag(bits)
		return check(status, nil)
	})
	return flags, err
}

// Text returns a text about the model, or an empty text.
func (m *Model) Text(kind ModelTextKind) (text string, err error) {
	err = m.call(func(handle *C.sotto_model) error {
		var chars *C.char
		var size C.size_t
		status := C.sotto_model_text(handle, C.sotto_model_text_kind(kind), &chars, &size)
		if status == C.SOTTO_OK {
			text = C.GoStringN(chars, C.int(size))
		}
		return check(status, nil)
	})
	return text, err
}

// Detokenize returns the bytes of tokens. With byte-level BPE they are exactly the bytes that were encoded.
func (m *Model) Detokenize(tokens []Token) (data []byte, err error) {
	err = m.call(func(handle *C.sotto_model) error {
		array, count := tokensOf(tokens)
		var size C.size_t
		status := C.sotto_detokenize(handle, array, count, nil, 0, &size)
		if status == C.SOTTO_BUFFER_TOO_SMALL {
			data = make([]byte, size)
			status = C.sotto_detokenize(handle, array, count, (*C.char)(bytesOf(data)), size, &size)
		}
		return check(status, nil)
	})
	return data, err
}

// SessionMemorySize returns the number of bytes of memory that a session uses.
func (m *Model) SessionMemorySize(params *SessionParams) (size uint64, err error) {
	err = m.call(func(handle *C.sotto_model) error {
		given, details, bytes := sessionParams(params), newError(), C.size_t(0)
		status := C.sotto_session_memory_size(handle, &given, &bytes, &details)
		size = uint64(bytes)
		return check(status, &details)
	})
	return size, err
}
