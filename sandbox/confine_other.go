//go:build !linux

package sandbox

// ReadOnly does nothing on systems other than Linux.
func ReadOnly(string) {}

// Process does nothing on systems other than Linux.
func Process() State {
	const why = "only Linux can do that"
	return State{NoNewPrivileges: why, Files: why, Network: why, Calls: why}
}

// HideMemory does nothing on systems other than Linux.
func HideMemory() {}
