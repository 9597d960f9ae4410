package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/e2e/need"
)

// TestCompletion completes words in real shells.
func TestCompletion(t *testing.T) {
	t.Parallel()
	words := []struct{ typed, want string }{
		{"fl", "flow"},
		{"flow app", "apply"},
		{"flow apply --fail", "--fail-on-breaking"},
		{"key rot", "rotate"},
		{"run list greet --st", "--status"},
		{"audit ver", "verify"},
		{"workspace limits set default --by", "--bytes"},
		{"credential limits openai --per", "--per-minute"},
		{"flow apply ''", "FILE"},
	}
	// How each shell completes FILE: bash completes files after an empty answer, fish within it.
	files := map[string]string{"bash": "", "fish": "greet.flow.json"}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "greet.flow.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ask := map[string]func(script, typed string) []string{
		"bash": func(script, typed string) []string {
			return []string{"--norc", "-c", script + "\nCOMP_WORDS=(sluice " + typed + ")\nCOMP_CWORD=$((${#COMP_WORDS[@]}-1))\n_sluice\necho \"${COMPREPLY[@]}\""}
		},
		"fish": func(script, typed string) []string {
			return []string{"--no-config", "-c", script + "\ncomplete -C 'sluice " + typed + "'"}
		},
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			var script, errs bytes.Buffer
			if code := run([]string{"completion", shell}, nil, &script, &errs); code != exitOK {
				t.Fatal(errs.String())
			}
			_, err := exec.LookPath(shell)
			need.Tool(t, shell+" is not installed", err == nil)
			if ask[shell] == nil { // needs a terminal; at least it parses
				if out, err := exec.Command(shell, "-n", "-c", script.String()).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
				return
			}
			for _, w := range words {
				cmd := exec.Command(shell, ask[shell](script.String(), w.typed)...)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				want := strings.ReplaceAll(w.want, "FILE", files[shell])
				if got, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\t"); err != nil || got != want {
					t.Errorf("%q is completed to %q, wanted %q (%v)", w.typed, out, want, err)
				}
			}
		})
	}
	t.Run("refuses another shell", func(t *testing.T) {
		t.Parallel()
		var out, errs bytes.Buffer
		if code := run([]string{"completion", "cmd"}, nil, &out, &errs); code != exitUsage || !strings.Contains(errs.String(), "bash, zsh, fish") {
			t.Errorf("exit %d: %s", code, &errs)
		}
	})
}
