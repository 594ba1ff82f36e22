//go:build sotto_system

package sotto

// #cgo LDFLAGS: -lsotto
import "C"
