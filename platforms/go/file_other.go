//go:build !unix

package sotto

import "os"

// file holds the bytes of a model. On this system they are always a copy.
type file struct {
	block
	mapped []byte
}

func openFile(path string) (file, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return file{}, err
	}
	b, err := copyToBlock(data)
	return file{block: b}, err
}

func (f file) close() { f.free() }
