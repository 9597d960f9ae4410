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

// TestOpenAPIGoClient generates a client in Go from a flow's document, compiles a program that
// uses it and runs the flow with it.
func TestOpenAPIGoClient(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "openapi-go"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "main.go.txt"), filepath.Join(dir, "main.go")); err != nil { // so that it is no package of this module
		t.Fatal(err)
	}
	s := newServer(t)
	id, key := s.publish(documentOf("Rate", []object{
		node("ticket", "input", object{"name": "ticket"}), node("least", "input", object{"name": "least", "type": "number", "default": 2}),
		node("feel", "sentiment", object{}), node("strong", "condition", object{"expression": "value > 1.0"}), node("why", "template", object{"template": "It is {{score}}."}),
		output("confidence"), output("label"), output("why"),
	}, "ticket.value > feel.text", "feel.score > out_confidence.value", "feel.label > out_label.value", "feel.score > strong.value", "strong.true > why.score", "why.text > out_why.value")), s.key()
	if err := os.WriteFile(filepath.Join(dir, "flow.json"), s.client(key).want(200, "GET", "/v1/flow/"+id+"/openapi.json", nil).body, 0o600); err != nil {
		t.Fatal(err)
	}
	goRun := func(args ...string) result {
		t.Helper()
		cmd := exec.Command("go", append([]string{"run"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		return runCommand(t, cmd)
	}
	if r := goRun("github.com/ogen-go/ogen/cmd/ogen", "--config", "ogen.yml", "--target", "client", "--package", "client", "--clean", "flow.json"); r.code != 0 {
		t.Fatalf("the generator: %s", r.errs[max(len(r.errs)-2000, 0):])
	}
	r := goRun(".", s.base(), key)
	var said struct{ Positive, Confidence, Why bool }
	if err := json.Unmarshal([]byte(r.out), &said); err != nil || !said.Positive || !said.Confidence || said.Why {
		t.Errorf("the program says %q %s", r.out, strings.TrimSpace(r.errs))
	}
}
