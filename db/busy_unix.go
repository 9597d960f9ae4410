//go:build unix

package db

import (
	"fmt"
	"os"
	"syscall"
)

// mapBusyFile returns what the file held, and the file mapped into memory and
// zeroed. The mapping lives as long as the process, because steps that are let
// go of may still mark it.
func mapBusyFile(path string, size int) (region, before []byte, err error) {
	before, _ = os.ReadFile(path) // without the file nothing was at work
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, before, fmt.Errorf("open the marks of busy runs: %w", err)
	}
	defer f.Close() // the mapping stays
	// Written rather than made longer: a page without room on the disk behind it
	// could not be marked.
	if _, err := f.WriteAt(make([]byte, max(size, len(before))), 0); err != nil {
		return nil, before, fmt.Errorf("write the marks of busy runs: %w", err)
	}
	region, err = syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, before, fmt.Errorf("map the marks of busy runs: %w", err)
	}
	return region, before, nil
}
