//go:build unix

package sotto

// #include "bridge.h"
import "C"

import (
	"fmt"
	"math"
	"os"
	"syscall"
	"unsafe"
)

// file holds the bytes of a model: a mapped file or a copy.
type file struct {
	block
	mapped []byte
}

func openFile(path string) (file, error) {
	opened, err := os.Open(path)
	if err != nil {
		return file{}, err
	}
	defer opened.Close()
	about, err := opened.Stat()
	if err != nil {
		return file{}, err
	}
	if about.IsDir() {
		return file{}, &os.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	}
	if about.Size() == 0 || about.Size() > math.MaxInt {
		return file{}, fmt.Errorf("sotto: %s has %d bytes", path, about.Size())
	}
	mapped, err := syscall.Mmap(int(opened.Fd()), 0, int(about.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return file{}, &os.PathError{Op: "mmap", Path: path, Err: err}
	}
	return file{block{unsafe.Pointer(unsafe.SliceData(mapped)), C.size_t(len(mapped))}, mapped}, nil
}

func (f file) close() {
	if f.mapped == nil {
		f.free()
	} else if err := syscall.Munmap(f.mapped); err != nil {
		panic(err)
	}
}
