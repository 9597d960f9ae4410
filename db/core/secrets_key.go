package core

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
)

// KeyFile is the file in the data directory for the master key that is created at
// the first start.
const KeyFile = "master.key"

// MasterKey reads the key that the configuration names. It creates a key only for
// a fresh database: a new key could not decrypt the secrets of an existing one.
func (s *DB) MasterKey(fresh bool) (*keyset.Handle, error) {
	if s.Config.Keys != nil {
		return s.Config.Keys, nil
	}
	if s.Config.MasterKey != "" {
		return ParseKey(s.Config.MasterKey)
	}
	path := cmp.Or(s.Config.MasterKeyFile, filepath.Join(s.Config.DataDir, KeyFile))
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && fresh && s.Config.MasterKeyFile == "" {
		return s.makeKey(path)
	}
	switch {
	case errors.Is(err, os.ErrNotExist) && !fresh:
		return nil, fmt.Errorf("there is no master key in %s; put the one there that this database was sealed with, or give it as SLUICE_MASTER_KEY", path)
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no master key in %s; make one with 'openssl rand -base64 32', or leave SLUICE_MASTER_KEY_FILE out to have one made in the data directory", path)
	case err != nil:
		return nil, fmt.Errorf("read master key: %w", err)
	}
	return ParseKey(string(text))
}

// makeKey creates the first key of a database.
func (s *DB) makeKey(path string) (*keyset.Handle, error) {
	handle, err := CreateKey(path)
	if errors.Is(err, os.ErrExist) { // another process was faster
		return s.MasterKey(false)
	}
	if err == nil {
		s.Config.Log.Warn("Created a master key. Back it up separately from the database: without it, stored secrets cannot be decrypted.", "file", path)
	}
	return handle, err
}

// CreateKey writes a new key, readable by its owner only, unless the file exists.
// The file appears complete or not at all: it is written under another name and
// then linked, because another process may read it at any moment and because a
// crash must not leave a database with an empty key.
func CreateKey(path string) (*keyset.Handle, error) {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("create master key: %w", err)
	}
	var text bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&text)); err != nil {
		return nil, fmt.Errorf("encode master key: %w", err)
	}
	draft, err := os.CreateTemp(filepath.Dir(path), KeyFile+"-")
	if err != nil {
		return nil, fmt.Errorf("create master key file: %w", err)
	}
	defer os.Remove(draft.Name())
	_, err = draft.Write(text.Bytes())
	if err := cmp.Or(err, draft.Sync(), draft.Close()); err != nil {
		return nil, fmt.Errorf("write master key file: %w", err)
	}
	if err := cmp.Or(os.Link(draft.Name(), path), SyncDir(filepath.Dir(path))); err != nil {
		return nil, fmt.Errorf("create master key file: %w", err)
	}
	return handle, nil
}

// ParseKey reads a key in either of its two forms: a Tink keyset in JSON, which
// may hold several keys and so allows rotation, or 32 bytes in base64.
func ParseKey(text string) (*keyset.Handle, error) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(raw) != 32 {
			return nil, errors.New("the master key must be 32 bytes in base64 (make one with: openssl rand -base64 32) or a Tink keyset in JSON")
		}
		text = rawKeyset(raw)
	}
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(strings.NewReader(text)))
	if err != nil {
		// The error of Tink could contain a part of the key.
		return nil, errors.New("the master key is not a usable Tink keyset")
	}
	return handle, nil
}

// rawKeyset wraps an AES-256 key in a Tink keyset. The key ID is derived from the
// key, so that the same bytes always give the same keyset and, after a rotation,
// differ from other keys in the keyset.
func rawKeyset(raw []byte) string {
	sum := sha256.Sum256(raw)
	id := binary.BigEndian.Uint32(sum[:4]) | 1
	// The protobuf message AesGcmKey with its only field, number 3: the key.
	message := append([]byte{3<<3 | 2, byte(len(raw))}, raw...)
	type data struct {
		TypeURL string `json:"typeUrl"`
		Value   []byte `json:"value"`
		Kind    string `json:"keyMaterialType"`
	}
	type key struct {
		Data   data   `json:"keyData"`
		Status string `json:"status"`
		ID     uint32 `json:"keyId"`
		Prefix string `json:"outputPrefixType"`
	}
	text, _ := json.Marshal(struct {
		Primary uint32 `json:"primaryKeyId"`
		Keys    []key  `json:"key"`
	}{id, []key{{data{"type.googleapis.com/google.crypto.tink.AesGcmKey", message, "SYMMETRIC"}, "ENABLED", id, "TINK"}}})
	return string(text)
}

// SyncDir syncs a directory, so that renamed and created files survive a power
// failure.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
