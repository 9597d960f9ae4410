package db_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/dbtest"
	"sluice/flow"
)

func TestOpen_repeated_and_concurrent(t *testing.T) {
	t.Parallel()
	configs := map[string]func(testing.TB, ...func(*core.Config)) core.Config{"sqlite": dbtest.SQLiteConfig, "postgres": dbtest.PostgresConfig}
	for name, config := range configs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					if err := openAndClose(t, cfg); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestOpen_a_fresh_directory_concurrently(t *testing.T) {
	t.Parallel()
	cfg := core.Config{DataDir: t.TempDir() + "/made/for it?"}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := openAndClose(t, cfg); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestOpen_error_omits_the_password(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:hunter2@%zz", "postgres://u:hunter2@127.0.0.1:1/none?connect_timeout=1"} {
		_, err := db.Open(t.Context(), core.Config{DataDir: t.TempDir(), DatabaseURL: url})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v", err)
		}
	}
}

// A command writes to the same database while the engine runs.
func TestOpen_while_another_process_writes(t *testing.T) {
	t.Parallel()
	cfg := dbtest.SQLiteConfig(t)
	a, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	k := &flow.Key{WorkspaceID: ws, Hash: "h"}
	if err := b.CreateKey(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	found, err := a.FindKeyByHash(t.Context(), "h")
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "key", found.ID, k.ID)
}

func TestLockEngine(t *testing.T) {
	t.Parallel()
	cfg := dbtest.SQLiteConfig(t)
	a, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	read := func() (core.EngineInfo, bool) {
		info, running, err := core.ReadEngine(cfg.DataDir)
		if err != nil {
			t.Fatal(err)
		}
		return info, running
	}
	_, running := read()
	wantEqual(t, "running at first", running, false)
	want := core.EngineInfo{PID: 7, Addr: "127.0.0.1:8080", Token: "t"}
	if err := a.LockEngine(want); err != nil {
		t.Fatal(err)
	}
	info, running := read()
	wantEqual(t, "running", running, true)
	wantEqual(t, "info", info, want)
	b := dbtest.SQLite(t, func(c *core.Config) { *c = cfg })
	if err := b.LockEngine(want); !errors.Is(err, dbconn.ErrEngineRunning) {
		t.Fatalf("a second engine: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	_, running = read()
	wantEqual(t, "running after it closed", running, false)
}

func TestListen(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		if !w.IsPostgres() {
			return // SQLite has only one instance
		}
		ctx, stop := context.WithCancel(t.Context())
		told := make(chan flow.RunID, 100)
		done := make(chan error)
		go func() { done <- w.Listen(ctx, func(id flow.RunID) { told <- id }) }()
		r := w.take(w.start().ID)
		for heard := false; !heard; { // until it listens
			w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r}))
			select {
			case id := <-told:
				if id == "" {
					continue // it begins to listen
				}
				wantEqual(t, "told", id, r.ID)
				heard = true
			default:
			}
		}
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	})
}
