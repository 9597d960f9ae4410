package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFlowImport checks that an import of several files is atomic.
func TestFlowImport(t *testing.T) {
	t.Parallel()
	const (
		good   = `{"schema": "sluice.flow/v1", "name": "NAME", "nodes": [{"id": "a", "kind": "input", "config": {"name": "x"}}, {"id": "o", "kind": "output", "config": {"name": "y"}}], "edges": [{"from": "a.value", "to": "o.value"}]}`
		bad    = `{"schema": "sluice.flow/v1", "name": "Bad", "nodes": [{"id": "a", "kind": "inptu", "config": {}}], "edges": []}`
		secret = `{"schema": "sluice.flow/v1", "name": "Secret", "nodes": [{"id": "a", "kind": "http_request", "config": {"url": "https://example.com", "headers": {"Authorization": "Bearer NAME"}}}, {"id": "o", "kind": "output", "config": {"name": "y"}}], "edges": [{"from": "a.body", "to": "o.value"}]}`
	)
	type setting struct {
		file func(name, text string) string
		call func(args ...string) (code int, out, errs string)
	}
	prepare := func(t *testing.T) setting {
		dir := t.TempDir()
		s := setting{
			file: func(name, text string) string {
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "NAME", strings.TrimSuffix(name, ".json"))), 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			},
			call: func(args ...string) (int, string, string) {
				var out, errs bytes.Buffer
				code := run(append(args, "--data-dir="+filepath.Join(dir, "data")), nil, &out, &errs)
				return code, out.String(), errs.String()
			},
		}
		if code, _, errs := s.call("migrate"); code != exitOK {
			t.Fatal(errs)
		}
		return s
	}
	t.Run("imports nothing when one of the files is bad", func(t *testing.T) {
		t.Parallel()
		s := prepare(t)
		one, two, three := s.file("one.json", secret), s.file("two.json", bad), s.file("three.json", `{"schema":`)
		for _, args := range [][]string{{one, two, three}, {two, one, three, "--publish"}, {three, two, one, "--publish", "--json"}} {
			code, out, errs := s.call(append([]string{"flow", "import"}, args...)...)
			if code != exitError || out != "" || !strings.Contains(errs, two+": ") || !strings.Contains(errs, "inptu") || !strings.Contains(errs, three+": ") || strings.Contains(errs, one+": ") || !strings.Contains(errs, "Nothing was imported") {
				t.Errorf("exit %d, %q, %s", code, out, errs)
			}
		}
		for _, list := range []string{"flow", "credential"} {
			if code, out, _ := s.call(list, "list", "--json"); code != exitOK || strings.Contains(out, "one") || strings.Contains(strings.ToLower(out), "secret-a") {
				t.Errorf("%s list: %s", list, out)
			}
		}
	})
	t.Run("imports and publishes all files", func(t *testing.T) {
		t.Parallel()
		s := prepare(t)
		code, out, errs := s.call("flow", "import", s.file("one.json", good), s.file("two.json", secret), s.file("three.json", secret), "--publish", "--json")
		var list []struct {
			ID, Name, File string
			Version        int
		}
		if err := json.Unmarshal([]byte(out), &list); code != exitOK || err != nil || len(list) != 3 {
			t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
		}
		for i, want := range []string{"one", "Secret", "Secret"} {
			if got := list[i]; got.ID == "" || got.Name != want || got.Version != 1 || filepath.Ext(got.File) != ".json" {
				t.Errorf("%+v", got)
			}
		}
		if _, out, _ := s.call("credential", "list"); !strings.Contains(out, "secret-a-authorization ") || !strings.Contains(out, "secret-a-authorization-2") {
			t.Errorf("two flows with a secret of the same name do not have one each:\n%s", out)
		}
	})
	t.Run("publishes over a draft", func(t *testing.T) {
		t.Parallel()
		s := prepare(t)
		_, id, _ := s.call("flow", "import", s.file("one.json", good), "--publish")
		id = strings.TrimSpace(id)
		code, out, errs := s.call("flow", "import", s.file("changed.json", good), "--id", id, "--publish", "--json")
		if code != exitOK || !strings.Contains(out, `"version": 2`) || !strings.Contains(out, id) {
			t.Errorf("exit %d: %s%s", code, out, errs)
		}
		if code, out, errs := s.call("flow", "import", s.file("bad.json", bad), "--id", id); code != exitError || strings.Contains(errs, "Nothing was imported") {
			t.Errorf("exit %d: %s%s", code, out, errs)
		}
		if _, out, _ := s.call("flow", "export", id); !strings.Contains(out, `"changed"`) {
			t.Errorf("the draft is not the one that was imported: %s", out)
		}
	})
}
