package static_test

import (
	"os"
	"os/exec"
	"testing"

	"sluice/e2e/need"
)

// TestScripts runs the unit tests of the scripts, src/**/*.test.ts, in Node.
func TestScripts(t *testing.T) {
	t.Parallel()
	_, noNode := exec.LookPath("node")
	_, noModules := os.Stat("node_modules")
	need.Tool(t, "the unit tests of the scripts need Node and 'npm ci' in static", noNode == nil && noModules == nil)
	cmd := exec.CommandContext(t.Context(), "go", "run", ".", "-test")
	cmd.Dir = "build"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
