package aiflow_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"testing"

	"sluice/flow"
)

// TestTextTools compares what imported text tools give with what Python gave for the
// same settings. testdata/python.jsonl was made with str.split, str.replace and re.sub of
// Python 3, whose \w, \d and \b were asked for ASCII, as they are in RE2.
func TestTextTools(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/python.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	n := map[string]int{}
	for lines.Scan() {
		var c struct {
			Type   string
			Values map[string]any
			Want   any
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		n[c.Type]++
		source := map[string]any{"name": "a#" + c.Type, "processorType": c.Type, "x": 0, "y": 0, "inputs": []any{}}
		maps.Copy(source, c.Values)
		text := source["input_text"]
		delete(source, "input_text") // it arrives when the node runs
		d, report := convert(t, flow.EncodeJSON([]any{source}))
		node := &d.Nodes[0]
		if node.Kind == "note" {
			t.Fatalf("%s stays a note: %s", lines.Text(), told(report))
		}
		got := outputOf(t, node, text)
		if want := string(flow.EncodeJSON(c.Want)); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", lines.Text(), got, want)
		}
	}
	if n["ai-data-splitter"] < 50 || n["replace-text"] < 100 {
		t.Errorf("compared %v", n)
	}
	d, _ := convert(t, []byte(`[{"name":"a#ai-data-splitter","processorType":"ai-data-splitter","mode":"ai","inputs":[]}]`))
	if d.Nodes[0].Kind != "note" {
		t.Errorf("a split by a model became a %s", d.Nodes[0].Kind)
	}
}

// outputOf runs a node of a text tool and returns its first output as JSON.
func outputOf(t *testing.T, node *flow.Node, text any) string {
	t.Helper()
	k := kinds.For(node)
	in := &flow.In{Node: node.ID, Config: map[string]any{}}
	for _, f := range k.Fields {
		in.Config[f.Name] = f.Default
	}
	maps.Copy(in.Config, node.Config)
	in.Config["text"] = text
	out, err := k.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return string(flow.EncodeJSON(out.Outputs[k.Outputs[0].Name]))
}
