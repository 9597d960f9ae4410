package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/e2e/need"
)

// TestOpenAPIGoClient generates clients in Go with two generators, compiles programs that use them and runs a flow with each.
func TestOpenAPIGoClient(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "openapi-go"))); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"main.go.txt": "main.go", "plain.go.txt": "byplain/main.go"} { // .txt, so that they are no packages of this module
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, to)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	s := newServer(t)
	id, key := s.publish(documentOf("Rate", []object{
		node("ticket", "input", object{"name": "ticket"}), node("least", "input", object{"name": "least", "type": "number", "default": 2}),
		node("feel", "sentiment", object{}), node("strong", "condition", object{"expression": "value > 1.0"}), node("why", "template", object{"template": "It is {{score}}."}),
		output("confidence"), output("label"), output("why"),
	}, "ticket.value > feel.text", "feel.score > out_confidence.value", "feel.label > out_label.value", "feel.score > strong.value", "strong.true > why.score", "why.text > out_why.value")), s.key()
	for name, path := range map[string]string{"flow.json": "/v1/flow/" + id + "/openapi.json", "api.json": "/v1/openapi.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), s.client(key).want(200, "GET", path, nil).body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	goRun := func(args ...string) result {
		t.Helper()
		cmd := exec.Command("go", append([]string{"run"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		return runCommand(t, cmd)
	}
	if r := goRun("github.com/ogen-go/ogen/cmd/ogen", "--config", "ogen.yml", "--target", "client", "--package", "client", "--clean", "flow.json"); r.code != 0 {
		t.Fatalf("the generator: %.2000s … %s", r.errs, r.errs[max(len(r.errs)-500, 0):])
	}
	r := goRun(".", s.base(), key)
	var said struct{ Positive, Confidence, Why bool }
	if err := json.Unmarshal([]byte(r.out), &said); err != nil || !said.Positive || !said.Confidence || said.Why {
		t.Errorf("the program says %q %s", r.out, strings.TrimSpace(r.errs))
	}

	for name, document := range map[string]string{"plain": "flow.json", "whole": "api.json"} {
		g := goRun("github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2", "-generate", "types,client", "-package", name, document)
		if g.code != 0 {
			t.Fatalf("oapi-codegen: %s", g.errs)
		}
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "client.go"), []byte(g.out), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r := goRun("./byplain", s.base(), key); strings.TrimSpace(r.out) != "succeeded" {
		t.Errorf("the program by oapi-codegen says %q %s", r.out, strings.TrimSpace(r.errs))
	}
}
