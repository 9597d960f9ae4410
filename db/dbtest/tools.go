package dbtest

import (
	"os/exec"
	"testing"

	"sluice/db/dbtest/pgserver"
	"sluice/e2e/need"
)

// Tool prepares a run of a PostgreSQL program, such as pg_dump, of the same
// version as the server. The test is omitted if it is not installed.
func Tool(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	path := pgserver.Program(name)
	need.Tool(t, name+" is not installed", path != "")
	return exec.Command(path, args...)
}
