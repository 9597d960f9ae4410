package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/e2e/npm"
)

// coded returns a flow with a single node, which runs code on n.
func coded(code string) []byte {
	return documentOf("Coded", []object{input("n"), node("run", "code", object{"code": code, "inputs": []any{"n"}}), output("result")}, "n.value > run.n", "run.result > out_result.value")
}

// stepNamed returns a step of a run.
func stepNamed(t *testing.T, c *client, r *run, path string) object {
	t.Helper()
	var list struct{ Steps []object }
	if err := json.Unmarshal(c.want(200, "GET", r.path()+"/steps", nil).body, &list); err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Steps {
		if s["path"] == path {
			return s
		}
	}
	t.Fatalf("no step %s in %v", path, list.Steps)
	return nil
}

// TestCode runs code over HTTP: its result and log, the same clock and numbers in a rerun,
// and errors that name the line.
func TestCode(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.client(s.key())
	id := s.publish(coded("export default ({ n }) => {\n  console.log('got', n);\n  return [Date.now(), Math.random(), n.toUpperCase()];\n}"))
	first := c.await(c.start(id, object{"n": "abc"}))
	again := c.await(c.want(202, "POST", first.path()+"/rerun", object{"from": "run"}).run(t))
	once := c.await(c.want(202, "POST", again.path()+"/rerun", object{"from": "run"}).run(t))
	other := c.await(c.start(id, object{"n": "abc"}))
	list, _ := first.Outputs["result"].([]any)
	if first.Status != "succeeded" || len(list) != 3 || list[2] != "ABC" {
		t.Fatalf("got %+v", first)
	}
	for name, r := range map[string]*run{"a rerun": again, "a rerun of a rerun": once} {
		if fmt.Sprint(r.Outputs) != fmt.Sprint(first.Outputs) {
			t.Errorf("%s gave %v, wanted %v", name, r.Outputs, first.Outputs)
		}
		if state := stepNamed(t, c, r, "run")["state"]; state != "succeeded" {
			t.Errorf("in %s the code is %v", name, state)
		}
	}
	if fmt.Sprint(other.Outputs) == fmt.Sprint(first.Outputs) {
		t.Error("another run has the same numbers")
	}
	if step := stepNamed(t, c, first, "run"); step["log"] != "got abc\n" {
		t.Errorf("the log is %v", step["log"])
	}
	failing := s.publish(coded("export default ({ n }) => {\n  console.log('before');\n  return n.a.b;\n}"))
	end := c.await(c.start(failing, object{"n": "x"}))
	if end.Status != "failed" || end.Error.Code != "code_failed" || !strings.HasPrefix(end.Error.Message, "Line 3: TypeError") {
		t.Errorf("got %s: %+v", end.Status, end.Error)
	}
	if step := stepNamed(t, c, end, "run"); step["log"] != "before\n" {
		t.Errorf("the log of the failed step is %v", step["log"])
	}
}

// TestCode_many_steps_survive_crash runs 1,000 code steps at once, as the items of a map, and kills the
// server in the middle. None fails, and each gives its own result.
func TestCode_many_steps_survive_crash(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	child := s.publish(documentOf("Double", []object{input("n"), node("run", "code", object{"code": "export default ({ n }) => String(2 * Number(n));", "inputs": []any{"n"}}), output("double")},
		"n.value > run.n", "run.result > out_double.value"))
	id := s.publish(mapping(child, object{"concurrency": 1000}))
	c := s.client(s.key())
	r := c.start(id, object{"list": numbers(1000)})
	s.waitUntil("some items have ended", func() bool {
		var list struct{ Steps []object }
		if err := json.Unmarshal(c.want(200, "GET", r.path()+"/children?limit=1", nil).body, &list); err != nil || len(list.Steps) == 0 {
			return false
		}
		done, _ := list.Steps[0]["succeeded"].(float64)
		return done > 50
	})
	s.kill()
	s.start()
	end := c.await(r)
	if end.Status != "succeeded" || end.Outputs["failed"] != 0.0 {
		t.Fatalf("the run is %s: %+v, failed %v", end.Status, end.Error, end.Outputs["failed"])
	}
	checkDoubles(t, end.Outputs["doubles"], 1000, nil)
}

// TestCode_disabled_by_setting refuses to publish code where the operator switched it off.
func TestCode_disabled_by_setting(t *testing.T) {
	t.Parallel()
	s := newServer(t, "SLUICE_CODE=off")
	c := s.client(s.key("--scope", "edit", "--scope", "run"))
	if r := c.want(422, "POST", "/v1/apply", object{"documents": []any{json.RawMessage(coded("export default () => 1"))}, "publish": true}); !strings.Contains(string(r.body), "SLUICE_CODE=off") {
		t.Errorf("got %s", r.body)
	}
}

// TestCodeTypes type-checks code with what "sluice kinds --types" prints, by TypeScript's
// own compiler: available functions are declared, and unavailable ones are reported.
func TestCodeTypes(t *testing.T) {
	t.Parallel()
	modules := npm.Install(t, filepath.Join("testdata", "openapi"))
	dir := t.TempDir()
	for name, text := range map[string]string{
		"code.d.ts":     stoppedServer(t).must("kinds", "--types"),
		"tsconfig.json": `{"compilerOptions": {"strict": true, "noEmit": true, "target": "ES2023", "lib": ["ES2023"], "types": [], "module": "ES2022"}}`,
		"right.ts":      "const f: SluiceCode<{ list: number[] }, { sum: number }> = ({ list }) => { console.log(list); return { sum: list.reduce((a, b) => a + b, 0) }; };\nexport default f;\n",
		"wrong.ts":      "const f: SluiceCode<{ list: number[] }, number> = ({ lists }) => fetch(\"/\");\nexport default f;\nsetTimeout(f, 1);\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("node", filepath.Join(modules, "typescript", "bin", "tsc"), "-p", dir, "--pretty", "false").CombinedOutput()
	if err == nil || strings.Contains(string(out), "right.ts") {
		t.Errorf("tsc: %v, %s", err, out)
	}
	for _, missing := range []string{"'lists'", "'fetch'", "'setTimeout'"} {
		if !strings.Contains(string(out), missing) {
			t.Errorf("%s is not reported: %s", missing, out)
		}
	}
}
