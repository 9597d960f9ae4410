package handlers

import (
	"context"

	"sluice/flow"
)

// Files keeps what is uploaded and what runs produce.
type Files interface {
	flow.FileStore
	FindFile(ctx context.Context, ws, id string) (*flow.File, error)
	// FileByID finds a file in whatever workspace it is. Whoever asks checks
	// that the caller may know of it.
	FileByID(ctx context.Context, id string) (*flow.File, error)
	FileRuns(ctx context.Context, ws, id string) ([]flow.FileUse, error)
	EraseFile(ctx context.Context, ws, id string) error
}
