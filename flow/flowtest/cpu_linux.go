package flowtest

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// MaxCPU is the CPU time that the input of one caller may cost the server. The race detector
// makes computing about ten times slower.
const MaxCPU = time.Second * raceFactor

// CheckCPU calls f and fails the test if it takes more than MaxCPU of CPU time. It counts the
// time of its own thread, so that neither other tests nor a busy machine matter, but no
// goroutines that f starts.
func CheckCPU(t testing.TB, f func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := threadTime(t)
	f()
	if used := threadTime(t) - start; used > MaxCPU {
		t.Errorf("took %v of CPU time, want at most %v", used, MaxCPU)
	}
}

// threadTime returns the CPU time of the current thread.
func threadTime(t testing.TB) time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
