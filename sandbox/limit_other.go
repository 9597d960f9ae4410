//go:build !linux && !darwin

package sandbox

import "time"

// limitMemory does nothing on systems without such a limit; Go's own limit still
// applies to ordinary growth.
func limitMemory(uint64) {}

// LimitCPU does nothing on systems without such a limit; the time limits of the step
// and of the child still apply.
func LimitCPU(uint64) {}

// LowerPriority does nothing on systems without such a priority.
func LowerPriority(int) {}

// PeakMemory returns 0, because the memory is not known.
func PeakMemory() int64 { return 0 }

var processStart = time.Now()

// CPUTime returns the age of this process, because its CPU time is not known.
func CPUTime() time.Duration { return time.Since(processStart) }
