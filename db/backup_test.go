package db_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/backup"
	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/dbtest"
	"sluice/db/masterkey"
	"sluice/flow"
)

// backedUp is a store with secrets, a run and files, and a backup of it.
func backedUp(t *testing.T) (cfg core.Config, archive, fileID string) {
	t.Helper()
	cfg = core.Config{DataDir: t.TempDir()}
	sealedFixture(t, cfg)
	s, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := newFixture(t, s, &clock{now: time.Now()})
	f, err := s.SaveFile(w.ctx, flow.NewFile{WorkspaceID: ws, Name: "cat.txt"}, strings.NewReader("a cat"))
	w.must(err)
	gone, err := s.SaveFile(w.ctx, flow.NewFile{WorkspaceID: ws, Name: "dog.txt"}, strings.NewReader("a dog"))
	w.must(err)
	w.must(s.EraseFile(w.ctx, ws, gone.ID))
	archive = filepath.Join(t.TempDir(), "sluice.backup")
	b, err := backup.Create(w.ctx, s.DB, archive, "test", backup.Local)
	w.must(err)
	wantEqual(t, "files", b.Files, 1)
	wantEqual(t, "missing", len(b.Missing), 0)
	if _, err := backup.Create(w.ctx, s.DB, archive, "test", backup.Local); err == nil {
		t.Error("a backup was overwritten")
	}
	w.must(s.Close())
	return cfg, archive, f.ID
}

func TestBackUp_and_Restore(t *testing.T) {
	t.Parallel()
	cfg, archive, fileID := backedUp(t)
	if text := readFile(t, archive); strings.Contains(text, readFile(t, filepath.Join(cfg.DataDir, masterkey.File))) {
		t.Error("the master key is in the backup")
	}
	to := core.Config{DataDir: t.TempDir()}
	if _, err := backup.Restore(t.Context(), to, archive, false); err == nil || !strings.Contains(err.Error(), "master key") {
		t.Fatalf("without the master key: %v", err)
	}
	if left, _ := os.ReadDir(to.DataDir); len(left) > 1 { // the lock stays
		t.Errorf("a restore that failed left %v", left)
	}
	copyFile(t, filepath.Join(cfg.DataDir, masterkey.File), filepath.Join(to.DataDir, masterkey.File))
	if _, err := backup.Restore(t.Context(), to, archive, false); err != nil {
		t.Fatal(err)
	}
	opens(t, to)
	wantContent(t, to, fileID, "a cat")

	if _, err := backup.Restore(t.Context(), to, archive, false); !errors.Is(err, backup.ErrNotEmpty) {
		t.Errorf("over a database: %v", err)
	}
	r, err := backup.Restore(t.Context(), to, archive, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(r.Aside, core.DatabaseFile)); err != nil {
		t.Errorf("what was there is not aside: %v", err)
	}
	wantContent(t, to, fileID, "a cat")
}

func TestRestore_refuses_unusable_backups(t *testing.T) {
	t.Parallel()
	cfg, archive, _ := backedUp(t)
	whole := []byte(readFile(t, archive))
	cases := map[string][]byte{
		"truncated":    whole[:len(whole)*2/3],
		"not a backup": []byte("hello"),
		"changed byte": flipped(whole),
		"empty":        {},
	}
	for _, part := range []int{3, 50, 200, 400, 700, 950, 999} { // in thousandths
		changed := slices.Clone(whole)
		changed[len(changed)*part/1000] ^= 0x41
		cases[fmt.Sprintf("changed byte at %d", part)] = changed
	}
	changed := slices.Clone(whole)
	changed[len(changed)-8] ^= 0x41 // of the checksum at the end
	cases["changed checksum"] = changed
	for _, part := range []int{1, 300, 900, 999} {
		cases[fmt.Sprintf("truncated at %d", part)] = whole[:len(whole)*part/1000]
	}
	for name, content := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "backup")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			to := core.Config{DataDir: t.TempDir(), MasterKeyFile: filepath.Join(cfg.DataDir, masterkey.File)}
			_, err := backup.Restore(t.Context(), to, path, false)
			if err == nil {
				t.Fatal("it was restored")
			}
			if text := err.Error(); !strings.Contains(text, "Nothing was changed") || !strings.Contains(text, path) ||
				!strings.Contains(text, "earlier backup") && !strings.Contains(text, "'sluice backup'") {
				t.Errorf("the error does not say what to do: %v", err)
			}
			left, err := os.ReadDir(to.DataDir)
			if err != nil || len(left) > 1 { // the lock
				t.Errorf("the directory has %v, %v", left, err)
			}
			if _, err := os.Stat(filepath.Join(to.DataDir, core.DatabaseFile)); err == nil {
				t.Error("a database is there")
			}
		})
	}
	t.Run("a directory in use", func(t *testing.T) {
		t.Parallel()
		used := dbtest.SQLiteConfig(t)
		s, err := db.Open(t.Context(), used)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.LockEngine(core.EngineInfo{}); err != nil {
			t.Fatal(err)
		}
		if _, err := backup.Restore(t.Context(), used, archive, true); !errors.Is(err, dbconn.ErrEngineRunning) {
			t.Errorf("beside a server: %v", err)
		}
	})
}

func TestBackUp_refuses_PostgreSQL(t *testing.T) {
	t.Parallel()
	s := dbtest.Postgres(t)
	if _, err := backup.Create(t.Context(), s.DB, filepath.Join(t.TempDir(), "b"), "test", backup.Local); !errors.Is(err, backup.ErrPostgres) {
		t.Errorf("it said %v", err)
	}
}

// flipped returns content with one changed byte in the middle.
func flipped(b []byte) []byte {
	b = bytes.Clone(b)
	b[len(b)/2] ^= 0x40
	return b
}

func wantContent(t *testing.T, cfg core.Config, fileID, want string) {
	t.Helper()
	s, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, content, err := s.OpenFile(t.Context(), ws, fileID)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	if got, err := io.ReadAll(content); err != nil || string(got) != want {
		t.Errorf("the file holds %q, %v", got, err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if err := os.WriteFile(to, []byte(readFile(t, from)), 0o600); err != nil {
		t.Fatal(err)
	}
}
