//go:build !linux && !darwin

package documents

// limitMemory does nothing where a process cannot be bounded; Go's own limit
// still holds for ordinary growth.
func limitMemory(uint64) {}

// limitCPU does nothing where a process cannot be bounded; the limit of the
// step and childTime still hold.
func limitCPU(uint64) {}
