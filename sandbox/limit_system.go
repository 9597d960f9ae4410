//go:build linux || darwin

package sandbox

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// limitMemory bounds what this process can take, in bytes, and makes it the one
// that Linux ends when the machine runs out of memory, rather than its parent. It
// is a second line: where it cannot be set, Go's own limit still holds for
// ordinary growth.
//
// RLIMIT_DATA is used rather than RLIMIT_AS: Go and the PDF engine reserve far
// more addresses than they use. Since Linux 4.7, RLIMIT_DATA counts all private
// writable memory, and a reservation without access counts nothing (setrlimit(2)).
// No core file is written, as it would hold the document.
func limitMemory(limit uint64) {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit})
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{}) // no file may grow, not even where Landlock is missing
}

// LimitCPU ends this process when it has computed for that many seconds. CPU time
// rather than time on the clock is limited, so that a busy machine refuses no
// document that an idle one reads. With the soft limit at the hard one, the kernel
// sends SIGKILL, which not even a compromised process can catch.
func LimitCPU(seconds uint64) {
	_ = unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds})
}

// CPUTime returns how long this process has computed, over all processors.
func CPUTime() time.Duration {
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &used) // fails for bad arguments only
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
