package blobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// readAttempts is how often a piece is read before its error is returned.
const readAttempts = 3

// errAltered is the error of an attempt that read another content than the one that was stored.
var errAltered = errors.New("the content of a piece is not what was stored")

// errDamaged returns the error for an object whose content is not what was stored.
func errDamaged() error {
	return flow.Errorf(flow.CodeNotFound, "The content of this file is damaged in the object storage. Upload it again.")
}

// objectReader reads an object piece by piece. It returns no byte of a piece before it has compared the
// piece with its hash.
type objectReader struct {
	ctx    context.Context // of the caller of Open
	s      *core.DB
	store  core.Objects
	blob   gen.Blob
	hashes []byte // the SHA-256 of each piece
	offset int64
	at     int64 // number of the loaded piece, or -1
	piece  []byte
	body   io.ReadCloser // continues with the piece after the loaded one; nil if it must be requested
}

// open opens an object and reads its first piece, so that the state of the storage is known before a
// response begins.
func (o *Objects) open(ctx context.Context, blob gen.Blob) (io.ReadSeekCloser, error) {
	r := &objectReader{ctx: ctx, s: o.s, store: o.store, blob: blob, at: -1}
	if blob.Size <= chunkSize {
		r.hashes, _ = hex.DecodeString(blob.Hash)
	} else {
		hashes, err := o.s.Reads.FindChunk(ctx, gen.FindChunkParams{UploadID: blob.UploadID})
		if dbconn.IsNoRows(err) {
			return nil, fs.ErrNotExist // removed in the meantime
		}
		if err != nil {
			return nil, err
		}
		r.hashes = hashes
	}
	if int64(len(r.hashes)) != (max(blob.Size, 1)+chunkSize-1)/chunkSize*sha256.Size {
		return nil, errDamaged()
	}
	if err := r.load(0); err != nil {
		return nil, err
	}
	return r, nil
}

// Read returns the rest of the piece at the offset.
func (r *objectReader) Read(p []byte) (int, error) {
	if r.s == nil {
		return 0, fs.ErrClosed
	}
	if r.offset >= r.blob.Size {
		return 0, io.EOF
	}
	if err := r.load(r.offset / chunkSize); err != nil {
		return 0, err
	}
	n := copy(p, r.piece[r.offset%chunkSize:])
	r.offset += int64(n)
	return n, nil
}

// load reads the piece with a number unless it is the current one.
func (r *objectReader) load(number int64) error {
	if r.at == number {
		return nil
	}
	if r.at != number-1 {
		r.release()
	}
	first := r.at < 0
	r.at = -1
	return outlast(r.ctx, func() error { return r.read(number, first) })
}

// read reads the piece with a number, and again if it is not what was stored. Only content that differs in each attempt is damaged: a
// connection can alter one answer while others are lost.
func (r *objectReader) read(number int64, first bool) (err error) {
	damaged := 0
	for range readAttempts {
		if err = r.try(number, first); err == nil {
			r.at = number
			return nil
		}
		r.release()
		if r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if errors.Is(err, errAltered) {
			damaged++
		}
	}
	if damaged == readAttempts {
		r.s.Config.Log.Error("an object has another content than the one that was stored", "object", r.blob.UploadID, "piece", number)
		return errDamaged()
	}
	return dbconn.ObjectsUnavailable(fmt.Errorf("read a file: %w", err))
}

// try reads one piece and compares it with its hash. The first piece of a reader is requested without
// what follows it, because often nothing more is read.
func (r *objectReader) try(number int64, first bool) error {
	from := number * chunkSize
	size := min(r.blob.Size-from, chunkSize)
	if size > 0 && r.body == nil {
		length := int64(-1)
		if first {
			length = size
		}
		body, err := r.store.Get(r.ctx, r.blob.UploadID, from, length)
		if err != nil {
			return err
		}
		r.body = body
	}
	if int64(cap(r.piece)) < size {
		r.piece = make([]byte, size)
	}
	r.piece = r.piece[:size]
	if size > 0 {
		if _, err := io.ReadFull(r.body, r.piece); err != nil {
			return err
		}
	}
	if first || from+size == r.blob.Size {
		r.release()
	}
	sum := sha256.Sum256(r.piece)
	if !bytes.Equal(sum[:], r.hashes[number*sha256.Size:(number+1)*sha256.Size]) {
		return errAltered
	}
	return nil
}

// release closes the open response, if any.
func (r *objectReader) release() {
	if r.body != nil {
		_ = r.body.Close() // what is left of it is not needed
		r.body = nil
	}
}

// Seek sets the offset. Reading beyond the end returns io.EOF.
func (r *objectReader) Seek(offset int64, whence int) (int64, error) {
	next, err := seek(r.offset, r.blob.Size, offset, whence)
	if err == nil {
		r.offset = next
	}
	return next, err
}

// Close ends the request in progress. Later reads return fs.ErrClosed.
func (r *objectReader) Close() error {
	r.release()
	r.s, r.piece = nil, nil
	return nil
}
