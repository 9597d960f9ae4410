// Package blobs stores the content of files by its SHA-256, each content once: in a
// directory next to SQLite, in tables on PostgreSQL, or with either in object storage.
// It knows nothing about access to files.
//
// Saving a file takes two steps, so that no lock is held while a client uploads:
// Put writes a draft under a temporary name, and Keep makes it permanent together
// with the row of the file. Sweep removes what a crash leaves in between.
package blobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/flow"
)

// Bucket stores content by its SHA-256, each content once.
type Bucket interface {
	// Put reads content to its end and stores it as a draft.
	Put(ctx context.Context, content io.Reader) (draft, error)
	// Open opens the content with a hash, or returns fs.ErrNotExist.
	Open(ctx context.Context, hash string) (io.ReadSeekCloser, error)
	// Remove removes content unless a file uses it, including a file that is being
	// saved concurrently.
	Remove(ctx context.Context, hash string) error
	// Sweep removes drafts and content from before a time that crashes left behind.
	Sweep(ctx context.Context, before time.Time) error
}

// draft is content that was put. The caller must call Drop at the end, also after
// Keep.
type draft interface {
	// Keep makes the draft the content of its hash. Once the content is synced, it
	// runs insertRow, which inserts the row of a file, in a durable transaction.
	Keep(ctx context.Context, m *Meter, insertRow func(*core.Tx) error) error
	// Drop removes a draft that was not kept.
	Drop()
}

// headSize is the number of bytes from which the media type is detected.
const headSize = 4096

// Meter measures and hashes content that is read through it.
type Meter struct {
	content io.Reader
	limit   int64 // bytes
	Left    int64 // bytes that the quota of the workspace allows; used with Refusal
	Refusal error // returned beyond Left; nil means no quota
	Size    int64
	hash    hash.Hash
	Head    []byte
}

// NewMeter returns a meter for content of at most limit bytes.
func NewMeter(content io.Reader, limit int64) *Meter {
	return &Meter{content: content, limit: limit, hash: sha256.New()}
}

// Read returns an error for content beyond a limit.
func (m *Meter) Read(p []byte) (int, error) {
	n, err := m.content.Read(p)
	m.Size += int64(n)
	if m.Size > m.limit {
		return 0, flow.Errorf(flow.CodeBodyTooLarge, "The file is larger than the limit of %s. Send a smaller one, or ask the operator to raise SLUICE_MAX_FILE.", flow.Size(m.limit))
	}
	if m.Refusal != nil && m.Size > m.Left {
		return 0, m.Refusal
	}
	m.hash.Write(p[:n])
	if missing := headSize - len(m.Head); missing > 0 {
		m.Head = append(m.Head, p[:min(n, missing)]...)
	}
	return n, err
}

// Sum returns the hash of everything read so far, in hex.
func (m *Meter) Sum() string { return hex.EncodeToString(m.hash.Sum(nil)) }

// NewBucket returns the bucket of a database: object storage if it is configured,
// otherwise a directory next to SQLite, or tables on PostgreSQL.
func NewBucket(s *core.DB) Bucket {
	local := newLocal(s)
	if s.Config.Objects != nil {
		return &Objects{s: s, store: s.Config.Objects, local: local}
	}
	return local
}

// newLocal returns the bucket without object storage.
func newLocal(s *core.DB) Bucket {
	if s.IsPostgres() {
		return &table{s}
	}
	return newDisk(s)
}

// errKnownElsewhere is the cause of errElsewhere.
var errKnownElsewhere = errors.New("the content is in object storage: set SLUICE_FILES as on the server that stored it, or run 'sluice files move --to database' there")

// errElsewhere is returned for content in object storage by a process that does not know the storage.
func errElsewhere() error { return dbconn.ObjectsUnavailable(errKnownElsewhere) }
