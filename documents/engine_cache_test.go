package documents

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sluice/e2e/need"
)

// TestEngineCache damages the compiled engine in each way that a disk can.
func TestEngineCache(t *testing.T) {
	t.Parallel()
	need.Time(t)
	dir := t.TempDir()
	old := filepath.Join(dir, enginePrefix+"old")
	if err := os.Mkdir(old, 0o700); err != nil {
		t.Fatal(err)
	}
	r := New(Config{CacheDir: dir})
	read := func(t *testing.T) {
		t.Helper()
		got, err := r.Read(t.Context(), "default", Request{}, strings.NewReader(minimalPDF("BT /F 12 Tf 72 700 Td (text) Tj ET")), nil)
		if err != nil || got.Text != "text" {
			t.Fatalf("got %v, %+v", err, got)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Fatalf("compiled before the first need: %v, %v", err, entries)
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() { read(t) })
	}
	all.Wait()
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the engine of another version stayed: %v", err)
	}
	files := func() (list []string) {
		t.Helper()
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				list = append(list, path)
			}
			return err
		})
		if err != nil || len(list) != 2 {
			t.Fatalf("got %v, %v; want the module and the compiled one", err, list)
		}
		return list
	}
	files()
	for name, damage := range map[string]func(path string) error{
		"missing": os.Remove,
		"cut off": func(path string) error { return os.Truncate(path, 1<<20) },
	} {
		for i := range 2 {
			t.Run(name, func(t *testing.T) {
				if err := damage(files()[i]); err != nil {
					t.Fatal(err)
				}
				read(t)
				files()
				read(t)
			})
		}
	}
	t.Run("in a directory that cannot be written", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := New(Config{CacheDir: file}).Read(t.Context(), "default", Request{}, strings.NewReader(minimalPDF("")), nil)
		if refused := new(Error); err == nil || errors.As(err, &refused) || !strings.Contains(err.Error(), "PDF engine") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("stops waiting with its context", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c := &engineCache{compiling: make(chan struct{})}
		if _, err := c.prepare(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
