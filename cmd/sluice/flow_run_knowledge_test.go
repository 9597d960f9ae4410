package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFlowRun_answers_from_a_directory runs a flow of a file with a directory as its knowledge base, which leaves nothing behind.
func TestFlowRun_answers_from_a_directory(t *testing.T) {
	t.Parallel()
	docs, data := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(docs, "refunds.md"), []byte("# Refunds\n\nA refund takes five working days after the parcel arrives.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) (code int, out, errs string) {
		var o, e bytes.Buffer
		code = run(append(args, "--data-dir="+data), nil, &o, &e)
		return code, o.String(), e.String()
	}
	ask := []string{"flow", "run", "starters/answer-from-our-documents.json", "-i", "question=How long does a refund take?"}
	code, out, errs := command(append(ask, "--knowledge", docs)...)
	if code != exitOK || !strings.Contains(out, "five working days after the parcel arrives. [1]") || !strings.Contains(out, "refunds.md") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	if !strings.Contains(errs, "refunds.md") {
		t.Errorf("what was indexed is not reported: %s", errs)
	}
	if code, _, errs := command(append(ask, "--knowledge", t.TempDir())...); code != exitError || !strings.Contains(errs, "has no documents") {
		t.Errorf("an empty directory: %d %s", code, errs)
	}
	if code, _, errs := command("flow", "run", "starters/summarize-a-text.json", "--knowledge", docs); code != exitUsage || !strings.Contains(errs, "names no knowledge base") {
		t.Errorf("a flow without a base: %d %s", code, errs)
	}
	if code, _, errs := command("flow", "run", "some-flow", "--knowledge", docs); code != exitUsage || !strings.Contains(errs, "temporary database") {
		t.Errorf("a flow of a server: %d %s", code, errs)
	}
}
