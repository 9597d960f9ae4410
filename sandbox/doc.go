// Package sandbox runs untrusted work, such as a document parser or a user's code,
// in a child process of Sluice's own binary: without files, network, environment or
// new privileges, with few system calls, and with limits on memory and CPU time. It owns the system calls
// and knows nothing about the work.
package sandbox

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
)

// Mark is the environment variable that makes a process a child; its value is the
// role, by which a package recognizes its own children. The process gives up its
// network before the Go runtime starts, because the kernel allows that only while a
// process has one thread. The C code in network_linux.go repeats the name.
const Mark = "SLUICE_CHILD"

// State describes how a process is confined. A reason is "" if the guard is active.
type State struct {
	NoNewPrivileges string // why it could gain privileges
	Landlock        int    // ABI version of the kernel; 0 if not supported
	Files           string // why it could open files
	Network         string // why it shares its parent's network
	Calls           string // why it could make any system call
}

// Binary returns the path of the running program, even if the file under its name
// was replaced by a newer one.
func Binary() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// Environment returns the environment of a child: its role and the variables. Children have
// nothing else of the parent's environment, which may hold secrets.
func Environment(role string, variables ...string) []string {
	return slices.Concat([]string{Mark + "=" + role, "GOMAXPROCS=2"}, variables, raceOptions)
}

// LimitMemory bounds the memory of this process in bytes. The garbage collector works
// harder near three quarters of the limit, so that garbage is collected before an
// allocation fails and ends the process. If the container has no memory left, Linux ends this
// process before the server: it is one step, the server is all of them.
func LimitMemory(limit int64) {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // other systems have no such file
	limitMemory(uint64(limit * MemoryFactor))
	debug.SetMemoryLimit(limit * 3 / 4)
}
