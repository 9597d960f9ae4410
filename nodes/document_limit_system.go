//go:build linux || darwin

package nodes

import "golang.org/x/sys/unix"

// limitMemory bounds what this process can take. It is a second line: where it
// cannot be set, Go's own limit still holds for ordinary growth.
func limitMemory(limit uint64) {
	_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit})
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}
