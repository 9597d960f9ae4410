package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/db"
)

// TestRunningServer_must_match checks that commands use the server on their data directory only if it
// answers, has their version and uses their database, and the database beside it otherwise.
func TestRunningServer_must_match(t *testing.T) {
	t.Parallel()
	e := newTransportEnv(t, besideServer, "--addr=127.0.0.1:0", "--local-models=off", "--drain-delay=0")
	used := func(cfg Config) bool {
		t.Helper()
		api, err := cfg.runningServer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return api != nil
	}
	if !used(e.cfg) {
		t.Error("the server is not used")
	}
	other := e.cfg
	if other.DatabaseURL = "postgres://elsewhere.example.com/sluice"; used(other) {
		t.Error("a server on another database is used")
	}
	if other = e.cfg; used(Config{DataDir: t.TempDir()}) {
		t.Error("a server of another directory is used")
	}
	path := filepath.Join(e.cfg.DataDir, db.EngineFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var info db.EngineInfo
	if err := json.Unmarshal(data, &info); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(i *db.EngineInfo){
		"one that does not answer": func(i *db.EngineInfo) { i.Addr = "http://127.0.0.1:1" }, // such as in another container
		"one that has not written": func(i *db.EngineInfo) { *i = db.EngineInfo{} },
		"another one":              func(i *db.EngineInfo) { i.Token = "of-another-server" },
	} {
		changed := info
		change(&changed)
		data, err := json.Marshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if used(e.cfg) {
			t.Errorf("%s is used", name)
		}
		if out := e.local("key", "list"); !strings.Contains(out, "transport") {
			t.Errorf("beside %s: %s", name, out)
		}
	}
}

// TestCommands_without_a_database checks which commands work without one, and that they leave none.
func TestCommands_without_a_database(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	for args, want := range map[string]int{"provider list": exitOK, "model list": exitOK, "flow list": exitError, "run list greet": exitError, "key revoke x": exitError, "user list": exitError} {
		code, out := runCommand(append(strings.Fields(args), "--data-dir="+dir, "--local-models=off")...)
		if code != want || want == exitError && !strings.Contains(out, "there is no database in "+dir) || strings.Contains(out, "master key") {
			t.Errorf("%s: exit %d: %s", args, code, out)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a command made a database: %v", err)
	}
}
