package db

import "sluice/db/dbconn"

// Errors of Open and LockEngine.
var (
	ErrEngineRunning = dbconn.ErrEngineRunning
	ErrNoDatabase    = dbconn.ErrNoDatabase
	ErrNewer         = dbconn.ErrNewer
	ErrPooler        = dbconn.ErrPooler
)
