//go:build !linux && !darwin

package nodes

// limitMemory does nothing where a process cannot be bounded; Go's own limit
// still holds for ordinary growth.
func limitMemory(uint64) {}
