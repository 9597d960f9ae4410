package db

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/masterkey"
)

// Names of package core that belong to the store.
type (
	// Config says where the store is and how it behaves.
	Config = core.Config
	// Queue hands the jobs of committed transactions to workers.
	Queue = core.Queue
	// EngineInfo lets the command line find the running server.
	EngineInfo = core.EngineInfo
)

// Files in the data directory.
const (
	DatabaseFile = core.DatabaseFile
	EngineFile   = core.EngineFile
	KeyFile      = masterkey.File
)

// IndexTask is the task in the mark of a damaged index.
const IndexTask = core.IndexTask

// ReadEngine returns how to reach the engine of a data directory and whether it
// is running.
func ReadEngine(dataDir string) (info EngineInfo, running bool, err error) {
	return core.ReadEngine(dataDir)
}

// Errors of Open and LockEngine.
var (
	ErrEngineRunning = dbconn.ErrEngineRunning
	ErrNoDatabase    = dbconn.ErrNoDatabase
	ErrNewer         = dbconn.ErrNewer
	ErrPooler        = dbconn.ErrPooler
)

// Pool returns the connection pool of PostgreSQL, nil on SQLite.
func Pool(s *Store) *pgxpool.Pool { return core.Pool(s.DB) }
