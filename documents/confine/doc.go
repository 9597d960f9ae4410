// Package confine removes a process's access to files, the network and new
// privileges. It owns the system calls and knows nothing about documents.
package confine

// Mark is the environment variable that, with the value 1, marks a process to
// be confined. The process gives up its network before Go starts, because the
// kernel allows that only while a process has one thread; network_linux.go
// names the variable too.
const Mark = "SLUICE_READS_DOCUMENT"

// State describes how a process is confined. A reason is empty if its guard
// holds.
type State struct {
	NoNewPrivileges string // why it may gain privileges
	Landlock        int    // version of the kernel's interface; 0 if not supported
	Files           string // why it may open files
	Network         string // why it shares its parent's network
}
