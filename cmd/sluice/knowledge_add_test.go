package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKnowledgeAdd_needs_no_server adds a document while no server is running: the command itself executes the run
// that indexes it.
func TestKnowledgeAdd_needs_no_server(t *testing.T) {
	t.Parallel()
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "refunds.md")
	if err := os.WriteFile(file, []byte("# Refunds\n\nA refund takes five working days.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ args, want string }{
		{"user add --password-stdin --email ada@example.com", "ada@example.com"},
		{"knowledge create handbook", "handbook"},
		{"knowledge add handbook " + file, "refunds.md"},
		{"knowledge create notes", "notes"},
		{"knowledge sync notes " + filepath.Dir(file), "refunds.md"},
		{"knowledge search handbook refund", "five working days"},
	} {
		var out, errs bytes.Buffer
		args := append(strings.Fields(step.args), "--data-dir="+data)
		if code := run(args, strings.NewReader("a rather long sentence\n"), &out, &errs); code != exitOK || !strings.Contains(out.String()+errs.String(), step.want) {
			t.Fatalf("sluice %s: %d: %s%s", step.args, code, &out, &errs)
		}
	}
}
