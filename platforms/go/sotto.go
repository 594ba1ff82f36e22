// Package sotto generates text with GPT-2 models, through the C library libsotto.
//
//	model, err := sotto.OpenModel("demo.sotto", nil)
//	...
//	defer model.Close()
//	session, err := model.NewSession(nil)
//	...
//	defer session.Close()
//	for text, err := range session.Stream(ctx, "Once upon a time", 100) {
//		...
//		fmt.Print(text)
//	}
//
// Objects may be closed or dropped in any order: a session keeps the objects that it uses alive. Calls of a closed
// object fail with ErrClosed. Models, grammars and vocabularies may be used by any number of goroutines at once; a
// session, matcher or sampler by one at a time (ErrBusy), but Cancel and Close may come from any.
package sotto

// #include "bridge.h"
import "C"

import (
	"errors"
	"fmt"
)

// Token is a token id: the index of a token in the vocabulary.
type Token int32

var (
	// ErrClosed is returned by calls of a closed object.
	ErrClosed = errors.New("sotto: the object is closed")
	// ErrBusy is returned by a call while another one runs or a session uses the object.
	ErrBusy   = errors.New("sotto: the object is in use")
	errMemory = errors.New("sotto: out of memory")
)

// Error describes a failed call. errors.Is compares it with a Status.
type Error struct {
	Status  Status
	Message string
	Offset  int64 // first invalid byte of the input, or -1
}

func (e *Error) Error() string {
	return "sotto: " + e.Message
}

// Is reports whether target is the error's Status.
func (e *Error) Is(target error) bool {
	status, ok := target.(Status)
	return ok && status == e.Status
}

// Error returns the library's text for a status; with it a Status can be the target of errors.Is.
func (s Status) Error() string { return C.GoString(C.sotto_status_text(C.sotto_status(s))) }

// Version returns the version of the linked library.
func Version() (major, minor, patch int) {
	v := int(C.sotto_version())
	return v >> 16, v >> 8 & 255, v & 255
}

// BuildText returns the features of the linked library as words separated by spaces.
func BuildText() string { return C.GoString(C.sotto_build_text()) }

// String returns the name of an instruction set.
func (isa ISA) String() string { return C.GoString(C.sotto_isa_text(C.sotto_isa(isa))) }

func init() {
	if major, _, _ := Version(); major != C.SOTTO_VERSION_MAJOR {
		panic(fmt.Sprintf("sotto: libsotto has version %d, not %d", major, C.SOTTO_VERSION_MAJOR))
	}
}

func newError() C.sotto_error {
	return C.sotto_error{struct_size: C.sizeof_sotto_error, offset: C.UINT64_MAX}
}

// orDefaults returns params, or the defaults of the library for nil.
func orDefaults[P any](params *P, defaults func() *P) *P {
	if params == nil {
		return defaults()
	}
	return params
}

// checkWhole also returns an error for a stop. It is for calls whose outputs a stop leaves unwritten.
func checkWhole(status Status, err error) error {
	if err != nil || status == OK {
		return err
	}
	return &Error{status, status.Error(), -1}
}

// check returns an error for a failure.
func check(status C.sotto_status, details *C.sotto_error) error {
	if status >= 0 {
		return nil
	}
	err := &Error{Status(status), Status(status).Error(), -1}
	if details != nil {
		err.Message = C.GoString(&details.message[0])
		err.Offset = int64(details.offset) // UINT64_MAX becomes -1
	}
	return err
}
