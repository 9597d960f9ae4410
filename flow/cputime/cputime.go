// Package cputime measures the CPU time of a computation, so that limits on it mean the same
// on a busy machine as on an idle one. It owns the system call.
package cputime

import (
	"runtime"
	"time"
)

// Measure calls f and returns the CPU time that its goroutine took. On systems that do not
// count it for each thread, it returns the elapsed time.
func Measure(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := threadTime()
	f()
	return threadTime() - start
}
