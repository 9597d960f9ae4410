package db

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"sluice/db/core"
)

// OldestQueued returns how long the run that has waited longest for a worker has done so; 0 if none waits.
func (s *Maintenance) OldestQueued(ctx context.Context) (time.Duration, error) {
	return s.age(ctx, "the queued runs", "SELECT COALESCE(min(r.created_at), 0) FROM runs r WHERE r.place = 1")
}

// OldestDelivery returns how long the delivery that has waited longest for its end has done so, retries included; 0 if none waits.
func (s *Maintenance) OldestDelivery(ctx context.Context) (time.Duration, error) {
	return s.age(ctx, "the open deliveries", "SELECT COALESCE(min(d.created_at), 0) FROM deliveries d WHERE d.ended_at = 0")
}

// age returns how long ago the time was that a query returns in microseconds.
func (s *Maintenance) age(ctx context.Context, what, query string) (time.Duration, error) {
	var oldest int64
	if err := core.ReaderOf(s.DB).QueryRowContext(ctx, query).Scan(&oldest); err != nil {
		return 0, fmt.Errorf("find the oldest of %s: %w", what, err)
	}
	if oldest == 0 {
		return 0, nil
	}
	return max(0, time.Duration(s.DB.NowMicros()-oldest)*time.Microsecond), nil
}

// Space is what the data of a server takes, in bytes.
type Space struct {
	Database int64 // with SQLite's write-ahead log; on PostgreSQL also the content of files, unless that is in object storage
	Content  int64 // what all workspaces store, as their quotas count it: runs, flows and files
}

// Space returns what the data takes.
func (s *Maintenance) Space(ctx context.Context) (sp Space, err error) {
	if err := core.ReaderOf(s.DB).QueryRowContext(ctx, "SELECT CAST(COALESCE(sum(t.bytes), 0) AS BIGINT) FROM storage t").Scan(&sp.Content); err != nil {
		return sp, fmt.Errorf("sum the storage of workspaces: %w", err)
	}
	if s.DB.IsPostgres() {
		if err := s.DB.Reader.QueryRowContext(ctx, "SELECT pg_database_size(current_database())").Scan(&sp.Database); err != nil {
			return sp, fmt.Errorf("read the size of the database: %w", err)
		}
		return sp, nil
	}
	path := filepath.Join(s.DB.Config.DataDir, core.DatabaseFile)
	sp.Database = max(sizeOf(path), 0) + max(sizeOf(path+"-wal"), 0)
	return sp, nil
}

// PoolState is the number of connections to the database by state.
type PoolState struct{ Used, Idle, Max int64 }

// PoolState returns the state of the connections that this process has.
func (s *Maintenance) PoolState() PoolState {
	if p := core.Pool(s.DB); p != nil {
		stat := p.Stat()
		return PoolState{int64(stat.AcquiredConns()), int64(stat.IdleConns()), int64(stat.MaxConns())}
	}
	stat := s.DB.Reader.Stats()
	return PoolState{int64(stat.InUse), int64(stat.Idle), int64(stat.MaxOpenConnections)}
}
