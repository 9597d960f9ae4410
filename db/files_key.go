package db

import (
	"context"
	"crypto/rand"
	"fmt"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
)

// fileKey is the row of meta with the encrypted key that signs file URLs.
const fileKey = "file_key"

// FileKey returns the key of 32 random bytes that signs the URLs of files. It is
// created once and is the same on all instances.
func (s *Files) FileKey(ctx context.Context) ([]byte, error) {
	sealed, err := s.DB.Reads.FindMeta(ctx, fileKey)
	if dbconn.IsNoRows(err) {
		if err = s.makeFileKey(ctx); err == nil {
			sealed, err = s.DB.Reads.FindMeta(ctx, fileKey) // possibly the key of another instance
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the key of file addresses: %w", err)
	}
	return s.DB.Unseal(sealed, "meta", "files", "key")
}

// makeFileKey creates the key that signs links to files and stores it encrypted.
func (s *Files) makeFileKey(ctx context.Context) error {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	sealed, err := s.DB.Seal(key[:], "meta", "files", "key")
	if err != nil {
		return err
	}
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		_, err := tx.Queries.InsertMeta(tx.Ctx, gen.InsertMetaParams{Name: fileKey, Value: sealed})
		return err
	})
}
