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
		one, two, three := s.file("one.json", secret), s.file("two.json", bad), s.file("three.json", strings.ReplaceAll(bad, "inptu", "otuput"))
		cut := []string{s.file("four.json", `{"schema":`), s.file("five.json", `{`)}
		for _, args := range [][]string{{one, two, three}, {two, one, three, "--publish"}, {three, two, one, "--publish", "--json"}} {
			code, out, errs := s.call(append([]string{"flow", "import"}, args...)...)
			if code != exitError || out != "" || !strings.Contains(errs, two+":1: ") || !strings.Contains(errs, "inptu") || !strings.Contains(errs, three+":1: ") || !strings.Contains(errs, "otuput") || strings.Contains(errs, one+":") || !strings.Contains(errs, "Nothing was changed") {
				t.Errorf("exit %d, %q, %s", code, out, errs)
			}
			code, out, errs = s.call(append(append([]string{"flow", "import"}, cut...), args...)...)
			if code != exitError || out != "" || !strings.Contains(errs, cut[0]+":1: ") || !strings.Contains(errs, cut[1]+":1: ") {
				t.Errorf("without valid JSON: exit %d, %q, %s", code, out, errs)
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
	t.Run("rejects another slug than that of the replaced flow", func(t *testing.T) {
		t.Parallel()
		s := prepare(t)
		slugged := strings.Replace(good, `"name"`, `"slug": "NAME", "name"`, 1)
		_, id, _ := s.call("flow", "import", s.file("one.json", slugged))
		id = strings.TrimSpace(id)
		if code, out, errs := s.call("flow", "import", s.file("other.json", slugged), "--id", id); code != exitError || !strings.Contains(errs, `"other"`) || !strings.Contains(errs, `"one"`) {
			t.Errorf("exit %d: %s%s", code, out, errs)
		}
		if _, out, _ := s.call("flow", "export", id); !strings.Contains(out, `"slug": "one"`) || strings.Contains(out, "other") {
			t.Errorf("the flow has changed: %s", out)
		}
		for _, same := range []string{slugged, good} {
			if code, _, errs := s.call("flow", "import", s.file("one.json", same), "--id", id); code != exitOK {
				t.Errorf("exit %d: %s", code, errs)
			}
		}
	})
	caller := func(slug, more string) string {
		return `{"schema": "sluice.flow/v1", "name": "NAME", "nodes": [{"id": "s", "kind": "subflow", "config": {"flow": "` + slug + `"` + more + `}}, {"id": "o", "kind": "output", "config": {"name": "o"}}], "edges": [{"from": "s.outputs", "to": "o.value"}]}`
	}
	callee := strings.Replace(strings.Replace(good, `"name"`, `"slug": "NAME", "name"`, 1), `{"name": "x"}`, `{"name": "x", "type": "text", "default": "a"}`, 1)
	t.Run("publishes no flow that runs a missing one", func(t *testing.T) {
		t.Parallel()
		s := prepare(t)
		for _, more := range []string{"", `, "version": 3`} {
			file := s.file("caller.json", caller("absent", more))
			if code, out, errs := s.call("flow", "import", file, "--publish"); code != exitError || !strings.Contains(errs, `"absent"`) || !strings.Contains(errs, file+":1: nodes/0/config/flow") {
				t.Errorf("exit %d: %s%s", code, out, errs)
			}
			code, id, errs := s.call("flow", "import", file) // a draft may be saved before the other flow exists
			if code != exitOK {
				t.Fatalf("exit %d: %s", code, errs)
			}
			if code, out, errs := s.call("flow", "publish", strings.TrimSpace(id)); code != exitError || !strings.Contains(errs, `"absent"`) {
				t.Errorf("exit %d: %s%s", code, out, errs)
			}
		}
		if code, out, errs := s.call("flow", "import", s.file("caller.json", caller("one", "")), s.file("one.json", callee), "--publish"); code != exitOK {
			t.Errorf("flows that are imported together, exit %d: %s%s", code, out, errs)
		}
		if code, out, errs := s.call("flow", "import", s.file("caller.json", caller("one", `, "version": 9`)), "--publish"); code != exitError || !strings.Contains(errs, "no version 9") {
			t.Errorf("a version that does not exist, exit %d: %s%s", code, out, errs)
		}
	})
	t.Run("validates the flows that a flow runs", func(t *testing.T) {
		t.Parallel()
		s := prepare(t)
		missing, one := s.file("caller.json", caller("one", "")), s.file("one.json", callee)
		if code, out, _ := s.call("flow", "validate", missing); code != exitError || strings.Contains(out, "fine") || !strings.Contains(out, `there is no flow "one"`) || !strings.HasPrefix(out, missing+":1: nodes/") {
			t.Errorf("exit %d: %s", code, out)
		}
		var out, errs bytes.Buffer
		if code, out := run([]string{"flow", "validate", missing, "--data-dir=" + t.TempDir()}, nil, &out, &errs), out.String(); code != exitError || !strings.Contains(out, "among these files") {
			t.Errorf("without a database, exit %d: %s", code, out)
		}
		if code, out, errs := s.call("flow", "validate", missing, one); code != exitOK || strings.Count(out, "fine") != 2 {
			t.Errorf("together, exit %d: %s%s", code, out, errs)
		}
		if code, _, errs := s.call("flow", "import", one); code != exitOK {
			t.Fatal(errs)
		}
		if code, out, errs := s.call("flow", "validate", missing); code != exitOK || !strings.Contains(out, "fine") {
			t.Errorf("with the flow in the database, exit %d: %s%s", code, out, errs)
		}
	})
	t.Run("skips a byte order mark", func(t *testing.T) {
		t.Parallel()
		s := prepare(t)
		file := s.file("one.json", "\ufeff"+good)
		for _, args := range [][]string{{"flow", "validate", file}, {"flow", "import", file, "--publish"}} {
			if code, out, errs := s.call(args...); code != exitOK {
				t.Errorf("%v: exit %d: %s%s", args, code, out, errs)
			}
		}
	})
}
