package blobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// errUnused is returned if no file uses content any more.
var errUnused = errors.New("no file uses the content")

// errChanged is returned for content that is not what its hash says.
var errChanged = errors.New("it does not have the content that was stored")

// MoveIn moves the content with a hash to object storage and compares it with its hash. It reports whether
// there was anything to move. Readers find the content at any time.
func (o *Objects) MoveIn(ctx context.Context, hash string) (moved bool, size int64, err error) {
	blob, err := o.s.Reads.FindBlob(ctx, hash)
	if err != nil && !dbconn.IsNoRows(err) || err == nil && isObject(blob.UploadID) {
		return false, 0, err
	}
	content, err := o.local.Open(ctx, hash)
	if err != nil {
		return false, 0, err
	}
	defer content.Close()
	d, m := &objectDraft{o: o}, NewMeter(content, maxMoved)
	defer d.Drop()
	if err := d.fill(m); err != nil {
		return false, 0, err
	}
	if m.Sum() != hash {
		return false, 0, errChanged
	}
	err = d.write(ctx, gen.ClaimBlobParams{Hash: hash, Size: m.Size}, func(tx *core.Tx) error { return needsContent(tx, hash) })
	if errors.Is(err, errUnused) {
		return false, 0, nil
	}
	if disk, ok := o.local.(*Disk); ok && err == nil {
		err = os.Remove(disk.path(hash))
	}
	return err == nil, m.Size, err
}

// maxMoved is no limit: stored content was within the limit of its time.
const maxMoved = 1 << 60

// MoveOut moves the content with a hash from object storage to the directory or the tables. It reports
// whether there was anything to move. Readers find the content at any time.
func (o *Objects) MoveOut(ctx context.Context, hash string) (moved bool, size int64, err error) {
	blob, err := o.s.Reads.FindBlob(ctx, hash)
	if dbconn.IsNoRows(err) || err == nil && !isObject(blob.UploadID) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, err
	}
	content, err := o.open(ctx, blob) // compares it with its hash
	if err != nil {
		return false, 0, err
	}
	defer content.Close()
	d, err := o.local.Put(ctx, content)
	if err != nil {
		return false, 0, err
	}
	defer d.Drop()
	if disk, ok := d.(*diskDraft); ok {
		disk.d.naming.RLock()
		defer disk.d.naming.RUnlock()
		if err := disk.rename(disk.d.path(hash)); err != nil {
			return false, 0, dbconn.StorageError(fmt.Errorf("keep a file: %w", err))
		}
	}
	err = o.s.Write(ctx, core.Durable, func(tx *core.Tx) error { return moveOut(tx, blob, d) })
	if errors.Is(err, errUnused) {
		return false, 0, nil
	}
	if table, ok := d.(*tableDraft); ok {
		table.kept = err == nil
	}
	if err == nil {
		o.removeAbandoned(ctx, blob.UploadID)
	}
	return err == nil, blob.Size, err
}

// moveOut makes the draft the content of a blob and abandons its object.
func moveOut(tx *core.Tx, blob gen.Blob, d draft) error {
	if n, err := tx.Queries.HoldBlob(tx.Ctx, blob.Hash); err != nil || n == 0 {
		return errors.Join(err, errUnused)
	}
	if err := needsContent(tx, blob.Hash); err != nil {
		return err
	}
	err := tx.Queries.DeleteBlob(tx.Ctx, blob.Hash)
	if table, ok := d.(*tableDraft); ok && err == nil {
		var n int64
		if n, err = tx.Queries.DeleteUpload(tx.Ctx, table.id); err == nil && n == 0 {
			err = errSwept()
		}
		if err == nil {
			_, err = tx.Queries.ClaimBlob(tx.Ctx, gen.ClaimBlobParams{Hash: blob.Hash, UploadID: table.id, Size: blob.Size})
		}
	}
	return dbconn.FirstError(
		func() error { return err },
		func() error { return tx.Queries.DeleteChunks(tx.Ctx, blob.UploadID) },
		func() error { return tx.Queries.InsertUpload(tx.Ctx, gen.InsertUploadParams{ID: blob.UploadID}) },
	)
}

// needsContent returns errUnused if no file uses the content with a hash.
func needsContent(tx *core.Tx, hash string) error {
	_, err := tx.Queries.FindLiveHash(tx.Ctx, hash)
	if dbconn.IsNoRows(err) {
		return errUnused
	}
	return err
}

// Stored is the object of a content.
type Stored struct {
	Hash string
	Size int64
}

// Missing calls each for the contents of files whose object does not exist or has another size.
func (o *Objects) Missing(ctx context.Context, each func(Stored)) error {
	const digits = "0123456789abcdef"
	for i := range 256 {
		prefix := string([]byte{digits[i>>4], digits[i&15]})
		sizes := map[string]int64{}
		err := o.store.List(ctx, objectPrefix+prefix+"/", func(key string, size int64, _ time.Time) error {
			sizes[key] = size
			return nil
		})
		if err != nil {
			return dbconn.ObjectsUnavailable(err)
		}
		if err := o.compare(ctx, prefix, sizes, each); err != nil {
			return err
		}
	}
	return nil
}

// compare compares the blobs whose hashes begin with a prefix with the sizes of objects.
func (o *Objects) compare(ctx context.Context, prefix string, sizes map[string]int64, each func(Stored)) error {
	for after := prefix; ; {
		list, err := o.s.Reads.ListBlobs(ctx, gen.ListBlobsParams{After: after, MaxRows: moveBatch})
		if err != nil {
			return err
		}
		for _, blob := range list {
			if blob.Hash[:2] != prefix {
				return nil
			}
			if size, ok := sizes[blob.UploadID]; isObject(blob.UploadID) && (!ok || size != blob.Size) {
				if _, err := o.s.Reads.FindLiveHash(ctx, blob.Hash); err == nil {
					each(Stored{blob.Hash, blob.Size})
				} else if !dbconn.IsNoRows(err) {
					return err
				}
			}
		}
		if len(list) < moveBatch {
			return nil
		}
		after = list[len(list)-1].Hash
	}
}

// moveBatch is how many rows are read at a time.
const moveBatch = 500

// Moved counts the contents that Move has moved.
type Moved struct {
	Contents int64 `json:"contents"`
	Bytes    int64 `json:"bytes"`
	Failed   int64 `json:"failed"` // were left where they are; see the log
}

// Move moves the content of all files to object storage or back, while servers run. A content that cannot be
// moved is left where it is. If Move is interrupted, another call continues.
func (o *Objects) Move(ctx context.Context, in bool) (n Moved, err error) {
	move := o.MoveOut
	if in {
		move = o.MoveIn
	}
	for after := ""; ; {
		hashes, err := o.s.Reads.ListLiveHashes(ctx, gen.ListLiveHashesParams{After: after, MaxRows: moveBatch})
		if err != nil {
			return n, err
		}
		for _, hash := range hashes {
			moved, size, err := move(ctx, hash)
			if ctx.Err() != nil || errors.Is(err, &flow.Error{Code: flow.CodeStorageUnavailable}) {
				return n, errors.Join(err, ctx.Err())
			}
			if err != nil {
				n.Failed++
				o.s.Config.Log.Error("a content is left where it is", "hash", hash, "error", err)
			}
			if moved {
				n.Contents, n.Bytes = n.Contents+1, n.Bytes+size
			}
		}
		if len(hashes) < moveBatch {
			return n, nil
		}
		after = hashes[len(hashes)-1]
	}
}
