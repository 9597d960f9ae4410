// Package sandbox runs work that cannot be trusted, such as a parser of documents
// or a person's code, in a child process of Sluice's own binary: without files,
// network, environment or new privileges, and with limits on memory and computing.
// It owns the system calls and knows nothing about the work.
package sandbox

import (
	"os"
	"runtime"
	"runtime/debug"
)

// Mark is the environment variable that makes a process a child; its value is the
// role, by which a package recognizes its own children. The process gives up its
// network before Go starts, because the kernel allows that only while a process
// has one thread; network_linux.go names the variable too.
const Mark = "SLUICE_CHILD"

// State describes how a process is confined. A reason is empty if its guard
// holds.
type State struct {
	NoNewPrivileges string // why it may gain privileges
	Landlock        int    // version of the kernel's interface; 0 if not supported
	Files           string // why it may open files
	Network         string // why it shares its parent's network
}

// Binary is the program that runs, even when the file under its name was
// replaced by a newer one.
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

// LimitMemory bounds what this process can take, in bytes. The garbage collector works
// harder near three quarters of it, so that garbage is collected before an allocation
// fails and ends the process.
func LimitMemory(limit int64) {
	limitMemory(uint64(limit * MemoryFactor))
	debug.SetMemoryLimit(limit * 3 / 4)
}
