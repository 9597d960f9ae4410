package dbtest

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"sluice/db"
	"sluice/db/dbtest/pgserver"
	"sluice/e2e/need"
)

// pgBouncerPort is part of the name of the socket; nothing listens on TCP.
const pgBouncerPort = 6432

// PgBouncer starts PgBouncer in a pool mode (session, transaction or statement)
// before the database of cfg, which must come from this package, and returns
// cfg with an address that leads through it. settings are further lines of its
// configuration.
func PgBouncer(t testing.TB, cfg db.Config, mode string, settings ...string) db.Config {
	t.Helper()
	path := pgBouncerPath()
	need.Tool(t, "pgbouncer is not installed", path != "")
	database, err := url.Parse(cfg.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "sluice-pgb-") // short enough for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	text := fmt.Sprintf(`[databases]
* = host=%s
[pgbouncer]
listen_port = %d
unix_socket_dir = %s
auth_type = trust
auth_file = %s
pool_mode = %s
default_pool_size = 40
`, database.Query().Get("host"), pgBouncerPort, dir, filepath.Join(dir, "users"), mode)
	for _, line := range settings {
		text += line + "\n"
	}
	for name, content := range map[string]string{"pgbouncer.ini": text, "users": "\"sluice\" \"\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cred, err := pgserver.Unprivileged(dir)
	if err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	cmd := exec.Command(path, filepath.Join(dir, "pgbouncer.ini"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start pgbouncer: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	query := database.Query()
	query.Set("host", dir)
	query.Set("port", fmt.Sprint(pgBouncerPort))
	database.RawQuery = query.Encode()
	cfg.DatabaseURL = database.String()
	if err := pgserver.Await(cfg.DatabaseURL); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("pgbouncer: %v\n%s", err, &output)
	}
	return cfg
}

// pgBouncerPath returns the path of the program, which distributions put in the
// PATH of root only, or "" if it is not installed.
func pgBouncerPath() string {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
