package e2e

import (
	"syscall"
	"testing"
)

// smallDisk mounts a file system of its own. Only root may do that.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=32m"); err != nil {
		t.Skipf("a disk can be filled only where one can be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}
