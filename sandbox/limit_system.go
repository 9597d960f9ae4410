//go:build linux || darwin

package sandbox

import (
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// limitMemory bounds the memory of this process in bytes, and makes the OOM killer
// of Linux choose it rather than its parent. It is a second line of defense: if it
// cannot be set, Go's own limit still applies to ordinary growth.
//
// It uses RLIMIT_DATA rather than RLIMIT_AS, because Go and the PDF engine reserve
// far more addresses than they use. Since Linux 4.7, RLIMIT_DATA counts all private
// writable memory, but not reservations without access (setrlimit(2)). No core file
// is written, because it would contain the document.
func limitMemory(limit uint64) {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit})
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{}) // no file may grow, even without Landlock
}

// LimitCPU ends this process after the given number of seconds of CPU time. Wall-clock
// time would make a busy machine reject documents that an idle one reads. Because the
// soft limit equals the hard limit, the kernel sends SIGKILL, which even a compromised
// process cannot catch.
func LimitCPU(seconds uint64) {
	_ = unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds})
}

// LowerPriority makes the system prefer other processes, such as the server, to a process that
// was just started. Threads that it starts later have its priority.
func LowerPriority(pid int) { _ = unix.Setpriority(unix.PRIO_PROCESS, pid, 5) }

// PeakMemory returns the most memory that this process has occupied so far, in bytes.
func PeakMemory() int64 {
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &used) // fails for bad arguments only
	if runtime.GOOS == "linux" {
		return int64(used.Maxrss) << 10
	}
	return int64(used.Maxrss)
}

// CPUTime returns the CPU time of this process, summed over all processors.
func CPUTime() time.Duration {
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &used) // fails for bad arguments only
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
