package backup

import (
	"archive/tar"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gofrs/flock"

	"sluice/db"
	"sluice/db/blobs"
	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/masterkey"
)

// Restored is the result of a restore.
type Restored struct {
	Manifest
	Aside string // directory with the previous data; empty if there was none
}

// DamagedError is returned for a backup that cannot be read completely, or whose content is
// not what was backed up.
type DamagedError struct {
	Path  string
	Cause error
}

// Error says what is wrong and what to do.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("the backup %s is damaged or incomplete (%v). Nothing was changed. Copy it again from where it is kept and compare the sizes; "+
		"if it is damaged there too, restore an earlier backup", e.Path, e.Cause)
}

// Unwrap returns what was found.
func (e *DamagedError) Unwrap() error { return e.Cause }

// isDamage reports whether an error of reading an archive is due to its content, and not to
// the disk that it is read from or unpacked to.
func isDamage(err error) bool {
	if _, corrupt := errors.AsType[flate.CorruptInputError](err); corrupt {
		return true
	}
	for _, cause := range []error{errDamaged, io.ErrUnexpectedEOF, gzip.ErrChecksum, gzip.ErrHeader, tar.ErrHeader, tar.ErrInsecurePath} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

// errDamaged is the cause if the content of an archive does not match its hashes.
var errDamaged = errors.New("it does not have the content that was backed up")

// ErrNotEmpty is returned if there is a database and replace is not set.
var ErrNotEmpty = errors.New("the data directory already contains a database; use --replace to move it aside")

// Restore restores a backup to the data directory. It unpacks the backup to a
// temporary directory, checks it and opens it with the master key before moving it
// into place, so a failure changes nothing. With replace, it moves the previous
// data to another directory.
func Restore(ctx context.Context, cfg core.Config, path string, replace bool) (r Restored, err error) {
	cfg = cfg.WithDefaults()
	if cfg.DatabaseURL != "" {
		return r, errors.New("backups can only be restored to SQLite; on PostgreSQL use its own tools, such as pg_restore")
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return r, fmt.Errorf("create data directory: %w", err)
	}
	unlock, err := lockDirectory(cfg.DataDir)
	if err != nil {
		return r, err
	}
	defer unlock()
	taken := exists(filepath.Join(cfg.DataDir, core.DatabaseFile))
	if taken && !replace {
		return r, ErrNotEmpty
	}
	staging, err := os.MkdirTemp(cfg.DataDir, "restoring-")
	if err != nil {
		return r, fmt.Errorf("create a temporary directory for the backup: %w", err)
	}
	defer os.RemoveAll(staging)
	if r.Manifest, err = readBackup(path, unpackInto(staging)); err != nil {
		return r, err
	}
	if err := checkDatabase(ctx, filepath.Join(staging, core.DatabaseFile)); errors.Is(err, errBadDatabase) {
		return r, &DamagedError{path, err}
	} else if err != nil {
		return r, err
	}
	if err := verifyStaging(ctx, cfg, staging); err != nil {
		return r, err
	}
	if taken {
		r.Aside = filepath.Join(cfg.DataDir, "before-restore-"+cfg.Now().UTC().Format("20060102-150405"))
	}
	return r, r.swap(cfg.DataDir, staging)
}

// lockDirectory takes the engine lock, so that no server starts.
func lockDirectory(dir string) (unlock func(), err error) {
	lock := flock.New(filepath.Join(dir, core.EngineFile), flock.SetPermissions(0o600))
	free, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	if !free {
		return nil, dbconn.ErrEngineRunning
	}
	return func() { _ = lock.Unlock() }, nil // the process ends soon anyway
}

// verifyStaging opens the unpacked database with the master key, which also migrates it.
func verifyStaging(ctx context.Context, cfg core.Config, staging string) error {
	key := cmp.Or(cfg.MasterKeyFile, filepath.Join(cfg.DataDir, masterkey.File))
	if cfg.MasterKey == "" && !exists(key) {
		return fmt.Errorf("a backup does not contain the master key, and %s does not exist; put the key from the time of the backup there, or set SLUICE_MASTER_KEY", key)
	}
	cfg.DataDir, cfg.MasterKeyFile = staging, key
	s, err := db.Open(ctx, cfg)
	if err != nil {
		return err
	}
	if err := s.MissTriggers(ctx); err != nil { // the lost database may have started them
		_ = s.Close()
		return fmt.Errorf("pass over the planned times of schedules: %w", err)
	}
	return s.Close()
}

// swap moves the previous data aside and the unpacked data into place.
func (r Restored) swap(dir, staging string) error {
	if r.Aside != "" {
		if err := os.Mkdir(r.Aside, 0o700); err != nil {
			return fmt.Errorf("put aside what is there: %w", err)
		}
	}
	for _, name := range []string{core.DatabaseFile + "-wal", core.DatabaseFile + "-shm", core.DatabaseFile, blobs.FilesDir} {
		if err := r.setAside(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("put aside what is there: %w", err)
		}
	}
	for _, name := range []string{blobs.FilesDir, core.DatabaseFile} {
		err := os.Rename(filepath.Join(staging, name), filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a backup without files has no directory for them
			return fmt.Errorf("move the backup into place: %w", err)
		}
	}
	return dbconn.SyncDir(dir)
}

// setAside moves a file or directory to the directory Aside, if there is one.
func (r Restored) setAside(path string) error {
	if r.Aside == "" || !exists(path) {
		return nil
	}
	return os.Rename(path, filepath.Join(r.Aside, filepath.Base(path)))
}

// exists reports whether there is anything at a path, a link without a target included.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// entryTo opens the destination of an entry of an archive.
type entryTo func(name string) (io.WriteCloser, error)

// discardEntries discards the content of entries, for a backup that is only checked.
func discardEntries(string) (io.WriteCloser, error) { return nopCloser{io.Discard}, nil }

// nopCloser adds a Close that does nothing to a writer.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// unpackInto writes the entries to a directory. Names were checked before, so none
// leads out of it.
func unpackInto(dir string) entryTo {
	return func(name string) (io.WriteCloser, error) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		return syncCloser{f}, err
	}
}

// syncCloser syncs a file before it closes it.
type syncCloser struct{ *os.File }

// Close syncs the file first: a restored file must survive a power failure once the
// restore has reported success.
func (f syncCloser) Close() error { return errors.Join(f.Sync(), f.File.Close()) }

// entryNames matches the names of all entries that an archive may contain.
var entryNames = regexp.MustCompile(`^(` + regexp.QuoteMeta(core.DatabaseFile) + `|` + regexp.QuoteMeta(manifestName) + `|` + blobs.FilesDir + `/[0-9a-f]{2}/[0-9a-f]{62})$`)

// readBackup reads an archive to its end, writes each entry to its destination, and
// checks all content against its hash.
func readBackup(path string, to entryTo) (b Manifest, err error) {
	f, err := os.Open(path)
	if err != nil {
		return b, fmt.Errorf("open the backup: %w", err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		return b, fmt.Errorf("%s is not a Sluice backup, or is damaged. Nothing was changed. Give the path of a file that 'sluice backup' has written", path)
	}
	sums, manifest, err := readEntries(tar.NewReader(zip), to)
	if err == nil {
		_, err = io.Copy(io.Discard, zip) // after the last entry, to the checksum of the whole
	}
	if isDamage(err) {
		return b, &DamagedError{path, err}
	}
	if err != nil {
		return b, fmt.Errorf("read the backup: %w", err)
	}
	if err := json.Unmarshal(manifest, &b); err != nil || b.Format == 0 {
		return b, &DamagedError{path, errors.New("its manifest, which comes last, is missing")}
	}
	if b.Format != format {
		return b, fmt.Errorf("the backup was made by a newer Sluice (%s); restore it with that version", b.Sluice)
	}
	if sums.database != b.Database || sums.files != b.Files {
		return b, &DamagedError{path, errDamaged}
	}
	return b, nil
}

// entrySums are the hash of the database and the number of files in an archive.
type entrySums struct {
	database string
	files    int
}

// readEntries reads the archive to its end. It returns the hash of the database, the number
// of files, whose hashes it checked, and the manifest. The manifest comes last in an
// archive, because it contains the hash of the database.
func readEntries(in *tar.Reader, to entryTo) (sums entrySums, manifest []byte, err error) {
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return sums, manifest, nil
		}
		if err != nil {
			return sums, nil, err
		}
		if h.Typeflag != tar.TypeReg || !entryNames.MatchString(h.Name) {
			return sums, nil, fmt.Errorf("%w: there is an unexpected entry %q", errDamaged, h.Name)
		}
		if h.Name == manifestName {
			manifest, err = io.ReadAll(io.LimitReader(in, 64<<20))
		} else {
			err = sums.entry(in, h.Name, to)
		}
		if err != nil {
			return sums, nil, err
		}
	}
}

// entry writes one entry and checks its hash.
func (sums *entrySums) entry(in io.Reader, name string, to entryTo) error {
	out, err := to(name)
	if err != nil {
		return err
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, hash), in)
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	if name == core.DatabaseFile {
		sums.database = sum
		return nil
	}
	sums.files++
	if wanted := strings.ReplaceAll(strings.TrimPrefix(name, blobs.FilesDir+"/"), "/", ""); sum != wanted {
		return fmt.Errorf("%w: the hash of %s differs", errDamaged, name)
	}
	return nil
}
