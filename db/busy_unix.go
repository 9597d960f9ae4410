//go:build unix

package db

import (
	"fmt"
	"os"
	"syscall"
)

// mapBusyFile returns the previous content of the file, and the file mapped
// into memory and zeroed. The mapping lives as long as the process, because
// abandoned steps may still write to it.
func mapBusyFile(path string, size int) (region, before []byte, err error) {
	before, _ = os.ReadFile(path) // without a file no run was busy
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, before, fmt.Errorf("open the marks of busy runs: %w", err)
	}
	defer f.Close() // the mapping stays
	// Write zeros instead of extending the file: writing to a mapped page for which
	// the disk has no space would crash the process.
	if _, err := f.WriteAt(make([]byte, max(size, len(before))), 0); err != nil {
		return nil, before, fmt.Errorf("write the marks of busy runs: %w", err)
	}
	region, err = syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, before, fmt.Errorf("map the marks of busy runs: %w", err)
	}
	return region, before, nil
}
