package dbconn

import (
	"errors"
	"os"
)

// SyncDir syncs a directory, so that files created or renamed in it survive a power failure.
// Syncing the files is not enough for that.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
