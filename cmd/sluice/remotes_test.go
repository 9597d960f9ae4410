package main

import (
	"bytes"
	"strings"
	"testing"
)

// localCommands are the commands that work only on the server's machine or without a server,
// with the reasons. All others work over HTTP.
var localCommands = map[string]string{
	"serve": "is the server", "migrate": "changes the database", "backup": "reads the database", "restore": "replaces the database",
	"doctor": "examines the machine", "files move": "reads the files of the machine", "compact": "changes the database", "secrets rotate": "needs the master key",
	"ready": "asks the server of this machine", "login": "saves a server", "logout": "forgets it",
	"flow fmt": "reads files", "kinds": "prints what this program has", "schema": "prints what this program has",
	"completion": "prints what this program has", "version": "prints what this program has", "licenses": "prints what this program has",
	"test run": "runs files in a temporary database",
	"flow run": "chooses the server on its own, since it also runs files",
}

// TestCommands_work_over_HTTP checks that every command works with --server and --key or is in
// localCommands.
func TestCommands_work_over_HTTP(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, leaf := range newProgram(&cli{}).Leaves() {
		name := strings.TrimPrefix(leaf.Path(), "sluice ")
		known[name] = true
		if _, speaks := leaf.Target().(apiRunner); speaks == (localCommands[name] != "") {
			t.Errorf("%s: it speaks HTTP is %t, and the reason why not is %q", name, speaks, localCommands[name])
		}
	}
	for name := range localCommands {
		if !known[name] {
			t.Errorf("there is no command %s", name)
		}
	}
}

// TestCommands_refuse_server checks that commands that must not work over HTTP return the reason
// and an alternative.
func TestCommands_refuse_server(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"user add --email ada@example.com", "own rights"},
		{"user remove ada@example.com", "own rights"},
		{"user password ada@example.com", "own rights"},
		{"credential hosts openai --host api.example.com", "credential add --name openai"},
		{"credential add --name open --any-host", "--host"},
		{"credential add --name openai --provider openai --host api.example.com", "leave out --host"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			args := append(strings.Fields(c.args), "--server", "http://127.0.0.1:1", "--key", "slu_none")
			code := run(args, strings.NewReader("sk-secret"), &out, &errs)
			if code != exitUsage || !strings.Contains(errs.String(), "over HTTP") || !strings.Contains(errs.String(), c.want) || out.Len() > 0 {
				t.Errorf("exit %d: %s%s", code, &out, &errs)
			}
		})
	}
}
