package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommands_reject_missing_database checks that a mistyped directory is an error: commands
// do not create a database and a master key that no server uses.
func TestCommands_reject_missing_database(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "greet.json")
	if err := os.WriteFile(file, []byte(`{"schema": "sluice.flow/v1", "name": "Greet", "nodes": [
		{"id": "who", "kind": "input", "config": {"name": "name", "type": "text"}},
		{"id": "out", "kind": "output", "config": {"name": "greeting"}}], "edges": [{"from": "who.value", "to": "out.value"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const someFlow = "flow_01m7z2wjxfy6hsj7xwxqmmvg9y"
	call := func(stdin string, args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := run(args, strings.NewReader(stdin), &out, &errs)
		return code, out.String() + errs.String()
	}
	for _, command := range []string{
		"flow list", "flow import " + file, "flow publish " + someFlow, "flow export " + someFlow, "flow secret " + someFlow, "flow limits " + someFlow, "flow run " + someFlow,
		"key create --name a", "key list", "key revoke key_01m7z2wjxfy6hsj7xwxqmmvg9y", "key rotate key_01m7z2wjxfy6hsj7xwxqmmvg9y",
		"credential add --name a --provider openai", "credential list", "credential test a", "credential remove a", "provider models openai",
		"price set a/b --input 1", "price list", "price remove a/b", "backup " + filepath.Join(t.TempDir(), "b"), "secrets rotate",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "typo")
			code, out := call("secret", append(strings.Fields(command), "--data-dir="+dir)...)
			if code != exitError || !strings.Contains(out, "there is no database in "+dir) || !strings.Contains(out, "'sluice serve'") {
				t.Errorf("exit %d: %s", code, out)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("the directory was made")
			}
		})
	}
	for command, stdin := range map[string]string{"migrate": "", "user add --email ada@example.com --password-stdin": "correct horse battery\n"} {
		t.Run(command+" creates it", func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "new")
			if code, out := call(stdin, append(strings.Fields(command), "--data-dir="+dir)...); code != exitOK {
				t.Fatalf("exit %d: %s", code, out)
			}
			if code, out := call("", "key", "list", "--data-dir="+dir); code != exitOK {
				t.Errorf("exit %d: %s", code, out)
			}
		})
	}
	for command, want := range map[string]string{"flow run " + file + " --input name=Ana": "greeting: Ana", "doctor --addr=127.0.0.1:0": "The first start creates it", "model list": "", "kinds": "", "version": ""} {
		t.Run(strings.Fields(command)[0]+" needs none", func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "none")
			if code, out := call("", append(strings.Fields(command), "--data-dir="+dir)...); code != exitOK || !strings.Contains(out, want) {
				t.Errorf("exit %d: %s", code, out)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("the directory was made")
			}
		})
	}
}
