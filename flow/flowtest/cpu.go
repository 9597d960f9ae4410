package flowtest

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice/flow/cputime"
)

// MaxCPU is the CPU time that the input of one caller may cost the server. The race detector
// makes computing about ten times slower.
const MaxCPU = time.Second * raceFactor

// CheckCPU calls f and fails the test if it takes more than MaxCPU of CPU time. It counts the
// time of its own goroutine but no goroutines that f starts. Other programs slow a processor down by sharing its
// caches and its threads, so a call that took too long is repeated, and compared with how long a known computation
// takes at the same time.
func CheckCPU(t testing.TB, f func()) {
	t.Helper()
	used := cputime.Measure(f)
	limit := MaxCPU
	for range 2 {
		if used <= limit {
			return
		}
		slowness := float64(min(cputime.Measure(compute), cputime.Measure(compute))) / float64(computeTime)
		limit = time.Duration(float64(MaxCPU) * max(slowness, 1))
		used = min(used, cputime.Measure(f))
	}
	if used > limit {
		t.Errorf("took %v of CPU time, want at most %v", used, limit)
	}
}

// computeTime is the CPU time of compute on an idle processor of 2020.
const computeTime = 60 * time.Millisecond * raceFactor

// compute searches a text for a pattern that it does not contain.
func compute() { _ = computePattern.MatchString(computeText) }

var (
	computePattern = regexp.MustCompile(`(?:[a-c]|[a-d]|\w){0,20}!`)
	computeText    = strings.Repeat("a", 1<<18)
)
