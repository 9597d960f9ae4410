// Package masterkey reads, creates and joins the master key, the Tink keyset that
// encrypts every secret at rest. It owns the text formats of a key, and the rule
// that a key is created only for a fresh database. Package core encrypts with it.
package masterkey

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"google.golang.org/protobuf/proto"

	"sluice/db/dbconn"
)

// File is the file in the data directory for the master key that is created at
// the first start.
const File = "master.key"

// Source says where the master key is: the first of its fields that is set.
type Source struct {
	Text string // the key, in either form of Parse
	Path string // a file with it, which is never created
	// Command prints the key to standard output. The shell runs it.
	Command string
	Dir     string // the data directory, in which File is created for a fresh database
	Log     *slog.Logger
}

// Read reads the key. It creates one only for a fresh database: a new key could not
// decrypt the secrets of an existing one.
func (s Source) Read(fresh bool) (*keyset.Handle, error) {
	if s.Text != "" {
		return Parse(s.Text)
	}
	if s.Command != "" {
		return s.run()
	}
	path := cmp.Or(s.Path, filepath.Join(s.Dir, File))
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && fresh && s.Path == "" {
		return s.create(path)
	}
	switch {
	case errors.Is(err, os.ErrNotExist) && !fresh:
		return nil, fmt.Errorf("there is no master key in %s; put the key of this database there, or set SLUICE_MASTER_KEY", path)
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no master key in %s; create one with 'openssl rand -base64 32', or unset SLUICE_MASTER_KEY_FILE to create one in the data directory", path)
	case err != nil:
		return nil, fmt.Errorf("read master key: %w", err)
	}
	return Parse(string(text))
}

// Limits of the command that prints the key.
const (
	commandTimeout = 30 * time.Second
	maxKeyText     = 64 << 10 // bytes
	maxComplaint   = 300      // bytes of its standard error in an error message
)

// run runs the command. What it writes to standard output is secret, so an error shows only its standard error.
func (s Source) run() (*keyset.Handle, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	var out, complaint bounded
	out.left, complaint.left = maxKeyText, maxComplaint
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", s.Command)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &complaint, time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("it took longer than %s", commandTimeout)
	}
	if err != nil {
		return nil, fmt.Errorf("SLUICE_MASTER_KEY_COMMAND failed: %w %s", err, strings.TrimSpace(complaint.String()))
	}
	handle, err := Parse(out.String())
	if err != nil {
		return nil, errors.New("SLUICE_MASTER_KEY_COMMAND printed something that is not a master key; it must print the key and nothing else")
	}
	return handle, nil
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	bytes.Buffer
	left int
}

// Write keeps at most the bytes that are left, and reports success for the others.
func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	b.Buffer.Write(p[:n])
	return len(p), nil
}

// create creates the first key of a database, and reminds the operator to back it up. If
// another process was faster, it reads the key of that process.
func (s Source) create(path string) (*keyset.Handle, error) {
	handle, err := Create(path)
	if errors.Is(err, os.ErrExist) { // another process was faster
		return s.Read(false)
	}
	if err == nil {
		s.Log.Warn("Created a master key. Back it up separately from the database: without it, stored secrets cannot be decrypted.", "file", path)
	}
	return handle, err
}

// ReadOrCreate reads the key in a file, or creates it with mode 0600. It serves the
// rotation of the master key, which continues with the same new key after an
// interruption.
func ReadOrCreate(path string) (*keyset.Handle, error) {
	text, err := os.ReadFile(path)
	if err == nil {
		return Parse(string(text))
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the new master key: %w", err)
	}
	return Create(path)
}

// Join returns a keyset that decrypts with either key and encrypts with the fresh
// one. A database is read with it while its secrets are encrypted again.
func Join(old, fresh *keyset.Handle) (*keyset.Handle, error) {
	if old.KeysetInfo().GetPrimaryKeyId() == fresh.KeysetInfo().GetPrimaryKeyId() {
		return nil, errors.New("the new master key is the same as the old one; choose another file with --new-key-file")
	}
	joined := insecurecleartextkeyset.KeysetMaterial(fresh)
	joined.Key = append(joined.Key, insecurecleartextkeyset.KeysetMaterial(old).Key...)
	text, err := proto.Marshal(joined)
	if err != nil {
		return nil, fmt.Errorf("join the master keys: %w", err)
	}
	return insecurecleartextkeyset.Read(keyset.NewBinaryReader(bytes.NewReader(text)))
}

// Create writes a new key, readable by its owner only, unless the file exists.
// The file appears complete or not at all: it is written under another name and
// then linked, because another process may read it at any moment and because a
// crash must not leave a database with an empty key.
func Create(path string) (*keyset.Handle, error) {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("create master key: %w", err)
	}
	var text bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&text)); err != nil {
		return nil, fmt.Errorf("encode master key: %w", err)
	}
	draft, err := os.CreateTemp(filepath.Dir(path), File+"-")
	if err != nil {
		return nil, fmt.Errorf("create master key file: %w", err)
	}
	defer os.Remove(draft.Name())
	_, err = draft.Write(text.Bytes())
	if err := cmp.Or(err, draft.Sync(), draft.Close()); err != nil {
		return nil, fmt.Errorf("write master key file: %w", err)
	}
	if err := cmp.Or(os.Link(draft.Name(), path), dbconn.SyncDir(filepath.Dir(path))); err != nil {
		return nil, fmt.Errorf("create master key file: %w", err)
	}
	return handle, nil
}

// Parse reads a key in either of its two forms: a Tink keyset in JSON, which
// may hold several keys and so allows rotation, or 32 bytes in base64.
func Parse(text string) (*keyset.Handle, error) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(raw) != 32 {
			return nil, errors.New("the master key must be 32 bytes in base64 (create one with: openssl rand -base64 32) or a Tink keyset in JSON")
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
