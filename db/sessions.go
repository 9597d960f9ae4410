package db

import (
	"context"
	"fmt"
	"time"

	"sluice/db/gen"
)

// SaveSession stores the data of a session under the hash of its token.
func (s *Store) SaveSession(ctx context.Context, tokenHash, userID string, data []byte, expiresAt time.Time) error {
	if data == nil {
		data = []byte{}
	}
	return s.write(ctx, relaxed, func(tx *Tx) error {
		return tx.SaveSession(tx.ctx, gen.SaveSessionParams{
			TokenHash: tokenHash, UserID: userID, Data: data, ExpiresAt: micros(expiresAt),
		})
	})
}

// FindSession returns the data of a session that is not over.
func (s *Store) FindSession(ctx context.Context, tokenHash string) (data []byte, found bool, err error) {
	data, err = s.read.FindSession(ctx, gen.FindSessionParams{TokenHash: tokenHash, Now: s.now()})
	if isNoRows(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("find session: %w", err)
	}
	return data, true, nil
}

// DropSession ends a session, synced, so that it cannot come back.
func (s *Store) DropSession(ctx context.Context, tokenHash string) error {
	return s.write(ctx, durable, func(tx *Tx) error { return tx.DeleteSession(tx.ctx, tokenHash) })
}
