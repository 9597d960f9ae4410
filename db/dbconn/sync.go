package dbconn

import (
	"errors"
	"os"
)

// SyncDir syncs a directory, so that renamed and created files survive a power
// failure.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
