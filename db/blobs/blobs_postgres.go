package blobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// chunkSize is the size of the content in one row, in bytes. Reading and writing a
// file needs about that much memory.
const chunkSize = 1 << 20

// dropTimeout bounds the removal of an upload.
const dropTimeout = 10 * time.Second

// table is the bucket that many processes share: content is stored as rows of
// chunks. The chunks are written without a sync, because the durable commit of the
// row of the file also syncs them.
type table struct{ s *core.DB }

// tableDraft is an upload whose chunks are written.
type tableDraft struct {
	s    *core.DB
	id   string
	kept bool
}

// Put implements Bucket.
func (t *table) Put(ctx context.Context, content io.Reader) (draft, error) {
	up := &tableDraft{s: t.s, id: t.s.IDs().New("upload_")}
	err := t.s.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		return tx.Queries.InsertUpload(tx.Ctx, gen.InsertUploadParams{ID: up.id, TouchedAt: t.s.NowMicros()})
	})
	if err != nil {
		return nil, fmt.Errorf("begin an upload: %w", err)
	}
	if err := up.fill(ctx, content); err != nil {
		up.Drop()
		return nil, err
	}
	return up, nil
}

// fill reads the content and stores it in chunks.
func (u *tableDraft) fill(ctx context.Context, content io.Reader) error {
	chunk := make([]byte, chunkSize)
	for number := int64(0); ; number++ {
		n, err := io.ReadFull(content, chunk)
		if n > 0 && (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) {
			if err := u.add(ctx, number, chunk[:n]); err != nil {
				return fmt.Errorf("write a file: %w", err)
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// add stores a piece of the content. The transaction also marks the upload as alive, so
// that it is not swept while it is slow.
func (u *tableDraft) add(ctx context.Context, number int64, data []byte) error {
	return u.s.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		n, err := tx.Queries.TouchUpload(tx.Ctx, gen.TouchUploadParams{ID: u.id, TouchedAt: u.s.NowMicros()})
		if err == nil && n == 0 {
			err = errSwept()
		}
		if err != nil {
			return err
		}
		return tx.Queries.InsertChunk(tx.Ctx, gen.InsertChunkParams{UploadID: u.id, Number: number, Data: data})
	})
}

// errSwept returns the error for an upload that a sweep has removed because it stalled.
func errSwept() error {
	e := flow.Errorf(flow.CodeOverloaded, "The upload stalled for too long and was aborted. Send the file again.")
	e.Retryable = true
	return e
}

// Keep makes the upload a blob. Of two uploads with equal content, the second waits
// for the first and deletes its own chunks.
func (u *tableDraft) Keep(ctx context.Context, m *Meter, insertRow func(*core.Tx) error) error {
	blob := gen.ClaimBlobParams{Hash: m.Sum(), UploadID: u.id, Size: m.Size}
	err := u.s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n, err := tx.Queries.DeleteUpload(tx.Ctx, u.id)
		if err == nil && n == 0 {
			err = errSwept()
		}
		if err != nil {
			return err
		}
		kept, err := tx.Queries.ClaimBlob(tx.Ctx, blob)
		if err == nil && kept != u.id {
			err = tx.Queries.DeleteChunks(tx.Ctx, u.id)
		}
		if err != nil {
			return fmt.Errorf("keep a file: %w", err)
		}
		return insertRow(tx)
	})
	u.kept = err == nil
	return err
}

// Drop removes the chunks of an upload that is still open. It removes nothing of an
// upload that was kept, even if the answer to the commit was lost.
func (u *tableDraft) Drop() {
	if u.kept {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), dropTimeout)
	defer cancel()
	if err := dropUpload(ctx, u.s, u.id); err != nil {
		u.s.Config.Log.Warn("an upload is left for the next sweep", "upload", u.id, "error", err)
	}
}

// dropUpload deletes an upload with its pieces. It does nothing if the upload is gone.
func dropUpload(ctx context.Context, s *core.DB, id string) error {
	return s.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		n, err := tx.Queries.DeleteUpload(tx.Ctx, id)
		if err != nil || n == 0 {
			return err
		}
		return tx.Queries.DeleteChunks(tx.Ctx, id)
	})
}

// Remove locks the blob before it checks whether a file uses it, because a single
// statement would not see a file that is being saved concurrently.
func (t *table) Remove(ctx context.Context, hash string) error {
	return t.s.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		if n, err := tx.Queries.HoldBlob(tx.Ctx, hash); err != nil || n == 0 {
			return err
		}
		if _, err := tx.Queries.FindLiveHash(tx.Ctx, hash); !dbconn.IsNoRows(err) {
			return err
		}
		blob, err := tx.Queries.FindBlob(tx.Ctx, hash)
		if err != nil {
			return err
		}
		if isObject(blob.UploadID) && t.s.Config.Objects != nil {
			return nil // it was saved again meanwhile
		}
		if isObject(blob.UploadID) {
			return errElsewhere()
		}
		return cmp.Or(tx.Queries.DeleteChunks(tx.Ctx, blob.UploadID), tx.Queries.DeleteBlob(tx.Ctx, hash))
	})
}

// Sweep removes uploads that have stalled. There are no blobs without a file, because
// both are written in one transaction.
func (t *table) Sweep(ctx context.Context, before time.Time) error {
	for {
		ids, err := t.s.Reads.ListUploads(ctx, gen.ListUploadsParams{TouchedBefore: dbconn.Micros(before), MaxRows: 100})
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			if err := dropUpload(ctx, t.s, id); err != nil {
				return fmt.Errorf("abort %s: %w", id, err)
			}
		}
	}
}

// Open implements Bucket.
func (t *table) Open(ctx context.Context, hash string) (io.ReadSeekCloser, error) {
	blob, err := t.s.Reads.FindBlob(ctx, hash)
	if dbconn.IsNoRows(err) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	if isObject(blob.UploadID) {
		return nil, errElsewhere()
	}
	return &tableReader{ctx: ctx, q: t.s.Reads, upload: blob.UploadID, size: blob.Size, at: -1}, nil
}

// tableReader reads a blob chunk by chunk.
type tableReader struct {
	ctx    context.Context // of the caller of Open
	q      *gen.Queries
	upload string
	size   int64
	offset int64
	at     int64  // number of the loaded chunk, or -1
	chunk  []byte // its data
}

// Read returns the rest of the chunk at the offset.
func (r *tableReader) Read(p []byte) (int, error) {
	if r.q == nil {
		return 0, fs.ErrClosed
	}
	if r.offset >= r.size {
		return 0, io.EOF
	}
	if err := r.load(r.offset / chunkSize); err != nil {
		return 0, err
	}
	n := copy(p, r.chunk[min(r.offset%chunkSize, int64(len(r.chunk))):])
	if n == 0 && len(p) > 0 {
		return 0, io.ErrUnexpectedEOF
	}
	r.offset += int64(n)
	return n, nil
}

// load reads the piece with a number unless it is the current one. It returns
// fs.ErrNotExist if the piece is gone.
func (r *tableReader) load(number int64) (err error) {
	if r.at == number {
		return nil
	}
	r.at = -1
	r.chunk, err = r.q.FindChunk(r.ctx, gen.FindChunkParams{UploadID: r.upload, Number: number})
	if dbconn.IsNoRows(err) {
		return fs.ErrNotExist
	}
	if err == nil {
		r.at = number
	}
	return err
}

// Seek sets the offset. Reading beyond the end returns io.EOF.
func (r *tableReader) Seek(offset int64, whence int) (int64, error) {
	next, err := seek(r.offset, r.size, offset, whence)
	if err == nil {
		r.offset = next
	}
	return next, err
}

// seek returns the offset that Seek of an io.Seeker sets in content of size bytes.
func seek(current, size, offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += current
	case io.SeekEnd:
		offset += size
	case io.SeekStart:
	default:
		offset = -1
	}
	if offset < 0 {
		return 0, fmt.Errorf("seek to %d: %w", offset, fs.ErrInvalid)
	}
	return offset, nil
}

// Close releases the chunk. Later reads return fs.ErrClosed.
func (r *tableReader) Close() error {
	r.q, r.chunk = nil, nil
	return nil
}
