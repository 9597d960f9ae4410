package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/db"
)

// newAuditedDir returns a data directory with two entries in its audit log.
func newAuditedDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, email := range []string{"ada@example.com", "lin@example.com"} {
		var out, errs bytes.Buffer
		args := []string{"user", "add", "--data-dir=" + dir, "--email=" + email, "--password-stdin"}
		if code := run(args, strings.NewReader("correct horse battery\n"), &out, &errs); code != exitOK {
			t.Fatal(errs.String())
		}
	}
	return dir
}

// runCommand runs a command and returns its exit code and output.
func runCommand(args ...string) (int, string) {
	var out, errs bytes.Buffer
	code := run(args, nil, &out, &errs)
	return code, out.String() + errs.String()
}

func TestAuditVerify(t *testing.T) {
	t.Parallel()
	dir := newAuditedDir(t)
	if code, out := runCommand("audit", "verify", "--data-dir="+dir); code != exitOK || !strings.Contains(out, "default: intact, 2 entries") {
		t.Fatalf("exit %d: %s", code, out)
	}
	if code, out := runCommand("audit", "verify", "--data-dir="+dir, "--workspace=ws_none"); code != exitError || !strings.Contains(out, "ws_none") {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, out := runCommand("audit", "verify", "--data-dir="+filepath.Join(dir, "nowhere")); code != exitError || !strings.Contains(out, "no database") {
		t.Errorf("exit %d: %s", code, out)
	}
	base, err := sql.Open("sqlite3", filepath.Join(dir, db.DatabaseFile))
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	if _, err := base.Exec("UPDATE audit SET target = 'eve@example.com' WHERE seq = 2"); err != nil {
		t.Fatal(err)
	}
	if code, out := runCommand("audit", "verify", "--data-dir="+dir); code != exitError || !strings.Contains(out, "default: BROKEN at entry 2 (aud") {
		t.Errorf("exit %d: %s", code, out)
	}
	var out, errs bytes.Buffer
	if code := run([]string{"audit", "verify", "--json", "--data-dir=" + dir}, nil, &out, &errs); code != exitError {
		t.Errorf("exit %d: %s", code, &errs)
	}
	var got struct {
		Intact     bool
		Workspaces []struct {
			ID     string `json:"workspace_id"`
			Intact bool
			Break  struct {
				Entry  int64
				Reason string
			}
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	if got.Intact || len(got.Workspaces) != 1 || got.Workspaces[0].Intact || got.Workspaces[0].Break.Entry != 2 || got.Workspaces[0].Break.Reason == "" {
		t.Errorf("got %+v", got)
	}
}

func TestUserAdd_refuses_common_passwords(t *testing.T) {
	t.Parallel()
	for password, says := range map[string]string{"Password123!": "this is a common password", "short": "use 10 to 512", "kim@example.com": "too close to your email"} {
		var out, errs bytes.Buffer
		args := []string{"user", "add", "--data-dir=" + t.TempDir(), "--email=kim@example.com", "--password-stdin"}
		if code := run(args, strings.NewReader(password+"\n"), &out, &errs); code != exitError || !strings.Contains(errs.String(), says) {
			t.Errorf("%s: exit %d: %s", password, code, &errs)
		}
	}
}

// TestWarnSharedKeyFile checks that the server logs a warning about a master key that others
// may read.
func TestWarnSharedKeyFile(t *testing.T) {
	t.Parallel()
	dir := newAuditedDir(t)
	warning := func(c Config) string {
		var log bytes.Buffer
		c.warnSharedKeyFile(slog.New(slog.NewTextHandler(&log, nil)))
		return log.String()
	}
	path := filepath.Join(dir, db.KeyFile)
	if got := warning(Config{DataDir: dir}); got != "" {
		t.Errorf("a private key: %s", got)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []Config{{DataDir: dir}, {DataDir: t.TempDir(), MasterKeyFile: path}} {
		if got := warning(c); !strings.Contains(got, "chmod 600 "+path) || !strings.Contains(got, "mode=0644") {
			t.Errorf("a key for all: %s", got)
		}
	}
	if got := warning(Config{DataDir: dir, MasterKey: "x"}); got != "" {
		t.Errorf("a key that is not in use: %s", got)
	}
}

func TestCheckSessions_rejects_invalid_lifetimes(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"--session-idle=1m": "SLUICE_SESSION_IDLE is too short", "--session-max=500d": "SLUICE_SESSION_MAX is too long",
		"--session-idle=10d --session-max=5d": "SLUICE_SESSION_MAX is shorter", "--session-idle=0d": "write 30d or 36h", "--audit-retention=never": "write 30d or 36h",
	} {
		if code, out := runCommand(append([]string{"doctor", "--data-dir=" + t.TempDir()}, strings.Fields(args)...)...); code == exitOK || !strings.Contains(out, says) {
			t.Errorf("%s: exit %d: %s", args, code, out)
		}
	}
	code, out := runCommand("doctor", "--addr=127.0.0.1:0", "--data-dir="+t.TempDir(), "--session-idle=12h", "--audit-retention=400d")
	for _, want := range []string{"SLUICE_SESSION_IDLE", "12h0m0s", "SLUICE_SESSION_MAX", "30d", "SLUICE_AUDIT_RETENTION", "400d"} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("exit %d, %s is missing: %s", code, want, out)
		}
	}
}
