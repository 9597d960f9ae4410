//go:build linux && !amd64 && !arm64

package sandbox

// filterCalls returns why system calls are not restricted.
func filterCalls() string { return "there is no filter for this processor" }
