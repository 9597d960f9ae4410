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

// FilesDir is where the content of files lies in the data directory, when the
// database is SQLite.
const FilesDir = "files"

// Disk is the bucket of one process: the content of hash abcd… is the file
// ab/cd…, and what is still being read is in tmp.
type Disk struct {
	s    *core.DB
	dir  string
	Temp func(dir string) (*os.File, error) // makes a file for its owner alone

	// From the moment content stands under its hash until its row is committed,
	// naming is held for reading, so that whoever removes it sees the row.
	naming sync.RWMutex

	mu   sync.Mutex
	busy map[string]bool // temporary files that are being written
}

func newDisk(s *core.DB) *Disk {
	return &Disk{s: s, dir: filepath.Join(s.Config.DataDir, FilesDir), busy: map[string]bool{}, Temp: makeTemp}
}

func makeTemp(dir string) (*os.File, error) { return os.CreateTemp(dir, "upload-") }

func (d *Disk) tmp() string { return filepath.Join(d.dir, "tmp") }

func (d *Disk) path(hash string) string { return filepath.Join(d.dir, hash[:2], hash[2:]) }

// diskDraft is a temporary file whose content is synced.
type diskDraft struct {
	d    *Disk
	path string
}

func (d *Disk) Put(_ context.Context, content io.Reader) (draft, error) {
	if err := os.MkdirAll(d.tmp(), 0o700); err != nil {
		return nil, dbconn.StorageError(fmt.Errorf("make the directory for files: %w", err))
	}
	f, err := d.create()
	if err != nil {
		return nil, dbconn.StorageError(fmt.Errorf("make a file: %w", err))
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

// create notes the new file before a sweep can take it for left over.
func (d *Disk) create() (*os.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := d.Temp(d.tmp())
	if err == nil {
		d.busy[f.Name()] = true
	}
	return f, err
}

// keep removes at once what the quota refused. Left to the sweep, uploads that
// run side by side could fill the disk far beyond the quota. After any other
// error the row may still be committed, so only the sweep can tell.
func (t *diskDraft) Keep(ctx context.Context, m *Meter, name func(*core.Tx) error) error {
	err := t.keepNamed(ctx, m.Sum(), name)
	if errors.Is(err, &flow.Error{Code: flow.CodeQuotaExceeded}) {
		if left := t.d.sweepHash(context.WithoutCancel(ctx), m.Sum()); left != nil {
			t.d.s.Config.Log.Warn("the content of a refused upload is left to be swept away", "error", left)
		}
	}
	return err
}

func (t *diskDraft) keepNamed(ctx context.Context, hash string, name func(*core.Tx) error) error {
	t.d.naming.RLock()
	defer t.d.naming.RUnlock()
	if err := t.rename(t.d.path(hash)); err != nil {
		return dbconn.StorageError(fmt.Errorf("keep a file: %w", err))
	}
	return t.d.s.Write(ctx, core.Durable, name)
}

// rename also replaces equal content that is there already. Directories are
// synced from the file upwards, so that a power cut does not lose its name.
func (t *diskDraft) rename(to string) error {
	dir := filepath.Dir(to)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.Rename(t.path, to); err != nil {
		return err
	}
	for _, dir := range []string{dir, t.d.dir, t.d.s.Config.DataDir} {
		if err := core.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

func (t *diskDraft) Drop() {
	_ = os.Remove(t.path) // gone already when it was kept; else the next sweep finds it
	t.d.mu.Lock()
	defer t.d.mu.Unlock()
	delete(t.d.busy, t.path)
}

func (d *Disk) Open(_ context.Context, hash string) (io.ReadSeekCloser, error) {
	return os.Open(d.path(hash))
}

func (d *Disk) Remove(ctx context.Context, hash string) error {
	d.naming.Lock()
	defer d.naming.Unlock()
	_, err := d.s.Reads.FindLiveHash(ctx, hash)
	return d.unlink(hash, err)
}

// unlink removes content when looking for a file that has it found none.
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

func (d *Disk) Sweep(ctx context.Context, before time.Time) error {
	if err := d.sweepTemp(); err != nil {
		return fmt.Errorf("remove left-over uploads: %w", err)
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
			return fmt.Errorf("look for content without a file: %w", err)
		}
	}
	return nil
}

// sweepTemp removes what this process is not writing: only the one engine
// saves files, so whoever wrote it is dead.
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

func (d *Disk) sweepDir(ctx context.Context, prefix string, before time.Time) error {
	list, err := entries(filepath.Join(d.dir, prefix))
	if err != nil {
		return err
	}
	for _, e := range list {
		info, err := e.Info()
		if err != nil || !info.ModTime().Before(before) {
			continue // gone in the meantime, or young
		}
		if err := d.sweepHash(ctx, prefix+e.Name()); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (d *Disk) sweepHash(ctx context.Context, hash string) error {
	d.naming.Lock()
	defer d.naming.Unlock()
	_, err := d.s.Reads.FindHash(ctx, hash)
	return d.unlink(hash, err)
}

func entries(dir string) ([]os.DirEntry, error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return list, err
}
