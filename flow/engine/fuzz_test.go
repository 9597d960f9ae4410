package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/flowtest"
	"sluice/flow/redaction"
)

// FuzzValidDocumentRuns checks that every valid document compiles and plans.
func FuzzValidDocumentRuns(f *testing.F) {
	files, _ := filepath.Glob("../document/testdata/documents/*.json")
	for _, file := range files {
		var c struct{ Document json.RawMessage }
		data, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(data, &c) != nil {
			f.Fatal(file, err)
		}
		f.Add([]byte(c.Document))
	}
	f.Add(flowtest.Document(rerunFlow))
	f.Fuzz(func(t *testing.T, data []byte) {
		if d, problems := document.ParseDocument(data); d != nil && len(problems)+len(document.Validate(d, flowtest.Kinds)) == 0 {
			runToEnd(t, d)
		}
	})
}

// runToEnd executes a valid document without faults.
func runToEnd(t *testing.T, d *flow.Document) {
	g, err := Compile(d, flowtest.Kinds)
	if err != nil {
		t.Fatal(err)
	}
	for i := range g.nodes {
		for _, e := range g.nodes[i].in {
			if e.from >= i {
				t.Fatalf("the edge from %d to %d goes backwards", e.from, i)
			}
		}
	}
	inputs, _ := contract.Check(contract.Inputs(d, flowtest.Kinds), nil, false)
	s := &fixture{t: t, g: g, disk: newDisk(flow.Run{ID: "run_1", State: flow.RunQueued, Inputs: inputs, Timeout: flow.RunTimeout})}
	p := NewPlan(g, &s.disk.run, nil, nil)
	p.Cancel()
	if a := p.Next(p.run.CreatedAt); a.Type != ActRecord || !a.Write.End {
		t.Fatalf("%+v", a)
	}
}

// FuzzSecretNames checks that secret detection never panics and ignores case.
func FuzzSecretNames(f *testing.F) {
	f.Add("X-RapidAPI-Key", "sk-0123456789abcdefghijklmnop")
	f.Add("x\x00\xff", strings.Repeat("é", 300))
	f.Fuzz(func(t *testing.T, name, text string) {
		if ascii := strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-_") == ""; ascii && flow.IsSecretName(name) != flow.IsSecretName(strings.ToUpper(name)) {
			t.Errorf("%q depends on its case", name)
		}
		flow.LooksSecret(text)
		if got := redaction.New(text).Text("before " + text + " after"); len(text) >= 20 && utf8.ValidString(text) && strings.Contains(got, text) {
			t.Errorf("%q is left in %q", text, got)
		}
	})
}
