package db

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

// bucket keeps content by the SHA-256 of it, each once. What it needs of its
// surroundings is little, so that another kind of storage can stand behind it.
type bucket interface {
	// put reads content to its end. What it keeps of it is nobody's yet.
	put(ctx context.Context, content io.Reader) (draft, error)
	// open gives content out; fs.ErrNotExist when there is none of this hash.
	open(ctx context.Context, hash string) (io.ReadSeekCloser, error)
	// remove takes content away unless a file has it, also one that is just
	// being saved.
	remove(ctx context.Context, hash string) error
	// sweep removes what crashes left behind, as long as it is from before.
	sweep(ctx context.Context, before time.Time) error
}

// draft is content that was put. It must be kept or dropped.
type draft interface {
	// keep makes it the content of its hash and runs name, which writes the row
	// of a file, in a durable transaction once the content is safe.
	keep(ctx context.Context, m *meter, name func(*core.Tx) error) error
	// drop forgets what was not kept.
	drop()
}

// headSize is how much the type of content is found out from, in bytes.
const headSize = 4096

// meter measures content that is read through it.
type meter struct {
	content io.Reader
	limit   int64 // bytes
	room    int64 // bytes left in the workspace; used with refusal
	refusal error // returned beyond room; nil means unlimited
	size    int64
	hash    hash.Hash
	head    []byte
}

func newMeter(content io.Reader, limit int64) *meter {
	return &meter{content: content, limit: limit, hash: sha256.New()}
}

// Read refuses content beyond the limit.
func (m *meter) Read(p []byte) (int, error) {
	n, err := m.content.Read(p)
	m.size += int64(n)
	if m.size > m.limit {
		return 0, flow.Errorf(flow.CodeBodyTooLarge, "The file is larger than %s, the most that is kept. Send a smaller one, or let the operator raise SLUICE_MAX_FILE.", flow.Size(m.limit))
	}
	if m.refusal != nil && m.size > m.room {
		return 0, m.refusal
	}
	m.hash.Write(p[:n])
	if room := headSize - len(m.head); room > 0 {
		m.head = append(m.head, p[:min(n, room)]...)
	}
	return n, err
}

// sum is the hash of all that was read, in hex.
func (m *meter) sum() string { return hex.EncodeToString(m.hash.Sum(nil)) }

// newBucket returns the bucket of a database: a directory beside SQLite, tables
// on PostgreSQL.
func newBucket(s *core.DB) bucket {
	if s.Pool() != nil {
		return &table{s}
	}
	return newDisk(s)
}
