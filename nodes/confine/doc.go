// Package confine takes from a process what reading one document does not need:
// ways to more privileges, files and the network. It owns how that is asked of
// the operating system, and knows nothing of documents.
package confine

// Mark is the variable that makes a process one to be confined, by the value 1.
// The process gives up its network before Go starts, because the kernel allows
// that only while a process has one thread; network_linux.go names the variable
// too.
const Mark = "SLUICE_READS_DOCUMENT"

// State is what holds for a process. A reason is empty where its guard holds.
type State struct {
	NoNewPrivileges string // why it may gain privileges
	Landlock        int    // version of the kernel's interface; 0 where there is none
	Files           string // why it may open files
	Network         string // why it shares its parent's network
}
