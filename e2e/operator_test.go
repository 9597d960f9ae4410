package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBackup backs up a running server, deletes its data and continues from the backup in
// another directory: flows, keys, runs, files and secrets.
func TestBackup(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	id, key := s.publish(greeting()), s.key()
	before := s.client(key).succeed(id, object{"name": "Ada"})
	backup := filepath.Join(t.TempDir(), "sluice.backup")
	if out := s.must("backup", backup); !strings.Contains(out, "verified") {
		t.Errorf("backup printed %q", out)
	}
	s.client(key).succeed(id, object{"name": "too late for the backup"})
	s.kill()

	other := stoppedServer(t)
	if out := other.fails("restore", backup); !strings.Contains(out, "master key") {
		t.Errorf("restore without the master key said %q", out)
	}
	copyInto(t, filepath.Join(s.dir, "master.key"), other.dir)
	other.must("restore", backup)
	other.intactAudit()
	if out := other.fails("restore", backup); !strings.Contains(out, "--replace") {
		t.Errorf("restore over a database said %q", out)
	}
	other.start()
	c := other.client(key)
	c.succeed(id, object{"name": "Grace"})
	var list struct{ Runs []run }
	if err := json.Unmarshal(c.want(200, "GET", "/v1/flow/"+id+"/runs", nil).body, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Runs) != 2 || list.Runs[1].ID != before.ID {
		t.Errorf("after the restore there are %d runs, wanted that of the backup and a new one", len(list.Runs))
	}
}

// TestSecretsRotate rotates the master key of a database in use.
func TestSecretsRotate(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.client(s.key())
	secret := func() string { return string(c.want(200, "GET", "/v1/webhook-secret", nil).body) }
	before := secret()
	if out := s.fails("secrets", "rotate"); !strings.Contains(out, "stop all servers first") {
		t.Errorf("beside a server it said %q", out)
	}
	s.stop()
	old, err := os.ReadFile(filepath.Join(s.dir, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	s.must("secrets", "rotate")
	if fresh, err := os.ReadFile(filepath.Join(s.dir, "master.key")); err != nil || string(fresh) == string(old) {
		t.Errorf("the key file was not changed: %v", err)
	}
	s.intactAudit()
	s.start()
	s.publish(greeting())
	s.intactAudit()
	if again := secret(); again != before {
		t.Errorf("the secret opens to %q, it was %q", again, before)
	}
}

// TestDoctor checks that doctor names problems, sets the exit code and shows no secret.
func TestDoctor(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var report struct {
		State    string
		Settings []struct{ Name, Value, Source string }
		Findings []struct{ Name, State, Text, Advice string }
	}
	if err := json.Unmarshal([]byte(s.must("doctor", "--json")), &report); err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		if f.State == "bad" {
			t.Errorf("a fresh server has %+v", f)
		}
	}
	for _, one := range report.Settings {
		if one.Name == "SLUICE_DATA_DIR" && (one.Value != s.dir || one.Source != "environment") {
			t.Errorf("the data directory is shown as %+v", one)
		}
	}
	if err := os.Chmod(filepath.Join(s.dir, "master.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := s.fails("doctor"); !strings.Contains(out, "chmod 600") {
		t.Errorf("of a key that others may read it said:\n%s", out)
	}
	s.stop()
	s.start()
	if log := s.process().errs.String(); !strings.Contains(log, "chmod 600") {
		t.Errorf("of a key that others may read the log has nothing:\n%s", log)
	}
	s.env = append(s.env, "DATABASE_URL=postgres://sluice:hunter2@127.0.0.1:1/sluice")
	if out := s.fails("doctor"); strings.Contains(out, "hunter2") || !strings.Contains(out, "BAD") {
		t.Errorf("of a database that is not there it said:\n%s", out)
	}
}

// intactAudit checks that the audit log has entries and is intact.
func (s *server) intactAudit() {
	s.t.Helper()
	if out := s.must("audit", "verify"); !strings.Contains(out, "default: intact, ") || strings.Contains(out, "intact, 0") {
		s.t.Errorf("audit verify printed %q", out)
	}
}

// fails runs a command that must fail and returns its output.
func (s *server) fails(args ...string) string {
	s.t.Helper()
	r := s.command(args...)
	if r.code != 1 {
		s.t.Fatalf("sluice %s: exit code %d, wanted 1\n%s%s", strings.Join(args, " "), r.code, r.out, r.errs)
	}
	return r.out + r.errs
}

func copyInto(t *testing.T, file, dir string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o600); err != nil {
		t.Fatal(err)
	}
}
