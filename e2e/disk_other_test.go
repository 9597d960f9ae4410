//go:build !linux

package e2e

import "testing"

func smallDisk(t *testing.T, _ int) string {
	t.Skip("a disk can be filled only where one can be mounted")
	return ""
}
