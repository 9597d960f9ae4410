package e2e

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"sluice/e2e/need"
)

// TestTestsInCI_follow_the_page runs the command of the GitHub Actions workflow in docs/tests.md without a server, a key and, on Linux, a network.
func TestTestsInCI_follow_the_page(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	page, err := os.ReadFile("../docs/tests.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^ +- run: (sluice test .*)$`).FindSubmatch(page)
	if found == nil {
		t.Fatal("the page has no step that runs the tests")
	}
	var asked atomic.Int64
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte("about " + r.URL.Query().Get("word")))
	}))
	defer service.Close()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, "flows", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("look-up.flow.json", `{"schema":"sluice.flow/v1","name":"Look up","nodes":[{"id":"in","kind":"input","config":{"name":"word","type":"text"}},
		{"id":"get","kind":"http_request","config":{"method":"GET","url":"`+service.URL+`/?word={{word}}"}},{"id":"out","kind":"output","config":{"name":"answer"}}],
		"edges":[{"from":"in.value","to":"get.word"},{"from":"get.body","to":"out.value"}]}`)
	cases := func(expected string) {
		write("look-up.tests.json", `{"schema":"sluice.tests/v1","cases":[{"id":"ann","inputs":{"word":"Ann"},"checks":[{"output":"answer","equals":"`+expected+`"}]}]}`)
	}
	cases("about Ann")
	shell := func(line string, want int) string {
		t.Helper()
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + filepath.Dir(sluice) + ":" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + t.TempDir(), "SLUICE_ALLOW_PRIVATE=127.0.0.0/8"}
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Fatalf("%s: exit %d, wanted %d\n%s", line, code, want, out)
		}
		return string(out)
	}
	command := string(found[1])
	if runtime.GOOS == "linux" {
		_, err := exec.LookPath("unshare")
		need.Tool(t, "unshare is not installed", err == nil)
		command = "unshare --user --map-root-user --net sh -c 'ip link set lo up && exec " + command + "'"
		if exec.Command("sh", "-c", "unshare --user --map-root-user --net sh -c 'ip link set lo up'").Run() != nil {
			command = string(found[1]) // containers may forbid namespaces
		}
	}
	shell(command, 3)
	shell("sluice test flows --mode fill", 0)
	service.Close()
	shell(command, 0)
	junit, err := os.ReadFile(filepath.Join(dir, "junit.xml"))
	if err != nil || !strings.Contains(string(junit), `tests="1" failures="0" errors="0"`) {
		t.Errorf("%v\n%s", err, junit)
	}
	cases("about Bob")
	shell(command, 1)
	comment, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if err != nil || !strings.HasPrefix(string(comment), "**look-up:** 0 of 1 pass.") || !strings.Contains(string(comment), `wanted "about Bob", got "about Ann"`) {
		t.Errorf("%v\n%s", err, comment)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("%d requests, wanted one to record the result", n)
	}
}
