package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofrs/flock"

	"sluice/db"
)

// TestReady checks readiness without a server, and with a server that is or is not ready.
func TestReady(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if code, out := doctor(t, dir, "ready"); code != exitError || !strings.Contains(out, "no server runs") {
		t.Errorf("exit %d: %s", code, out)
	}
	for status, want := range map[int]string{http.StatusOK: "Ready at http://", http.StatusServiceUnavailable: "is not ready"} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/readyz" {
					w.WriteHeader(status)
				}
			}))
			t.Cleanup(server.Close)
			dir := t.TempDir()
			lockDirectory(t, dir, server.URL)
			code, out := doctor(t, dir, "ready")
			if !strings.Contains(out, want) || (code == exitOK) != (status == http.StatusOK) {
				t.Errorf("exit %d: %s", code, out)
			}
		})
	}
}

// lockDirectory locks a data directory as a server at an address does.
func lockDirectory(t *testing.T, dir, addr string) {
	t.Helper()
	path := filepath.Join(dir, db.EngineFile)
	lock := flock.New(path, flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	t.Cleanup(func() { _ = lock.Unlock() })
	text, err := json.Marshal(db.EngineInfo{PID: os.Getpid(), Addr: addr})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
