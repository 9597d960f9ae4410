package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"sluice/db/dbconn"
)

// EngineFile is the name of the engine's lock file in the data directory.
const EngineFile = "sluice.lock"

// EngineInfo lets the command line find the running server.
type EngineInfo struct {
	PID   int    `json:"pid"`
	Addr  string `json:"addr"`
	Token string `json:"token"`
}

// LockEngine makes this process the only engine on the data directory until the
// store closes. It returns ErrEngineRunning if there is another one. On
// PostgreSQL several engines may run, and the file only lets commands find one.
func (s *DB) LockEngine(info EngineInfo) error {
	path := filepath.Join(s.Config.DataDir, EngineFile)
	lock := flock.New(path, flock.SetPermissions(0o600))
	// ReadEngine of another process holds the lock for a moment, so try again.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	ok, err := lock.TryLockContext(ctx, 20*time.Millisecond)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("lock data directory: %w", err)
	}
	if !ok {
		if s.IsPostgres() {
			return nil
		}
		return dbconn.ErrEngineRunning
	}
	s.engine = lock
	data, err := json.Marshal(info)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, data, 0o600); err != nil && !dbconn.IsFull(err) {
		return err
	} else if err != nil {
		s.Config.Log.Warn("commands cannot find this server because the disk is full; free some space and restart it", "error", err)
	}
	return nil
}

// ReadEngine returns how to reach the engine of a data directory and whether it
// is running.
func ReadEngine(dataDir string) (info EngineInfo, running bool, err error) {
	path := filepath.Join(dataDir, EngineFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return info, false, nil
	}
	if err != nil {
		return info, false, err
	}
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	if err != nil {
		return info, false, fmt.Errorf("check engine lock: %w", err)
	}
	if free {
		return info, false, lock.Unlock()
	}
	// An engine that has just taken the lock may not have written yet.
	if err := json.Unmarshal(data, &info); err != nil {
		return EngineInfo{}, true, nil
	}
	return info, true, nil
}
