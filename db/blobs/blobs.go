// Package blobs keeps the content of files by its SHA-256, each content once: in
// a directory beside SQLite, in tables on PostgreSQL. It knows nothing of who
// may read a file.
package blobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"time"

	"sluice/db/core"
	"sluice/flow"
)

// Bucket keeps content by the SHA-256 of it, each once. What it needs of its
// surroundings is little, so that another kind of storage can stand behind it.
type Bucket interface {
	// Put reads content to its end. What it keeps of it is nobody's yet.
	Put(ctx context.Context, content io.Reader) (draft, error)
	// Open gives content out; fs.ErrNotExist when there is none of this hash.
	Open(ctx context.Context, hash string) (io.ReadSeekCloser, error)
	// Remove takes content away unless a file has it, also one that is just
	// being saved.
	Remove(ctx context.Context, hash string) error
	// Sweep removes what crashes left behind, as long as it is from before.
	Sweep(ctx context.Context, before time.Time) error
}

// draft is content that was put. It must be kept or dropped.
type draft interface {
	// Keep makes it the content of its hash and runs name, which writes the row
	// of a file, in a durable transaction once the content is safe.
	Keep(ctx context.Context, m *Meter, name func(*core.Tx) error) error
	// Drop forgets what was not kept.
	Drop()
}

// headSize is how much the type of content is found out from, in bytes.
const headSize = 4096

// Meter measures content that is read through it.
type Meter struct {
	content io.Reader
	limit   int64 // bytes
	Left    int64 // bytes left in the workspace; used with refusal
	Refusal error // returned beyond room; nil means unlimited
	Size    int64
	hash    hash.Hash
	Head    []byte
}

func NewMeter(content io.Reader, limit int64) *Meter {
	return &Meter{content: content, limit: limit, hash: sha256.New()}
}

// Read refuses content beyond the limit.
func (m *Meter) Read(p []byte) (int, error) {
	n, err := m.content.Read(p)
	m.Size += int64(n)
	if m.Size > m.limit {
		return 0, flow.Errorf(flow.CodeBodyTooLarge, "The file is larger than %s, the most that is kept. Send a smaller one, or let the operator raise SLUICE_MAX_FILE.", flow.Size(m.limit))
	}
	if m.Refusal != nil && m.Size > m.Left {
		return 0, m.Refusal
	}
	m.hash.Write(p[:n])
	if room := headSize - len(m.Head); room > 0 {
		m.Head = append(m.Head, p[:min(n, room)]...)
	}
	return n, err
}

// Sum is the hash of all that was read, in hex.
func (m *Meter) Sum() string { return hex.EncodeToString(m.hash.Sum(nil)) }

// NewBucket returns the bucket of a database: a directory beside SQLite, tables
// on PostgreSQL.
func NewBucket(s *core.DB) Bucket {
	if s.Pool() != nil {
		return &table{s}
	}
	return newDisk(s)
}
