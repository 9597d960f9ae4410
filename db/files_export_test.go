package db

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sluice/db/blobs"
	"sluice/db/core"
	"sluice/flow"
)

// Contents counts stored content by hash, and drafts.
func (s *Store) Contents(ctx context.Context) (kept, loose int, err error) {
	if s.IsPostgres() {
		err = s.Reader.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM blobs), (SELECT count(*) FROM uploads)
			+ (SELECT count(DISTINCT upload_id) FROM chunks WHERE upload_id NOT IN (SELECT upload_id FROM blobs))`).Scan(&kept, &loose)
		return kept, loose, err
	}
	dir := filepath.Join(s.Config.DataDir, blobs.FilesDir)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
		case strings.HasPrefix(path, filepath.Join(dir, "tmp")):
			loose++
		default:
			kept++
		}
		return err
	})
	if os.IsNotExist(err) {
		err = nil
	}
	return kept, loose, err
}

// Put stores a draft without keeping it, like a process that crashes.
func (s *Store) Put(ctx context.Context, content string) error {
	_, err := s.bucket.Put(ctx, strings.NewReader(content))
	return err
}

// Keep stores content and runs name instead of inserting its row.
func (s *Store) Keep(ctx context.Context, content string, name func(*core.Tx) error) error {
	m := blobs.NewMeter(strings.NewReader(content), s.Config.MaxFile)
	d, err := s.bucket.Put(ctx, m)
	if err != nil {
		return err
	}
	defer d.Drop()
	return d.Keep(ctx, m, name)
}

// Unwanted removes the content with a hash unless a file uses it.
func (s *Store) Unwanted(ctx context.Context, hash string) error { return s.bucket.Remove(ctx, hash) }

// NameFile inserts the row that SaveFile writes.
func NameFile(tx *core.Tx, ws flow.WorkspaceID, id, hash string, size int64) error {
	return addFile(tx, &flow.File{ID: id, WorkspaceID: ws, Hash: hash, Size: size}, flow.NewFile{})
}

// TempFiles replaces the function that creates temporary files.
func (s *Store) TempFiles(open func(dir string) (*os.File, error)) {
	s.bucket.(*blobs.Disk).Temp = open
}

// OpenedWith returns the configuration of the store.
func (s *Store) OpenedWith() core.Config { return s.Config }
