//go:build !cgo || !linux

package memory

// returnLargeBlocks does nothing: only glibc keeps large blocks.
func returnLargeBlocks() {}
