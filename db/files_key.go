package db

import (
	"context"
	"crypto/rand"
	"fmt"

	"sluice/db/dbconn"
	"sluice/db/gen"
)

// fileKey is the row of meta that holds the key of file addresses, sealed.
const fileKey = "file_key"

// FileKey is the key, of 32 random bytes, that the addresses of files are
// signed with. It is made once and the same on all instances.
func (s Files) FileKey(ctx context.Context) ([]byte, error) {
	sealed, err := s.read.FindMeta(ctx, fileKey)
	if dbconn.IsNoRows(err) {
		if err = s.makeFileKey(ctx); err == nil {
			sealed, err = s.read.FindMeta(ctx, fileKey) // another's, if that was first
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the key of file addresses: %w", err)
	}
	return s.open(sealed, "meta", "files", "key")
}

func (s Files) makeFileKey(ctx context.Context) error {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	sealed, err := s.seal(key[:], "meta", "files", "key")
	if err != nil {
		return err
	}
	return s.write(ctx, durable, func(tx *Tx) error {
		_, err := tx.InsertMeta(tx.ctx, gen.InsertMetaParams{Name: fileKey, Value: sealed})
		return err
	})
}
