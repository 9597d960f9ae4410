//go:build !linux && !darwin

package sandbox

import "time"

// limitMemory does nothing where a process cannot be bounded; Go's own limit
// still holds for ordinary growth.
func limitMemory(uint64) {}

// LimitCPU does nothing where a process cannot be bounded; the limit of the
// step and the time limit of the child still hold.
func LimitCPU(uint64) {}

var processStart = time.Now()

// CPUTime returns how long this process has existed, where its computing is not
// known.
func CPUTime() time.Duration { return time.Since(processStart) }
