package blobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// Content in object storage has a row in blobs whose upload_id is the key of the object. Keys are used
// once: an upload of content that was removed gets another key. So an object can be removed after the
// transaction that deleted its row, while the same content is saved again.
//
// The row in uploads is written before the object and deleted with the transaction that keeps it, so every
// object that a crash leaves behind is known. The row of an object that is to be removed has touched_at 0.

// objectPrefix begins the keys of all objects.
const objectPrefix = "sha256/"

// touchInterval is how often a long upload is marked as alive.
const touchInterval = time.Minute

// isObject reports whether the content of an upload is in object storage.
func isObject(upload string) bool { return strings.HasPrefix(upload, objectPrefix) }

// objectKey returns a new key for content with a hash.
func objectKey(s *core.DB, hash string) string {
	return objectPrefix + hash[:2] + "/" + hash[2:] + "-" + s.IDs().New("")
}

// hashOfKey returns the hash in a key, or "" for any other key.
func hashOfKey(key string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(key, objectPrefix), "-")
	hash := strings.Replace(name, "/", "", 1)
	if !isObject(key) || len(hash) != 2*sha256.Size || key[len(objectPrefix)+2] != '/' {
		return ""
	}
	return hash
}

// Objects is the bucket that stores content in object storage. Content that is still elsewhere is read and
// removed there.
type Objects struct {
	s     *core.DB
	store core.Objects
	local Bucket // the directory or the tables

	listedAt time.Time // when Sweep last listed the storage; only Sweep uses it
}

// objectDraft is content that waits on this machine until its hash is known.
type objectDraft struct {
	o      *Objects
	small  []byte   // content of at most one piece
	large  *os.File // without a name; nil for small content
	pieces []byte   // the SHA-256 of each piece of large content
	key    string   // of the object once it is being written
	kept   bool
}

// Put implements Bucket.
func (o *Objects) Put(ctx context.Context, content io.Reader) (draft, error) {
	if o.s.Config.ObjectsReadOnly {
		return o.local.Put(ctx, content)
	}
	d := &objectDraft{o: o}
	if err := d.fill(content); err != nil {
		d.Drop()
		return nil, err
	}
	return d, nil
}

// fill reads the content and hashes its pieces.
func (d *objectDraft) fill(content io.Reader) error {
	piece := make([]byte, chunkSize)
	for {
		n, err := io.ReadFull(content, piece)
		end := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !end {
			return err
		}
		if end && d.large == nil {
			d.small = bytes.Clone(piece[:n])
			return nil
		}
		if n > 0 {
			if err := d.addPiece(piece[:n]); err != nil {
				return dbconn.StorageError(fmt.Errorf("write a file: %w", err))
			}
		}
		if end {
			return nil
		}
	}
}

// addPiece appends to the temporary file. The file has no name, so a crash leaves nothing.
func (d *objectDraft) addPiece(data []byte) (err error) {
	if d.large == nil {
		if d.large, err = os.CreateTemp(d.o.s.Config.DataDir, "upload-"); err != nil {
			return err
		}
		if err := os.Remove(d.large.Name()); err != nil {
			return err
		}
	}
	sum := sha256.Sum256(data)
	d.pieces = append(d.pieces, sum[:]...)
	_, err = d.large.Write(data)
	return err
}

// open returns the content from its beginning.
func (d *objectDraft) open(size int64) io.Reader {
	if d.large == nil {
		return bytes.NewReader(d.small)
	}
	return io.NewSectionReader(d.large, 0, size)
}

// Keep writes the object unless another file has the same content. If that file is erased meanwhile, it
// starts again.
func (d *objectDraft) Keep(ctx context.Context, m *Meter, insertRow func(*core.Tx) error) error {
	blob := gen.ClaimBlobParams{Hash: m.Sum(), Size: m.Size}
	for {
		found, err := d.o.s.Reads.FindBlob(ctx, blob.Hash)
		if err != nil && !dbconn.IsNoRows(err) {
			return err
		}
		if err == nil && isObject(found.UploadID) {
			if joined, err := d.join(ctx, found, insertRow); joined || err != nil {
				return err
			}
			continue
		}
		return d.write(ctx, blob, insertRow)
	}
}

// join inserts the row of a file whose content is stored already. It reports false if the content is gone.
func (d *objectDraft) join(ctx context.Context, blob gen.Blob, insertRow func(*core.Tx) error) (joined bool, err error) {
	err = d.o.s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n, err := tx.Queries.HoldBlob(tx.Ctx, blob.Hash)
		if joined = n > 0; err != nil || !joined {
			return err
		}
		return insertRow(tx)
	})
	return joined, err
}

// write stores the object and then its rows.
func (d *objectDraft) write(ctx context.Context, blob gen.ClaimBlobParams, insertRow func(*core.Tx) error) error {
	key := objectKey(d.o.s, blob.Hash)
	d.key, blob.UploadID = key, key
	if err := d.o.upload(ctx, blob, d.open); err != nil {
		return err
	}
	err := d.o.s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if err := d.o.claim(tx, blob, d.pieces); err != nil {
			return err
		}
		return insertRow(tx)
	})
	d.kept = err == nil
	if d.kept {
		d.o.removeAbandoned(ctx, key) // if another upload of the same content was faster
	}
	return err
}

// upload writes an object, and its row in uploads before it.
func (o *Objects) upload(ctx context.Context, blob gen.ClaimBlobParams, open func(size int64) io.Reader) error {
	err := o.s.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		return tx.Queries.InsertUpload(tx.Ctx, gen.InsertUploadParams{ID: blob.UploadID, TouchedAt: o.s.NowMicros()})
	})
	if err != nil {
		return fmt.Errorf("begin an upload: %w", err)
	}
	alive := &liveUpload{o: o, key: blob.UploadID, touched: time.Now()}
	return outlast(ctx, func() error {
		if err := alive.touch(ctx); err != nil {
			return err
		}
		err := o.store.Put(ctx, blob.UploadID, blob.Size, blob.Hash, func() io.Reader { return &liveReader{ctx, open(blob.Size), alive} })
		if err != nil && ctx.Err() == nil {
			err = dbconn.ObjectsUnavailable(fmt.Errorf("store a file: %w", err))
		}
		return err
	})
}

// outlast repeats an access to the storage for steps of accepted runs until the storage is back, because
// its restart must not fail them. Other callers get its error.
func outlast(ctx context.Context, access func() error) error {
	for pause := time.Second; ; pause = min(2*pause, 10*time.Second) {
		err := access()
		if !flow.OutlastsOutages(ctx) || !errors.Is(err, &flow.Error{Code: flow.CodeStorageUnavailable}) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause/2 + rand.N(pause/2)):
		}
	}
}

// liveUpload is an upload that is marked as alive every touchInterval.
type liveUpload struct {
	o   *Objects
	key string

	mu      sync.Mutex
	touched time.Time
}

// liveReader reads the content of an upload.
type liveReader struct {
	ctx     context.Context // of the caller of upload
	content io.Reader
	upload  *liveUpload
}

// Read implements io.Reader.
func (r *liveReader) Read(p []byte) (int, error) {
	if err := r.upload.touch(r.ctx); err != nil {
		return 0, err
	}
	return r.content.Read(p)
}

// touch marks the upload as alive, unless that was done a moment ago.
func (u *liveUpload) touch(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if time.Since(u.touched) < touchInterval {
		return nil
	}
	u.touched = time.Now()
	return u.o.touch(ctx, u.key)
}

// touch marks an upload as alive.
func (o *Objects) touch(ctx context.Context, key string) error {
	return o.s.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		n, err := tx.Queries.TouchUpload(tx.Ctx, gen.TouchUploadParams{ID: key, TouchedAt: o.s.NowMicros()})
		if err == nil && n == 0 {
			err = errSwept()
		}
		return err
	})
}

// claim makes an object the content of its hash. If another object is that already, this one is abandoned;
// content in the tables is replaced.
func (o *Objects) claim(tx *core.Tx, blob gen.ClaimBlobParams, pieces []byte) error {
	n, err := tx.Queries.EndUpload(tx.Ctx, blob.UploadID)
	if err == nil && n == 0 {
		err = errSwept()
	}
	if err != nil {
		return err
	}
	kept, err := tx.Queries.ClaimBlob(tx.Ctx, blob)
	if err != nil {
		return fmt.Errorf("keep a file: %w", err)
	}
	if kept != blob.UploadID && isObject(kept) {
		return tx.Queries.InsertUpload(tx.Ctx, gen.InsertUploadParams{ID: blob.UploadID})
	}
	if kept != blob.UploadID {
		if _, err := tx.Queries.MoveBlob(tx.Ctx, gen.MoveBlobParams{Hash: blob.Hash, UploadID: blob.UploadID, MovedFrom: kept}); err != nil {
			return err
		}
		if err := tx.Queries.DeleteChunks(tx.Ctx, kept); err != nil {
			return err
		}
	}
	if len(pieces) == 0 {
		return nil
	}
	return tx.Queries.InsertChunk(tx.Ctx, gen.InsertChunkParams{UploadID: blob.UploadID, Data: pieces})
}

// Drop removes the temporary file, and an object that was not kept.
func (d *objectDraft) Drop() {
	if d.large != nil {
		_ = d.large.Close()
	}
	if d.kept || d.key == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), dropTimeout)
	defer cancel()
	if err := d.o.abandon(ctx, d.key, d.o.s.NowMicros()); err != nil {
		d.o.s.Config.Log.Warn("an object is left for the next sweep", "object", d.key, "error", err)
	}
}

// abandon removes the object of an upload that was not touched since. It removes nothing of an upload that
// was kept, even if the answer to the commit was lost.
func (o *Objects) abandon(ctx context.Context, key string, since int64) error {
	var n int64
	err := o.s.Write(ctx, core.Relaxed, func(tx *core.Tx) (err error) {
		n, err = tx.Queries.AbandonUpload(tx.Ctx, gen.AbandonUploadParams{ID: key, TouchedBefore: since})
		return err
	})
	if err != nil || n == 0 {
		return err
	}
	return o.removeObject(ctx, key)
}

// removeObject deletes an object that was abandoned, and then its row in uploads.
func (o *Objects) removeObject(ctx context.Context, key string) error {
	if err := o.store.Delete(ctx, key); err != nil {
		return fmt.Errorf("delete the object %s: %w", key, err)
	}
	return o.s.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		_, err := tx.Queries.DeleteUpload(tx.Ctx, key)
		return err
	})
}

// removeAbandoned removes an object if it is abandoned. Errors are left to the next sweep.
func (o *Objects) removeAbandoned(ctx context.Context, key string) {
	if at, err := o.s.Reads.FindUpload(ctx, key); err != nil || at != 0 {
		return
	}
	if err := o.removeObject(ctx, key); err != nil {
		o.s.Config.Log.Warn("an object is left for the next sweep", "object", key, "error", err)
	}
}

// Remove implements Bucket. While the storage cannot be reached, the object is left to the next sweep.
func (o *Objects) Remove(ctx context.Context, hash string) error {
	var key string
	err := o.s.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		key = ""
		if n, err := tx.Queries.HoldBlob(tx.Ctx, hash); err != nil || n == 0 {
			return err
		}
		if _, err := tx.Queries.FindLiveHash(tx.Ctx, hash); !dbconn.IsNoRows(err) {
			return err
		}
		blob, err := tx.Queries.FindBlob(tx.Ctx, hash)
		if err != nil || !isObject(blob.UploadID) {
			return err
		}
		key = blob.UploadID
		return dbconn.FirstError(
			func() error { return tx.Queries.DeleteBlob(tx.Ctx, hash) },
			func() error { return tx.Queries.DeleteChunks(tx.Ctx, key) },
			func() error { return tx.Queries.InsertUpload(tx.Ctx, gen.InsertUploadParams{ID: key}) },
		)
	})
	if err != nil {
		return err
	}
	if key != "" {
		o.removeAbandoned(ctx, key)
	}
	return o.local.Remove(ctx, hash)
}

// Open implements Bucket. Content that is moved while it is opened or read is read on at its new place.
func (o *Objects) Open(ctx context.Context, hash string) (io.ReadSeekCloser, error) {
	find := func() (io.ReadSeekCloser, error) { return o.find(ctx, hash) }
	r, err := find()
	if err != nil && ctx.Err() == nil && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, errKnownElsewhere)) {
		r, err = find()
	}
	if err != nil {
		return nil, err
	}
	return &movedReader{ReadSeekCloser: r, find: find}, nil
}

// movedReader reads content that can be moved meanwhile.
type movedReader struct {
	io.ReadSeekCloser
	find func() (io.ReadSeekCloser, error)
}

// Read looks for the content again if it is no longer where it was.
func (r *movedReader) Read(p []byte) (int, error) {
	n, err := r.ReadSeekCloser.Read(p)
	if n > 0 || !errors.Is(err, fs.ErrNotExist) {
		return n, err
	}
	at, err := r.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	found, err := r.find()
	if err != nil {
		return 0, err
	}
	_ = r.Close()
	r.ReadSeekCloser = found
	if _, err := found.Seek(at, io.SeekStart); err != nil {
		return 0, err
	}
	return found.Read(p)
}

// find opens content where it is now.
func (o *Objects) find(ctx context.Context, hash string) (io.ReadSeekCloser, error) {
	blob, err := o.s.Reads.FindBlob(ctx, hash)
	if err != nil && !dbconn.IsNoRows(err) {
		return nil, err
	}
	if err != nil || !isObject(blob.UploadID) {
		return o.local.Open(ctx, hash)
	}
	r, err := o.open(ctx, blob)
	if errors.Is(err, fs.ErrNotExist) && !o.s.IsPostgres() {
		return o.local.Open(ctx, hash) // a backup with the content of files was restored
	}
	return r, err
}

// Link returns a URL of content in object storage, or "" if it is elsewhere.
func (o *Objects) Link(ctx context.Context, hash, mediaType, disposition string, lifetime time.Duration) (string, error) {
	blob, err := o.s.Reads.FindBlob(ctx, hash)
	if err != nil || !isObject(blob.UploadID) {
		return "", nil //nolint:nilerr // the caller serves the content, or reports why it cannot
	}
	return o.store.Link(ctx, blob.UploadID, mediaType, disposition, lifetime)
}
