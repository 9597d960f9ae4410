package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/e2e/need"
	"sluice/e2e/npm"
)

// everyInput is a flow with an input of every type, names that are keywords in some language,
// files and a webhook.
func everyInput() []byte {
	in := func(name, typ string, more object) object {
		config := object{"name": name, "type": typ}
		for k, v := range more {
			config[k] = v
		}
		return node("in_"+strings.ToLower(name), "input", config)
	}
	return documentOf("Tout \"fait\" 🦆 <b>", []object{
		in("class", "text", object{"description": "A reserved word.\n\n- `code` */ {{x}}", "min": 1, "max": 20, "pattern": "^[a-z]+$", "example": "abc"}),
		in("_n-1", "number", object{"default": 1.5, "min": 0, "max": 9, "example": 2}),
		in("is-on", "boolean", object{"default": false}),
		in("toJSON", "json", object{"default": object{"a": []any{1, nil}}}),
		in("Content-Type", "list", object{"default": []any{"x"}, "max": 5}),
		in(strings.Repeat("a", 61), "text", object{"enum": []any{"x", "y z"}, "default": "x"}),
		in("file", "file", object{"description": "Look."}),
		output("delete"), output("confidence"), node("out_file", "output", object{"name": "out-2"}),
		node("hook", "webhook", object{"url": "https://example.com/hook", "outputs": []any{"delete"}}),
	}, "in_class.value > out_delete.value", "in_file.value > out_file.value", "in__n-1.value > out_confidence.value")
}

// openAPIJudges installs the npm packages that validate OpenAPI documents.
func openAPIJudges(t *testing.T) (modules string) {
	t.Helper()
	return npm.Install(t, filepath.Join("testdata", "openapi"))
}

// judge runs one of the packages in a writable directory.
func judge(t *testing.T, dir string, args ...string) result {
	t.Helper()
	cmd := exec.Command("node", args...)
	cmd.Dir = dir
	cmd.Env = environment("REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "DO_NOT_TRACK=1", "HOME="+dir, "CI=1")
	return runCommand(t, cmd)
}

// TestOpenAPILint validates the API's document and those of flows with Redocly.
func TestOpenAPILint(t *testing.T) {
	t.Parallel()
	modules, dir := openAPIJudges(t), t.TempDir()
	s := newServer(t)
	s.publish(everyInput())
	s.publish(greeting())
	s.publishStarter()
	c := s.client(s.key())
	args := []string{filepath.Join(modules, "@redocly", "cli", "bin", "cli.js"), "lint", "--format", "json", "--max-problems", "100", "--config", must1(filepath.Abs(filepath.Join("testdata", "openapi", "redocly.yaml")))}
	write := func(name, path string) {
		if err := os.WriteFile(filepath.Join(dir, name), c.want(200, "GET", path, nil).body, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	write("api.json", "/v1/openapi.json")
	for i, f := range c.want(200, "GET", "/v1/flow", nil).object(t)["flows"].([]any) {
		write(fmt.Sprintf("flow%d.json", i), "/v1/flow/"+f.(object)["flow_id"].(string)+"/openapi.json")
	}
	wrong := filepath.Join(dir, "wrong.json") // the linter must be seen to find something
	if err := os.WriteFile(wrong, []byte(`{"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "paths": {"/a": {"get": {"responses": {}}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	checkLint(t, judge(t, dir, append(args, "wrong.json")...))
}

func checkLint(t *testing.T, r result) {
	t.Helper()
	_, reports, _ := strings.Cut(r.out, "{")
	decoder, found := json.NewDecoder(strings.NewReader("{"+reports)), false
	for {
		var report struct {
			Problems []struct {
				RuleID, Message string
				Location        []struct {
					Source  struct{ Ref string }
					Pointer string
				}
			}
		}
		if err := decoder.Decode(&report); err != nil {
			break
		}
		for _, p := range report.Problems {
			if at := p.Location[0]; at.Source.Ref == "wrong.json" {
				found = true
			} else {
				t.Errorf("%s %s: %s (%s)", at.Source.Ref, at.Pointer, p.Message, p.RuleID)
			}
		}
	}
	if !found {
		t.Errorf("the linter has found nothing in a document that is wrong:\n%s\n%s", r.out, r.errs)
	}
}

// TestOpenAPIClient generates a client from a flow's document, compiles a program that uses
// it and runs the flow with it.
func TestOpenAPIClient(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	modules, dir := openAPIJudges(t), t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil { // the programs import packages
		t.Fatal(err)
	}
	s := newServer(t)
	id, key := s.publish(everyInput()), s.key()
	for name, data := range map[string][]byte{
		"flow.json": s.client(key).want(200, "GET", "/v1/flow/"+id+"/openapi.json", nil).body,
		"caller.ts": must1(os.ReadFile(filepath.Join("testdata", "openapi", "caller.ts"))),
		"fetch.ts":  bytes.Replace(must1(os.ReadFile(filepath.Join("testdata", "openapi", "fetch.ts"))), []byte("START"), []byte("/v1/flow/"+id+"/run"), 1),
		"tsconfig.json": must1(json.Marshal(object{"include": []string{"caller.ts", "fetch.ts", "client"}, "compilerOptions": object{
			"strict": true, "target": "es2022", "module": "commonjs", "moduleResolution": "node10", "lib": []string{"es2023", "dom", "dom.iterable"},
			"types": []string{"node"}, "typeRoots": []string{filepath.Join(modules, "@types")}, "outDir": "out",
		}})),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{filepath.Join(modules, "@hey-api", "openapi-ts", "bin", "run.js"), "-i", "flow.json", "-o", "client", "-c", "@hey-api/client-fetch", "--silent"},
		{filepath.Join(modules, "openapi-typescript", "bin", "cli.js"), "flow.json", "-o", "flow.ts"},
		{filepath.Join(modules, "typescript", "bin", "tsc"), "-p", "."},
	} {
		if r := judge(t, dir, args...); r.code != 0 {
			t.Fatalf("%s: %s\n%s", filepath.Base(args[0]), r.out, r.errs)
		}
	}
	r := judge(t, dir, filepath.Join("out", "caller.js"), s.base(), key)
	var said struct {
		Problems []string
		Status   string
		Fixed    string
		Outputs  struct {
			Delete string
			File   object `json:"out-2"`
		}
	}
	if err := json.Unmarshal([]byte(r.out), &said); err != nil {
		t.Fatalf("the program says %q %s", r.out, r.errs)
	}
	if !slices.Equal(said.Problems, []string{"/class"}) || said.Status != "succeeded" || said.Fixed != "2.00" || said.Outputs.Delete != "lower" || said.Outputs.File["name"] != "a.txt" {
		t.Errorf("the program says %s", bytes.TrimSpace([]byte(r.out)))
	}
	if r := judge(t, dir, filepath.Join("out", "fetch.js"), s.base(), key); strings.TrimSpace(r.out) != `{"status":"succeeded","started":true}` {
		t.Errorf("the program with openapi-fetch says %q %s", r.out, r.errs)
	}
}
