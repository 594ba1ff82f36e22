package sotto

// #include "bridge.h"
import "C"

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"unsafe"
)

// Vocabulary holds the tokens of a matcher's masks.
type Vocabulary struct{ core *vocabularyCore }

type vocabularyCore struct {
	*resource
	handle *C.sotto_vocabulary
	model  *modelCore // nil for tokens of the caller
	tokens arena
	memory block
	count  int
}

// NewVocabulary creates the vocabulary of a model, with the model's end-of-text token.
func NewVocabulary(model *Model) (*Vocabulary, error) {
	defer runtime.KeepAlive(model)
	return newModelVocabulary(model.core, model.core.retain)
}

func newModelVocabulary(model *modelCore, retain func() error) (*Vocabulary, error) {
	if err := retain(); err != nil {
		return nil, err
	}
	given := defaultVocabularyParamsC()
	given.model = model.handle
	return newVocabulary(&vocabularyCore{model: model, count: int(model.info.VocabularySize)}, &given)
}

// NewTokenVocabulary creates a vocabulary of the caller's tokens. special lists tokens without text, and ends lists the
// tokens that end a text.
func NewTokenVocabulary(tokens [][]byte, special, ends []Token) (*Vocabulary, error) {
	core := &vocabularyCore{count: len(tokens)}
	given := defaultVocabularyParamsC()
	offsets := array[uint32](&core.tokens, len(tokens)+1)
	var all []byte
	for i, token := range tokens {
		all = append(all, token...)
		offsets[i+1] = uint32(len(all))
	}
	flags := array[uint8](&core.tokens, len(tokens))
	for _, token := range special {
		if token < 0 || int(token) >= len(tokens) {
			core.free()
			return nil, &Error{InvalidArgument, fmt.Sprintf("special token %d is not in the vocabulary", token), -1}
		}
		flags[token] = 1
	}
	given.token_count = C.uint32_t(len(tokens))
	given.bytes = core.tokens.text(string(all)).text
	given.offsets = (*C.uint32_t)(unsafe.Pointer(unsafe.SliceData(offsets)))
	given.special = (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(flags)))
	given.end_tokens, given.end_token_count = core.tokens.tokens(ends)
	return newVocabulary(core, &given)
}

func defaultVocabularyParamsC() C.sotto_vocabulary_params {
	var given C.sotto_vocabulary_params
	C.sotto_vocabulary_params_init(&given, C.sizeof_sotto_vocabulary_params)
	return given
}

func newVocabulary(core *vocabularyCore, given *C.sotto_vocabulary_params) (*Vocabulary, error) {
	details, size := newError(), C.size_t(0)
	err := check(C.sotto_vocabulary_memory_size(given, &size, &details), &details)
	if err == nil {
		core.memory, err = newBlock(size)
	}
	if err == nil {
		err = check(C.sotto_vocabulary_init(given, core.memory.address, size, &core.handle, &details), &details)
	}
	if err != nil {
		core.free()
		return nil, err
	}
	core.resource = newResource(core.free, nil)
	vocabulary := &Vocabulary{core}
	runtime.SetFinalizer(vocabulary, (*Vocabulary).Close)
	return vocabulary, nil
}

func (v *vocabularyCore) free() {
	v.memory.free()
	v.tokens.free()
	if v.model != nil {
		v.model.release()
	}
}

// Close frees the vocabulary when no matcher uses it.
func (v *Vocabulary) Close() {
	runtime.SetFinalizer(v, nil)
	v.core.close()
}

// Grammar is a compiled grammar. It is immutable and may be shared.
type Grammar struct{ core *grammarCore }

type grammarCore struct {
	*resource
	handle *C.sotto_grammar
	memory block
}

// compileLimit is the maximum number of bytes for the compilation of a grammar.
const compileLimit = 1 << 30

// CompileGrammar compiles a source in the language of the parameters.
func CompileGrammar(source string, params *GrammarParams) (*Grammar, error) {
	params = orDefaults(params, DefaultGrammarParams)
	var a arena
	defer a.free()
	given, calls := defaultGrammarParamsC(), newCallbacks()
	defer calls.free()
	params.fill(&given, &a)
	if params.Log != nil {
		calls.log = params.Log
		C.sotto_go_set_grammar_log(&given, calls.pointer())
	}
	if params.Vocabulary != nil {
		used := params.Vocabulary.core
		if err := used.retain(); err != nil {
			return nil, err
		}
		defer runtime.KeepAlive(params.Vocabulary)
		defer used.release()
		given.vocabulary = used.handle
	}
	chars, size := charsOf(source)
	capacity := min(C.sotto_grammar_typical_memory(size), compileLimit)
	for ; ; capacity = 8 * min(capacity, compileLimit/8) {
		memory, err := newBlock(capacity)
		if err != nil {
			return nil, err
		}
		var handle *C.sotto_grammar
		var used C.size_t
		details := newError()
		status := C.sotto_grammar_compile(chars, size, &given, memory.address, capacity, &handle, &used, &details)
		if err = check(status, &details); err == nil {
			image, err := imageOf(handle)
			memory.free()
			if err != nil {
				return nil, err
			}
			return newGrammar(image)
		}
		memory.free()
		calls.repanic()
		lacksMemory := status == C.SOTTO_GRAMMAR_TOO_LARGE && details.offset == C.UINT64_MAX
		if !lacksMemory || capacity == compileLimit {
			return nil, err
		}
	}
}

// imageOf saves a grammar to a block of its own, because a compiled grammar occupies the compiler's working memory.
func imageOf(handle *C.sotto_grammar) (block, error) {
	var size C.size_t
	C.sotto_grammar_save(handle, nil, 0, &size)
	image, err := newBlock(size)
	if err != nil {
		return image, err
	}
	if err = check(C.sotto_grammar_save(handle, image.address, size, &size), nil); err != nil {
		image.free()
	}
	return image, err
}

// newGrammar loads an image, which belongs to the grammar. A failure frees it.
func newGrammar(image block) (*Grammar, error) {
	core, details := &grammarCore{memory: image}, newError()
	if err := check(C.sotto_grammar_load(image.address, image.size, &core.handle, &details), &details); err != nil {
		image.free()
		return nil, err
	}
	core.resource = newResource(image.free, nil)
	grammar := &Grammar{core}
	runtime.SetFinalizer(grammar, (*Grammar).Close)
	return grammar, nil
}

func compileIn(language GrammarLanguage, source string) (*Grammar, error) {
	params := DefaultGrammarParams()
	params.Language = language
	return CompileGrammar(source, params)
}

// GBNFGrammar compiles GBNF with the start rule root.
func GBNFGrammar(source string) (*Grammar, error) { return compileIn(LanguageGBNF, source) }

// JSONSchemaGrammar compiles a JSON Schema.
func JSONSchemaGrammar(schema string) (*Grammar, error) { return compileIn(LanguageJSONSchema, schema) }

// RegexGrammar compiles a regular expression that the whole text must match.
func RegexGrammar(pattern string) (*Grammar, error) { return compileIn(LanguageRegex, pattern) }

// ChoicesGrammar compiles a choice between strings.
func ChoicesGrammar(choices ...string) (*Grammar, error) {
	source, err := json.Marshal(choices)
	if err != nil {
		return nil, err
	}
	return compileIn(LanguageChoices, string(source))
}

// LoadGrammar loads a copy of an image that Save returned. It is verified, so it may come from an untrusted source.
func LoadGrammar(image []byte) (*Grammar, error) {
	memory, err := copyToBlock(image)
	if err != nil {
		return nil, err
	}
	return newGrammar(memory)
}

// Save returns the grammar as an image, with the same bytes on every platform.
func (g *Grammar) Save() ([]byte, error) {
	if err := g.core.retain(); err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(g)
	defer g.core.release()
	return bytes.Clone(unsafe.Slice((*byte)(g.core.memory.address), g.core.memory.size)), nil
}

// Close frees the grammar when no matcher uses it.
func (g *Grammar) Close() {
	runtime.SetFinalizer(g, nil)
	g.core.close()
}
