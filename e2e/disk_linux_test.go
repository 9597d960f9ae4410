package e2e

import (
	"fmt"
	"syscall"
	"testing"
)

// smallDisk mounts a file system of a number of MiB that every user may write to. It
// needs root.
func smallDisk(t *testing.T, mib int) string {
	t.Helper()
	dir := anyonesDir(t)
	if err := syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mib)); err != nil {
		t.Skipf("a disk can be filled only where one can be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}
