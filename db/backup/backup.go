// Package backup writes the SQLite database and the content of all files to one
// archive, and restores it. It owns the format of the archive and the checks that
// make it trustworthy: every backup is read back before it gets its name, and
// every restored database is opened with the master key before it replaces
// anything. It knows tables only where it makes a copy consistent: it drops rows
// whose content was erased while the backup ran. PostgreSQL has its own backup
// tools, so the package refuses it.
package backup

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"sluice/db/blobs"
	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/flow"
)

// A backup is a gzipped tar archive with the manifest, the database and the content
// of files.
const (
	manifestName = "manifest.json" // name of the manifest in the archive
	format       = 1               // raised when older programs cannot read an archive
)

// Manifest describes a backup. The master key is not part of a backup,
// because together they give access to every secret.
type Manifest struct {
	Format    int       `json:"format"`
	Sluice    string    `json:"sluice"` // version of the program that created it
	MadeAt    time.Time `json:"made_at"`
	Database  string    `json:"database_sha256"`
	Files     int       `json:"files"`
	FileBytes int64     `json:"file_bytes"`
	// Missing are the hashes of files whose content was not found.
	Missing []string `json:"missing,omitempty"`
	// Elsewhere are the hashes of files whose content the backup leaves out, such as content in object storage.
	Elsewhere []string `json:"elsewhere,omitempty"`
}

// Contents says which contents of files a backup holds.
type Contents int

// The contents of a backup.
const (
	Local   Contents = iota // those in the data directory, but not those in object storage
	Nothing                 // only their hashes
	All                     // also those in object storage
)

// ErrPostgres is returned by Create on PostgreSQL. Its text names the tool to use instead.
var ErrPostgres = errors.New("on PostgreSQL everything is in the database, files too; back it up with PostgreSQL's own tools, such as pg_dump --format=custom")

// Create writes a consistent copy of the database and the content of all files to
// a new file at path. The server may be running: on SQLite a snapshot blocks no
// writer. version is that of the program, for the manifest. The archive is read
// back and checked before it is renamed to path, so a file with that name is always
// complete.
func Create(ctx context.Context, db *core.DB, path, version string, contents Contents) (b Manifest, err error) {
	s := source{db, contents, blobs.NewBucket(db)}
	if s.DB.IsPostgres() {
		return b, ErrPostgres
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return b, fmt.Errorf("%s already exists; a backup does not overwrite files", path)
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".sluice-backup-")
	if err != nil {
		return b, fmt.Errorf("create a temporary directory for the backup: %w", err)
	}
	defer os.RemoveAll(dir)
	b = Manifest{Format: format, Sluice: version, MadeAt: s.DB.Config.Now().UTC().Truncate(time.Millisecond)}
	snapshot, archive := filepath.Join(dir, core.DatabaseFile), filepath.Join(dir, "archive")
	if err := s.snapshot(ctx, snapshot); err != nil {
		return b, err
	}
	if err := s.archive(ctx, archive, snapshot, &b); err != nil {
		return b, fmt.Errorf("write the backup: %w", err)
	}
	if _, err := readBackup(archive, discardEntries); err != nil {
		return b, fmt.Errorf("verify the backup: %w", err)
	}
	if err := os.Rename(archive, path); err != nil {
		return b, fmt.Errorf("rename the backup: %w", err)
	}
	return b, dbconn.SyncDir(filepath.Dir(path))
}

// source is the SQLite database that a backup is made of.
type source struct {
	DB       *core.DB
	contents Contents
	bucket   blobs.Bucket
}

// snapshot makes a consistent copy of the database without free pages, which may
// contain erased data, and checks it. It only reads, so the server can write.
func (s source) snapshot(ctx context.Context, to string) error {
	from := sql.OpenDB(core.NewConnector(filepath.Join(s.DB.Config.DataDir, core.DatabaseFile), "mode=ro"+s.DB.BusyOption(), ""))
	defer from.Close()
	if _, err := from.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	if err := os.Chmod(to, 0o600); err != nil {
		return err
	}
	return checkDatabase(ctx, to)
}

// errBadDatabase is returned for a database that fails its integrity check.
var errBadDatabase = errors.New("the database is damaged")

// checkDatabase checks the integrity of a database that is not in use.
func checkDatabase(ctx context.Context, path string) error {
	db := sql.OpenDB(core.NewConnector(path, "mode=ro", ""))
	defer db.Close()
	var found string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&found); err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	if found != "ok" {
		return fmt.Errorf("%w: %s", errBadDatabase, found)
	}
	return nil
}

// archive writes the archive. It packs the content of files before the database:
// what is erased in the meantime is then erased in the snapshot too.
func (s source) archive(ctx context.Context, path, snapshot string, b *Manifest) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	zip, _ := gzip.NewWriterLevel(f, gzip.BestSpeed) // the level is valid
	out := tar.NewWriter(zip)
	if err := s.packFiles(ctx, out, snapshot, b); err != nil {
		return err
	}
	if b.Database, err = pack(out, core.DatabaseFile, snapshot, b.MadeAt); err != nil {
		return err
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	if err := out.WriteHeader(&tar.Header{Name: manifestName, Mode: 0o600, Size: int64(len(text)), ModTime: b.MadeAt}); err != nil {
		return err
	}
	if _, err := out.Write(text); err != nil {
		return err
	}
	return errors.Join(out.Close(), zip.Close(), f.Sync())
}

// packFiles packs the content of all files in the snapshot.
func (s source) packFiles(ctx context.Context, out *tar.Writer, snapshot string, b *Manifest) error {
	db := sql.OpenDB(core.NewConnector(snapshot, "mode=rw", ""))
	defer db.Close()
	rows, err := db.QueryContext(ctx, "SELECT DISTINCT hash FROM files WHERE erased_at = 0 ORDER BY hash")
	hashes, err := dbconn.Collect(rows, err, dbconn.ScanText)
	if err != nil {
		return err
	}
	rows, err = db.QueryContext(ctx, "SELECT hash FROM blobs") // of a directory, all are in object storage
	stored, err := dbconn.Collect(rows, err, dbconn.ScanText)
	if err != nil {
		return err
	}
	objects := map[string]bool{}
	for _, hash := range stored {
		objects[hash] = true
	}
	var gone []string
	for _, hash := range hashes {
		if s.contents == Nothing || s.contents == Local && objects[hash] {
			b.Elsewhere = append(b.Elsewhere, hash)
			continue
		}
		size, err := s.packFile(ctx, out, hash, b.MadeAt)
		if errors.Is(err, fs.ErrNotExist) {
			gone = append(gone, hash)
			continue
		}
		if err != nil {
			return err
		}
		b.Files, b.FileBytes = b.Files+1, b.FileBytes+size
	}
	return s.eraseMissing(ctx, db, gone, b)
}

// packFile packs the content with a hash and checks it. It returns its size.
func (s source) packFile(ctx context.Context, out *tar.Writer, hash string, at time.Time) (int64, error) {
	content, err := s.bucket.Open(ctx, hash)
	if err != nil {
		return 0, err
	}
	defer content.Close()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	size, err := content.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = content.Seek(0, io.SeekStart)
	}
	if err != nil {
		return 0, err
	}
	sum, err := packContent(out, blobs.FilesDir+"/"+hash[:2]+"/"+hash[2:], content, size, at)
	if err == nil && sum != hash {
		err = fmt.Errorf("the content of the files with hash %s is damaged", hash)
	}
	return size, err
}

// eraseMissing erases files in the snapshot that were erased in the database since then.
// Other content that was not found is listed in Missing.
func (s source) eraseMissing(ctx context.Context, snapshot *sql.DB, gone []string, b *Manifest) error {
	for _, hash := range gone {
		if _, err := s.DB.Reads.FindLiveHash(ctx, hash); err == nil {
			b.Missing = append(b.Missing, hash)
			continue
		} else if !dbconn.IsNoRows(err) {
			return err
		}
		const subtract = `UPDATE storage SET bytes = bytes - (SELECT COALESCE(sum(f.size + ?1), 0) FROM files f
			WHERE f.workspace_id = storage.workspace_id AND f.hash = ?2 AND f.erased_at = 0)`
		if _, err := snapshot.ExecContext(ctx, subtract, flow.StorageItem, hash); err != nil {
			return err
		}
		if _, err := snapshot.ExecContext(ctx, "UPDATE files SET erased_at = ?, name = '' WHERE hash = ?", dbconn.Micros(b.MadeAt), hash); err != nil {
			return err
		}
	}
	return nil
}

// pack adds a file and returns the SHA-256 of its content.
func pack(out *tar.Writer, name, path string, at time.Time) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	return packContent(out, name, f, info.Size(), at)
}

// packContent adds an entry of a number of bytes and returns the SHA-256 of its content.
func packContent(out *tar.Writer, name string, content io.Reader, size int64, at time.Time) (string, error) {
	if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: at}); err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err := io.Copy(io.MultiWriter(out, sum), content)
	return hex.EncodeToString(sum.Sum(nil)), err
}
