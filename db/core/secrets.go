package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/db/masterkey"
	"sluice/flow"
)

// Secrets are encrypted with AES-256-GCM by Tink. The master key is a Tink keyset: it
// may contain several keys, and encrypts with the primary one. It is never stored in
// the database. A value that is encrypted with it, SealCheck, shows at startup whether
// the configured key is the right one, before a wrong key does any harm.

// SealCheck is the row of meta whose encrypted value shows whether a master key
// is the key of this database.
const SealCheck = "seal_check"

// ErrWrongKey is returned for a master key that is not the key of the database.
var ErrWrongKey = errors.New("the master key does not match this database; set the right one in SLUICE_MASTER_KEY or SLUICE_MASTER_KEY_FILE")

// MasterKey reads the key that the configuration names. fresh permits it to create
// the key of a new database; see masterkey.Source.
func (s *DB) MasterKey(fresh bool) (*keyset.Handle, error) {
	if s.Config.Keys != nil {
		return s.Config.Keys, nil
	}
	return masterkey.Source{Text: s.Config.MasterKey, Path: s.Config.MasterKeyFile, Command: s.Config.MasterKeyCommand, Dir: s.Config.DataDir, Log: s.Config.Log}.Read(fresh)
}

// unlock reads or creates the master key and checks that it is the database's.
func (s *DB) unlock(ctx context.Context) error {
	check, err := s.Reads.FindMeta(ctx, SealCheck)
	if err != nil && !dbconn.IsNoRows(err) {
		return fmt.Errorf("read seal: %w", err)
	}
	fresh := dbconn.IsNoRows(err)
	handle, err := s.MasterKey(fresh)
	if err != nil {
		return err
	}
	if s.aead, err = aead.New(handle); err != nil {
		return fmt.Errorf("use master key: %w", err)
	}
	if fresh {
		if err := s.storeSeal(ctx); err != nil {
			return err
		}
		// Another process may have stored its key first.
		if check, err = s.Reads.FindMeta(ctx, SealCheck); err != nil {
			return fmt.Errorf("read seal: %w", err)
		}
	}
	if text, err := s.Unseal(check, "meta", "seal", "check"); err != nil || string(text) != SealCheck {
		return cmp.Or(s.checkRotation(ctx), ErrWrongKey)
	}
	return s.checkRotation(ctx)
}

// storeSeal stores the value that identifies the master key.
func (s *DB) storeSeal(ctx context.Context) error {
	sealed, err := s.Seal([]byte(SealCheck), "meta", "seal", "check")
	if err != nil {
		return err
	}
	return s.Write(ctx, Durable, func(tx *Tx) error {
		_, err := tx.Queries.InsertMeta(tx.Ctx, gen.InsertMetaParams{Name: SealCheck, Value: sealed})
		return err
	})
}

// Associated returns the associated data of a secret: the place where it is
// stored. The encryption authenticates it, so a value that is moved to another row
// cannot be decrypted.
func Associated(ws flow.WorkspaceID, owner, field string) []byte {
	return []byte(string(ws+"|") + owner + "|" + field)
}

// Seal encrypts a secret for one place.
func (s *DB) Seal(text []byte, ws flow.WorkspaceID, owner, field string) ([]byte, error) {
	sealed, err := s.aead.Encrypt(text, Associated(ws, owner, field))
	if err != nil {
		return nil, fmt.Errorf("seal %s of %s: %w", field, owner, err)
	}
	return sealed, nil
}

// Unseal decrypts a value of Seal.
func (s *DB) Unseal(sealed []byte, ws flow.WorkspaceID, owner, field string) ([]byte, error) {
	text, err := s.aead.Decrypt(sealed, Associated(ws, owner, field))
	if err != nil {
		return nil, fmt.Errorf("open %s of %s: %w (%w)", field, owner, ErrSealed, err)
	}
	return text, nil
}

// ErrSealed is the cause if a stored secret cannot be decrypted.
var ErrSealed = errors.New("it cannot be decrypted with the master key")

// sealValue encrypts a JSON value. nil becomes an empty value.
func (s *DB) sealValue(v any, ws flow.WorkspaceID, owner, field string) ([]byte, error) {
	if v == nil {
		return []byte{}, nil
	}
	return s.Seal([]byte(dbconn.EncodeAny(v)), ws, owner, field)
}

// UnsealValue decrypts a value of sealValue.
func (s *DB) UnsealValue(sealed []byte, ws flow.WorkspaceID, owner, field string) (any, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	text, err := s.Unseal(sealed, ws, owner, field)
	if err != nil {
		return nil, err
	}
	return dbconn.Decode[any](string(text))
}

// RotationMark is the row of meta that exists while a rotation of the master key
// is in progress, encrypted with the new key. Until it is gone, opening the
// database needs both keys.
const RotationMark = "seal_rotation"

// ErrRotating is returned for a database whose rotation was interrupted.
var ErrRotating = errors.New("a rotation of the master key was interrupted; run 'sluice secrets rotate' again to finish it")

// checkRotation returns ErrRotating if the key decrypts only part of the secrets.
func (s *DB) checkRotation(ctx context.Context) error {
	mark, err := s.Reads.FindMeta(ctx, RotationMark)
	if dbconn.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read seal: %w", err)
	}
	if _, err := s.Unseal(mark, "meta", "seal", "rotation"); err != nil {
		return ErrRotating
	}
	return nil
}
