package blobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/flow"
)

// FilesDir is the directory for the content of files in the data directory, if the
// database is SQLite.
const FilesDir = "files"

// Disk is the bucket of one process: the content with the hash abcd… is the file
// ab/cd…, and drafts are in tmp.
type Disk struct {
	s    *core.DB
	dir  string
	Temp func(dir string) (*os.File, error) // creates a file with mode 0600

	// naming is held for reading from the moment content is renamed to its hash until
	// its row is committed, so that Remove, which holds it for writing, sees the row.
	naming sync.RWMutex

	mu   sync.Mutex
	busy map[string]bool // temporary files that are being written
}

// newDisk returns the bucket in the directory FilesDir of the data directory. It creates no
// directory yet.
func newDisk(s *core.DB) *Disk {
	return &Disk{s: s, dir: filepath.Join(s.Config.DataDir, FilesDir), busy: map[string]bool{}, Temp: makeTemp}
}

func makeTemp(dir string) (*os.File, error) { return os.CreateTemp(dir, "upload-") }

func (d *Disk) tmp() string { return filepath.Join(d.dir, "tmp") }

// path returns the file of a content. The first two digits of the hash are a directory of
// their own, so that no directory has too many entries.
func (d *Disk) path(hash string) string { return filepath.Join(d.dir, hash[:2], hash[2:]) }

// diskDraft is a temporary file whose content is synced.
type diskDraft struct {
	d    *Disk
	path string
}

// Put implements Bucket.
func (d *Disk) Put(_ context.Context, content io.Reader) (draft, error) {
	if err := os.MkdirAll(d.tmp(), 0o700); err != nil {
		return nil, dbconn.StorageError(fmt.Errorf("create the directory for files: %w", err))
	}
	f, err := d.create()
	if err != nil {
		return nil, dbconn.StorageError(fmt.Errorf("create a file: %w", err))
	}
	own := &diskDraft{d, f.Name()}
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		own.Drop()
		return nil, dbconn.StorageError(fmt.Errorf("write a file: %w", err))
	}
	return own, nil
}

// create registers the new file before a sweep can mistake it for a leftover.
func (d *Disk) create() (*os.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := d.Temp(d.tmp())
	if err == nil {
		d.busy[f.Name()] = true
	}
	return f, err
}

// Keep removes content immediately if the quota refuses it. If that were left to the
// sweep, concurrent uploads could fill the disk far beyond the quota. After any
// other error the row may have been committed, so it is left to the sweep.
func (t *diskDraft) Keep(ctx context.Context, m *Meter, insertRow func(*core.Tx) error) error {
	err := t.keepLocked(ctx, m.Sum(), insertRow)
	if errors.Is(err, &flow.Error{Code: flow.CodeQuotaExceeded}) {
		if left := t.d.sweepHash(context.WithoutCancel(ctx), m.Sum()); left != nil {
			t.d.s.Config.Log.Warn("the content of a refused upload could not be removed; the next sweep removes it", "error", left)
		}
	}
	return err
}

// keepLocked gives content its name and commits its row under one lock; see Disk.naming.
func (t *diskDraft) keepLocked(ctx context.Context, hash string, insertRow func(*core.Tx) error) error {
	t.d.naming.RLock()
	defer t.d.naming.RUnlock()
	if err := t.rename(t.d.path(hash)); err != nil {
		return dbconn.StorageError(fmt.Errorf("keep a file: %w", err))
	}
	return t.d.s.Write(ctx, core.Durable, insertRow)
}

// rename also replaces existing equal content. It syncs the directories from the
// file upward, so that a power failure does not lose the name.
func (t *diskDraft) rename(to string) error {
	dir := filepath.Dir(to)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.Rename(t.path, to); err != nil {
		return err
	}
	for _, dir := range []string{dir, t.d.dir, t.d.s.Config.DataDir} {
		if err := dbconn.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// Drop implements draft.
func (t *diskDraft) Drop() {
	_ = os.Remove(t.path) // already gone if it was kept; otherwise the next sweep finds it
	t.d.mu.Lock()
	defer t.d.mu.Unlock()
	delete(t.d.busy, t.path)
}

// Open implements Bucket.
func (d *Disk) Open(ctx context.Context, hash string) (io.ReadSeekCloser, error) {
	f, err := os.Open(d.path(hash))
	if err == nil {
		return f, nil
	}
	if blob, other := d.s.Reads.FindBlob(ctx, hash); other == nil && isObject(blob.UploadID) && d.s.Config.Objects == nil {
		return nil, errElsewhere()
	}
	return nil, err
}

// Remove implements Bucket.
func (d *Disk) Remove(ctx context.Context, hash string) error {
	d.naming.Lock()
	defer d.naming.Unlock()
	_, err := d.s.Reads.FindLiveHash(ctx, hash)
	return d.unlink(hash, err)
}

// unlink removes content if the query for a file with it returned no row.
func (d *Disk) unlink(hash string, found error) error {
	if !dbconn.IsNoRows(found) {
		return found
	}
	err := os.Remove(d.path(hash))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Sweep implements Bucket.
func (d *Disk) Sweep(ctx context.Context, before time.Time) error {
	if err := d.sweepTemp(); err != nil {
		return fmt.Errorf("remove leftover uploads: %w", err)
	}
	dirs, err := entries(d.dir)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if len(dir.Name()) != 2 {
			continue
		}
		if err := d.sweepDir(ctx, dir.Name(), before); err != nil {
			return fmt.Errorf("find content without a file: %w", err)
		}
	}
	return nil
}

// sweepTemp removes temporary files that this process is not writing. Only the engine
// saves files, so their writers are dead.
func (d *Disk) sweepTemp() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	list, err := entries(d.tmp())
	for _, e := range list {
		if path := filepath.Join(d.tmp(), e.Name()); !d.busy[path] {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// sweepDir removes the content in one directory that was stored earlier than before and that
// no row has.
func (d *Disk) sweepDir(ctx context.Context, prefix string, before time.Time) error {
	list, err := entries(filepath.Join(d.dir, prefix))
	if err != nil {
		return err
	}
	for _, e := range list {
		info, err := e.Info()
		if err != nil || !info.ModTime().Before(before) {
			continue // removed in the meantime, or too new
		}
		if err := d.sweepHash(ctx, prefix+e.Name()); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// sweepHash removes the content with a hash unless a row, erased or not, has it.
func (d *Disk) sweepHash(ctx context.Context, hash string) error {
	d.naming.Lock()
	defer d.naming.Unlock()
	_, err := d.s.Reads.FindHash(ctx, hash)
	return d.unlink(hash, err)
}

// entries returns the entries of a directory, none if it does not exist.
func entries(dir string) ([]os.DirEntry, error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return list, err
}
