package flowtest

import (
	"testing"
	"time"

	"sluice/flow/cputime"
)

// MaxCPU is the CPU time that the input of one caller may cost the server. The race detector
// makes computing about ten times slower.
const MaxCPU = time.Second * raceFactor

// CheckCPU calls f and fails the test if it takes more than MaxCPU of CPU time. It counts the
// time of its own goroutine, so that neither other tests nor a busy machine matter, but no
// goroutines that f starts.
func CheckCPU(t testing.TB, f func()) {
	t.Helper()
	if used := cputime.Measure(f); used > MaxCPU {
		t.Errorf("took %v of CPU time, want at most %v", used, MaxCPU)
	}
}
