package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sluice/docs"
	"sluice/e2e/need"
)

// sampleBlocks returns the code samples of a page in a language, in order.
func sampleBlocks(t *testing.T, page, language string) []string {
	t.Helper()
	text, err := docs.Source(page)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// withSluice returns an environment in which the binary is called sluice.
func withSluice(t *testing.T, s *server) []string {
	t.Helper()
	bin := t.TempDir()
	if err := os.Symlink(sluice, filepath.Join(bin, "sluice")); err != nil {
		t.Fatal(err)
	}
	return append(environment(s.env...), "PATH="+bin+":"+os.Getenv("PATH"), "NO_PROXY=127.0.0.1")
}

// TestQuickstart runs the commands of the quickstart exactly as printed, in one shell.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("curl")
	need.Tool(t, "curl is not installed", err == nil)
	s := stoppedServer(t)
	s.cwd, s.env = t.TempDir(), []string{"SLUICE_ADDR=127.0.0.1:0", "SLUICE_DRAIN_DELAY=0"}
	s.start()
	blocks := sampleBlocks(t, "quickstart", "sh")
	if len(blocks) < 5 || !strings.Contains(blocks[2], "KEY=") {
		t.Fatalf("the page has other samples than this test knows: %q", blocks)
	}
	script := strings.ReplaceAll("set -eu\n"+strings.Join(blocks[2:], "\n"), "http://127.0.0.1:8080", s.base())
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = s.cwd, withSluice(t, s)
	r := runCommand(t, cmd)
	if r.code != 0 {
		t.Fatalf("what the page says does not work: %s\n%s", r.errs, r.out)
	}
	if !strings.Contains(r.out, `"status":"succeeded"`) || strings.Count(r.out, `"team":"billing"`) < 2 {
		t.Errorf("the run and its result are not as the page shows them:\n%s", r.out)
	}
}

// TestFlowsAsFiles follows the page on flows as files with its own document.
func TestFlowsAsFiles(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	s := stoppedServer(t)
	s.cwd = t.TempDir()
	s.start()
	document, commands := sampleBlocks(t, "flows", "json"), sampleBlocks(t, "flows", "sh")
	if len(document) != 2 || len(commands) < 1 { // the second document is a setting of VS Code; commands after the first need a server; see TestRemoteRuns
		t.Fatal("the page has other samples than this test knows")
	}
	if err := os.WriteFile(filepath.Join(s.cwd, "greet.json"), []byte(document[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	script := strings.Replace(commands[0], "sluice flow import greet.json --publish", "FLOW=$(sluice flow import greet.json --publish)", 1)
	cmd := exec.Command("sh", "-c", "set -eu\n"+script)
	cmd.Dir, cmd.Env = s.cwd, withSluice(t, s)
	if r := runCommand(t, cmd); r.code != 0 || !strings.Contains(r.out, "A warm hello, Ana!") || !strings.Contains(r.out, `"sluice.flow/v1"`) {
		t.Errorf("exit code %d, %s\n%s", r.code, r.errs, r.out)
	}
}
