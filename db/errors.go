package db

import "errors"

// ErrFenced refuses a write of a worker whose run or delivery went to another
// hand-over, or has ended.
var ErrFenced = errors.New("db: fenced: this attempt is no longer the present one")

// ErrEngineRunning refuses a second engine on one data directory.
var ErrEngineRunning = errors.New("another sluice server is already running on this data directory")
