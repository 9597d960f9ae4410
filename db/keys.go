package db

import (
	"context"
	"time"

	"sluice/flow"
)

// KeyUse sums up how a key was used since the last TouchKeys.
type KeyUse struct {
	KeyID string
	At    time.Time // of the last use
	IP    string
	Count int64
}

// CreateKey adds a key. An empty ID is filled in.
func (s *Store) CreateKey(ctx context.Context, k *flow.Key) error { panic("unfinished") }

// FindKeyByHash returns the key of a hash, expired or revoked ones too.
func (s *Store) FindKeyByHash(ctx context.Context, hash string) (*flow.Key, error) {
	panic("unfinished")
}

// ListKeys returns all keys of a workspace, by ID.
func (s *Store) ListKeys(ctx context.Context, ws string) ([]flow.Key, error) { panic("unfinished") }

// RevokeKey stops a key at once. Revoking it again changes nothing.
func (s *Store) RevokeKey(ctx context.Context, ws, id string) error { panic("unfinished") }

// TouchKeys records the use of keys. It is not synced to disk.
func (s *Store) TouchKeys(ctx context.Context, uses []KeyUse) error { panic("unfinished") }
