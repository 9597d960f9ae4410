package db_test

import (
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/dbtest"
	"sluice/db/masterkey"
	"sluice/e2e/need"
	"sluice/flow"
)

// sealedFixture has a secret in every encrypted column.
func sealedFixture(t *testing.T, cfg core.Config) {
	t.Helper()
	s, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := newFixture(t, s, &clock{now: time.Now()})
	w.must(s.SaveCredential(w.ctx, flow.Credential{WorkspaceID: ws, Name: "c"}, "sk-before"))
	w.must(s.SaveCredential(w.ctx, flow.Credential{WorkspaceID: ws, Name: "c", Overlap: flow.LongestOverlap}, "sk-credential"))
	w.rotate(flow.LongestOverlap)
	_, err = s.FileKey(w.ctx)
	w.must(err)
	r := w.take(w.start(func(n *flow.NewRun) {
		n.Webhook = &flow.NewDelivery{URL: "https://example.com", Secret: "of the run"}
	}).ID)
	w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Deliveries: []flow.NewDelivery{{URL: "https://example.com", Secret: "of the delivery", Signature: "s"}}}))
	w.must(s.Close())
}

// opens checks that a configuration opens the store and decrypts its credential.
func opens(t *testing.T, cfg core.Config) {
	t.Helper()
	s, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, secret, err := s.OpenCredential(t.Context(), ws, "c"); err != nil || secret != "sk-credential" {
		t.Errorf("the credential opened to %q, %v", secret, err)
	}
	if list, err := s.PreviousSecrets(t.Context(), ws, "c"); err != nil || len(list) != 1 || list[0].Secret != "sk-before" {
		t.Errorf("what the credential was opened to %v, %v", list, err)
	}
	flows, err := s.ListFlows(t.Context(), ws, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := s.SigningSecrets(t.Context(), ws, flows[0].ID); err != nil || len(list) != 2 {
		t.Errorf("the flow has %d signing secrets, %v", len(list), err)
	}
	if _, err := s.FileKey(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRotateMasterKey(t *testing.T) {
	t.Parallel()
	need.Time(t)
	t.Run("of a file takes its place", func(t *testing.T) {
		t.Parallel()
		cfg := core.Config{DataDir: t.TempDir()}
		sealedFixture(t, cfg)
		before := readFile(t, filepath.Join(cfg.DataDir, masterkey.File))
		r, err := db.RotateMasterKey(t.Context(), cfg, "")
		if err != nil {
			t.Fatal(err)
		}
		if r.Reencrypted < 5 || readFile(t, r.OldFile) != before || readFile(t, r.KeyFile) == before {
			t.Errorf("rotation said %+v", r)
		}
		opens(t, cfg)
		cfg.MasterKeyFile = r.OldFile
		if _, err := db.Open(t.Context(), cfg); !errors.Is(err, core.ErrWrongKey) {
			t.Errorf("with the old key: %v", err)
		}
	})
	t.Run("of the environment is left to the operator", func(t *testing.T) {
		t.Parallel()
		cfg := dbtest.PostgresConfig(t)
		sealedFixture(t, cfg)
		if _, err := db.RotateMasterKey(t.Context(), cfg, ""); err == nil || !strings.Contains(err.Error(), "--new-key-file") {
			t.Errorf("without a file for the new key: %v", err)
		}
		file := filepath.Join(t.TempDir(), "new.key")
		if _, err := db.RotateMasterKey(t.Context(), cfg, file); err != nil {
			t.Fatal(err)
		}
		opens(t, core.Config{DataDir: cfg.DataDir, DatabaseURL: cfg.DatabaseURL, MasterKeyFile: file})
		rotated := core.Config{DataDir: cfg.DataDir, DatabaseURL: cfg.DatabaseURL, MasterKeyFile: file}
		if _, err := db.RotateMasterKey(t.Context(), rotated, file); err == nil {
			t.Error("the same key was taken for a new one")
		}
		// Rotate back to the key of the template, which later tests use on this database.
		first := filepath.Join(t.TempDir(), "first.key")
		if err := os.WriteFile(first, []byte(cfg.MasterKey), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := db.RotateMasterKey(t.Context(), rotated, first); err != nil {
			t.Fatal(err)
		}
		opens(t, cfg)
	})
	t.Run("continues after an interruption", testRotationInterrupted)
	t.Run("leaves a secret that no key decrypts as it is", func(t *testing.T) {
		t.Parallel()
		var log strings.Builder
		cfg := core.Config{DataDir: t.TempDir(), Log: slog.New(slog.NewTextHandler(&log, nil))}
		sealedFixture(t, cfg)
		broken := "\x01 sealed with a key that is lost"
		change := func(query string, args ...any) {
			err := db.OnFile(cfg, func(db *sql.DB) error { _, err := db.Exec(query, args...); return err })
			if err != nil {
				t.Fatal(err)
			}
		}
		s, err := db.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SaveCredential(t.Context(), flow.Credential{WorkspaceID: ws, Name: "broken"}, "sk-lost"); err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
		change("UPDATE credentials SET value = ? WHERE name = 'broken'", []byte(broken))
		r, err := db.RotateMasterKey(t.Context(), cfg, "")
		if err != nil || r.Unreadable != 1 || r.Reencrypted < 5 {
			t.Fatalf("rotation said %+v, %v", r, err)
		}
		if !strings.Contains(log.String(), "table=credentials") || !strings.Contains(log.String(), "broken") {
			t.Errorf("the log does not name the secret: %s", &log)
		}
		opens(t, cfg)
		if s, err = db.Open(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, _, err := s.OpenCredential(t.Context(), ws, "broken"); err == nil {
			t.Error("the broken credential was opened")
		}
		var kept []byte
		if err := s.SQLite().QueryRow("SELECT value FROM credentials WHERE name = 'broken'").Scan(&kept); err != nil || string(kept) != broken {
			t.Errorf("the broken value is now %q, %v", kept, err)
		}
	})
	t.Run("waits for the server to stop", func(t *testing.T) {
		t.Parallel()
		cfg := core.Config{DataDir: t.TempDir()}
		sealedFixture(t, cfg)
		s, err := db.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.LockEngine(core.EngineInfo{}); err != nil {
			t.Fatal(err)
		}
		if _, err := db.RotateMasterKey(t.Context(), cfg, ""); !errors.Is(err, dbconn.ErrEngineRunning) {
			t.Errorf("beside a server: %v", err)
		}
	})
}

// testRotationInterrupted interrupts a rotation after each column, like a crash.
func testRotationInterrupted(t *testing.T) {
	t.Parallel()
	for cut := range len(db.SealedColumns()) + 1 {
		cfg := core.Config{DataDir: t.TempDir()}
		sealedFixture(t, cfg)
		if err := db.RotatePartly(t.Context(), cfg, cut); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Open(t.Context(), cfg); !errors.Is(err, core.ErrRotating) {
			t.Fatalf("cut after %d columns, the old key alone gave %v", cut, err)
		}
		if _, err := db.RotateMasterKey(t.Context(), cfg, ""); err != nil {
			t.Fatal(err)
		}
		opens(t, cfg)
	}
}

var binaryColumn = regexp.MustCompile(`(?m)^\s*(?:ALTER TABLE (\w+) ADD COLUMN )?(\w+)\s+BYTEA`)

// Every binary column is either encrypted, and then covered by the rotation, or contains
// no secret.
func TestRotateMasterKey_covers_every_column(t *testing.T) {
	t.Parallel()
	plain := []string{"meta.value", "sessions.data", "chunks.data", "step_parts.content",
		"knowledge_blocks.head", "knowledge_words.data", "knowledge_vectors.data", "embeddings.vector"}
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		table := ""
		for line := range strings.Lines(readFile(t, file)) {
			if rest, ok := strings.CutPrefix(line, "CREATE TABLE "); ok {
				table = strings.Fields(rest)[0]
			}
			if m := binaryColumn.FindStringSubmatch(line); m != nil {
				if m[1] != "" {
					table = m[1]
				}
				found = append(found, table+"."+m[2])
			}
		}
	}
	known := append(plain, db.SealedColumns()...)
	for _, name := range found {
		if !slices.Contains(known, name) {
			t.Errorf("%s is in no list: add it to sealedColumns, or to plain here if nothing in it is sealed", name)
		}
	}
	for _, name := range known {
		if !slices.Contains(found, name) {
			t.Errorf("%s is no column", name)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
