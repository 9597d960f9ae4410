package db

import (
	"context"

	"sluice/flow"
)

// PublishFlow makes the document live: as a new version, unless it equals the
// latest one.
func (s *Store) PublishFlow(ctx context.Context, ws, flowID string, document []byte, summary, by string) (v flow.Version, created bool, err error) {
	panic("unfinished")
}

// SetLiveVersion makes an existing version live.
func (s *Store) SetLiveVersion(ctx context.Context, ws, flowID string, n int64, by string) error {
	panic("unfinished")
}

// FindVersion returns one version of a flow.
func (s *Store) FindVersion(ctx context.Context, ws, flowID string, n int64) (*flow.Version, error) {
	panic("unfinished")
}

// ListVersions returns the versions of a flow, newest first.
func (s *Store) ListVersions(ctx context.Context, ws, flowID string) ([]flow.Version, error) {
	panic("unfinished")
}

// FindDocument returns an immutable document by its hash.
func (s *Store) FindDocument(ctx context.Context, ws, hash string) ([]byte, error) {
	panic("unfinished")
}
