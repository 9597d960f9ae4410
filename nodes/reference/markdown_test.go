package reference

import (
	"bytes"
	"flag"
	"os"
	"sluice/nodes"
	"testing"
)

var update = flag.Bool("update", false, "regenerate docs/nodes.md")

// TestMarkdown keeps the committed reference equal to the declarations.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	const file = "../../docs/nodes.md"
	want := Markdown(nodes.New(nodes.Deps{}))
	if *update {
		if err := os.MkdirAll("../../docs", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/nodes.md differs from the declarations; run: go generate ./nodes")
	}
}
