//go:build !linux

package flowtest

import "testing"

// CheckCPU calls f. Only Linux can tell the CPU time of a thread.
func CheckCPU(t testing.TB, f func()) {
	t.Helper()
	f()
}
