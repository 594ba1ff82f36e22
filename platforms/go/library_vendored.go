//go:build !sotto_system

package sotto

// The released module contains sotto.h and sotto.cpp, which cgo compiles. Without exceptions, they need no C++ library.

// #cgo CFLAGS: -I${SRCDIR}
// #cgo CXXFLAGS: -std=c++20 -O2 -g0 -fno-exceptions
// #cgo LDFLAGS: -lm -lpthread
import "C"
