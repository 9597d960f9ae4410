package document

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/flowtest"
)

var update = flag.Bool("update", false, "write what TestDocuments finds into testdata, to be reviewed")

// documentCase is one file of testdata/documents: a behavior, a document that
// shows it, and every problem it has, in order.
type documentCase struct {
	About    string          `json:"about"`
	Document json.RawMessage `json:"document"`
	Problems []flow.Problem  `json:"problems"`
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/documents/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no documents", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			tt := readCase(t, file)
			d, problems := ParseDocument(tt.Document)
			if d != nil {
				problems = append(problems, Validate(d, flowtest.Kinds)...)
			}
			if *update {
				tt.Problems = problems
				writeCase(t, file, tt)
			}
			for _, p := range problems {
				if !slices.Contains(tt.Problems, p) {
					t.Errorf("not expected: %+v", p)
				}
				wantPlace(t, tt.Document, p)
			}
			for _, p := range tt.Problems {
				if !slices.Contains(problems, p) {
					t.Errorf("not found: %+v", p)
				}
			}
			if d != nil {
				wantRoundTrip(t, d)
			}
		})
	}
}

func readCase(t *testing.T, file string) (c documentCase) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(file, err)
	}
	return c
}

func writeCase(t *testing.T, file string, c documentCase) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(c); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wantPlace checks that a problem's pointer refers to a member that exists, or to a missing
// member of one that does.
func wantPlace(t *testing.T, document []byte, p flow.Problem) {
	t.Helper()
	v, err := flow.DecodeJSON(document)
	if err != nil {
		t.Fatal(err)
	}
	tokens := strings.Split(p.Pointer, "/")[1:]
	for i, token := range tokens {
		next, ok := flow.JSONMember(v, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
		if !ok {
			if rest := tokens[i:]; !slices.Contains([]string{"required", "invalid"}, p.Code) || len(rest) > 2 {
				t.Errorf("%s of %s is not in the document", p.Pointer, p.Code)
			}
			return
		}
		v = next
	}
}

// wantRoundTrip checks that a parsed document is the same after writing and parsing it again.
func wantRoundTrip(t testing.TB, d *flow.Document) {
	t.Helper()
	again, _ := ParseDocument(d.Encode())
	if again == nil {
		t.Fatalf("cannot be read again:\n%s", d.Encode())
	}
	if !bytes.Equal(again.Compact(), d.Compact()) || !bytes.Equal(again.Encode(), d.Encode()) {
		t.Errorf("read %s\nagain %s", d.Compact(), again.Compact())
	}
}

func TestDocument_round_trip(t *testing.T) {
	t.Parallel()
	d, problems := ParseDocument(readCase(t, "testdata/documents/valid.json").Document)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	again, problems := ParseDocument(d.Encode())
	if len(problems) > 0 || len(again.Nodes) != len(d.Nodes) || !bytes.Equal(again.Compact(), d.Compact()) {
		t.Fatalf("%v\n%s\n%s", problems, d.Compact(), again.Compact())
	}
	for i := range d.Nodes {
		if !reflect.DeepEqual(d.Nodes[i], again.Nodes[i]) {
			t.Errorf("%#v\n%#v", d.Nodes[i], again.Nodes[i])
		}
	}
	if text := string(d.Encode()); !strings.Contains(text, "<b>") || strings.Contains(text, `\u003c`) {
		t.Error("an export is for people to read")
	}
}

func TestParseDocument_rejects_invalid_JSON(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	tests := []struct{ name, text, pointer, code, detail string }{
		{"empty", ``, "", "invalid_json", "too early"},
		{"cut", `{"nodes": [`, "/nodes", "invalid_json", "too early"},
		{"trailing data", `{} {}`, "", "invalid_json", "after the JSON value"},
		{"duplicate name", `{"nodes": [{"id": "a", "id": "b"}]}`, "/nodes/0/id", "duplicate_name", "twice"},
		{"no UTF-8", "{\"name\": \"\xff\"}", "/name", "invalid_json", "UTF-8"},
		{"half a surrogate", `{"name": "\ud800"}`, "/name", "invalid_json", "surrogate"},
		{"too deep", `{"nodes": ` + deep + `}`, "/nodes" + strings.Repeat("/0", 63), "invalid_json", "deeper than 64"},
		{"a comment", `{"a": 1 // no`, "", "invalid_json", "byte"},
		{"NaN", `{"a": NaN}`, "/a", "invalid_json", "byte"},
		{"too large", `{"a": "` + strings.Repeat("x", flow.MaxDocumentBytes) + `"}`, "", "too_large", "4 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, problems := ParseDocument([]byte(tt.text))
			if d != nil || len(problems) != 1 {
				t.Fatal(d, problems)
			}
			if p := problems[0]; p.Pointer != tt.pointer || p.Code != tt.code || !strings.Contains(p.Detail, tt.detail) {
				t.Errorf("%+v", p)
			}
		})
	}
}

func TestParseDocument_bounds_what_it_reads(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("1,", 20*flow.MaxNodes) + "1"
	for _, name := range []string{"nodes", "edges", "groups"} {
		d, problems := ParseDocument([]byte(`{"schema":"sluice.flow/v1","name":"a","` + name + `":[` + many + `]}`))
		if at := slices.IndexFunc(problems, func(p flow.Problem) bool { return p.Pointer == "/"+name && p.Code == "too_many" }); at < 0 {
			t.Errorf("%s: too many are accepted: %v", name, problems[:1])
		}
		if len(problems) > maxProblems || len(d.Nodes) > flow.MaxNodes || len(d.Edges) > flow.MaxEdges || len(d.Groups) > flow.MaxNodes {
			t.Errorf("%s: %d problems, %d nodes, %d edges, %d groups", name, len(problems), len(d.Nodes), len(d.Edges), len(d.Groups))
		}
	}
}

func TestDocumentLimits(t *testing.T) {
	t.Parallel()
	d := &flow.Document{Schema: flow.Schema, Name: "large"}
	for i := range flow.MaxNodes {
		d.Nodes = append(d.Nodes, flow.Node{ID: fmt.Sprint("n", i), Kind: "call"})
	}
	if problems := Validate(d, flowtest.Kinds); len(problems) > 0 {
		t.Error(problems)
	}
	d.Nodes = append(d.Nodes, flow.Node{ID: "more", Kind: "call"})
	if problems := Validate(d, flowtest.Kinds); len(problems) != 1 || problems[0].Code != "too_many" {
		t.Error(problems)
	}
	d.Nodes = d.Nodes[:2]
	for range flow.MaxEdges + 1 {
		d.Edges = append(d.Edges, flow.Edge{From: "n0.text", To: "n1.values"})
	}
	if problems := Validate(d, flowtest.Kinds); len(problems) != 1 || problems[0].Pointer != "/edges" {
		t.Error(problems)
	}
}

// TestValidate_time_is_bounded validates a document that was designed to be slow. The time limit is
// far above what a busy machine needs, and far below an unbounded search for similar names.
func TestValidate_time_is_bounded(t *testing.T) {
	t.Parallel()
	var places strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&places, "{{name_%d}}", i)
	}
	d := &flow.Document{Schema: flow.Schema, Name: "slow", Nodes: []flow.Node{{ID: "a", Kind: "fill", Config: map[string]any{"template": places.String()}}}}
	for i := range flow.MaxEdges {
		d.Edges = append(d.Edges, flow.Edge{From: fmt.Sprintf("a.txet%d", i), To: fmt.Sprintf("a.nam_%d", i)})
	}
	begin := time.Now()
	Validate(d, flowtest.Kinds)
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("took %s", took)
	}
}

func TestCycles_in_deep_graphs(t *testing.T) {
	t.Parallel()
	const n = 200_000
	out := make([][]int, n)
	for i := range out {
		out[i] = []int{(i + 1) % n}
	}
	if found := cycles(out); len(found) != 1 || len(found[0]) != n {
		t.Errorf("%d cycles", len(found))
	}
	out[n-1] = nil
	if found := cycles(out); len(found) != 0 {
		t.Errorf("%d cycles", len(found))
	}
}
