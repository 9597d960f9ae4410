package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// result is the output and the exit code of a command.
type result struct {
	code      int
	out, errs string
}

// command runs a command in the environment of the server.
func (s *server) command(args ...string) result {
	s.t.Helper()
	return s.commandWith("", args...)
}

// commandWith runs a command with standard input.
func (s *server) commandWith(stdin string, args ...string) result {
	s.t.Helper()
	cmd := exec.Command(s.program, args...)
	cmd.Dir, cmd.Env = s.cwd, environment(s.env...)
	cmd.Stdin = strings.NewReader(stdin)
	return runCommand(s.t, cmd)
}

func runCommand(t testing.TB, cmd *exec.Cmd) result {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", cmd, err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// must runs a command that must succeed and returns its output.
func (s *server) must(args ...string) string {
	s.t.Helper()
	r := s.command(args...)
	if r.code != 0 {
		s.t.Fatalf("sluice %s: exit code %d\n%s", strings.Join(args, " "), r.code, r.errs)
	}
	return strings.TrimSpace(r.out)
}

// publish imports and publishes a flow and returns its ID.
func (s *server) publish(document []byte) string {
	s.t.Helper()
	return s.must("flow", "import", writeFile(s.t, "flow.json", document), "--publish")
}

// key creates a key, by default with the scopes run and read.
func (s *server) key(args ...string) string {
	s.t.Helper()
	return s.must(append([]string{"key", "create", "--name", "test"}, args...)...)
}

// manager creates a key with all scopes.
func (s *server) manager() string { return s.key("--scope", "run,read,manage") }

func writeFile(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
