package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"sluice/flow"
	"sluice/flow/value"
)

var updateVectors = flag.Bool("update-vectors", false, "write the results of the edit vectors to testdata/edits")

// editVectors is one file of testdata/edits. The canvas runs the same files
// (static/src/canvas/ops.test.ts), so that an edit means the same in the
// browser and on the server.
type editVectors struct {
	About    string          `json:"about"`
	Document json.RawMessage `json:"document"` // the document before, for cases without one of their own
	Cases    []editVector    `json:"cases"`
}

// editVector is a transaction and its result. After holds the members of the document that
// changed (all nodes if one did). A refused transaction has an error and neither After nor
// Inverse.
type editVector struct {
	Name    string          `json:"name"`
	Before  json.RawMessage `json:"before,omitempty"`
	Ops     json.RawMessage `json:"ops"`
	After   json.RawMessage `json:"after,omitempty"`
	Inverse json.RawMessage `json:"inverse,omitempty"`
	Skipped []string        `json:"skipped,omitempty"` // codes, in order
	Error   *vectorError    `json:"error,omitempty"`
}

// vectorError is the first problem of a refused transaction.
type vectorError struct {
	Pointer string `json:"pointer"`
	Code    string `json:"code"`
}

// repositoryRoot returns the directory of go.mod.
func repositoryRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("no go.mod above the working directory (%v)", err)
	return ""
}

func TestEditVectors(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(repositoryRoot(t), "testdata/edits/*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var vectors editVectors
			d := json.NewDecoder(bytes.NewReader(text))
			d.DisallowUnknownFields()
			if err := d.Decode(&vectors); err != nil {
				t.Fatal(err)
			}
			for i := range vectors.Cases {
				v := &vectors.Cases[i]
				t.Run(v.Name, func(t *testing.T) { runEditVector(t, vectors.Document, v) })
			}
			if *updateVectors {
				if err := os.WriteFile(file, vectors.encode(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func runEditVector(t *testing.T, shared json.RawMessage, v *editVector) {
	if v.Before != nil {
		shared = v.Before
	}
	before := parseVectorDocument(t, shared)
	got := editVector{Name: v.Name, Before: v.Before, Ops: v.Ops}
	ops, err := DecodeEdits(v.Ops)
	var out *Edited
	if err == nil {
		out, err = ApplyEdits(before, ops)
	}
	if refused, ok := errors.AsType[*flow.Error](err); ok {
		got.Error = &vectorError{Pointer: refused.Fields[0].Pointer, Code: refused.Fields[0].Code}
	} else if err != nil {
		t.Fatal(err)
	} else {
		got.After, got.Inverse = differingMembers(t, before, out.Document), flow.EncodeJSON(out.Inverse)
		for _, s := range out.Skipped {
			got.Skipped = append(got.Skipped, s.Code)
		}
		inverse, err := DecodeEdits(got.Inverse)
		if err != nil {
			t.Fatalf("the inverse cannot be sent: %v", err)
		}
		back, err := ApplyEdits(out.Document, inverse)
		if err != nil || !bytes.Equal(back.Document.Compact(), before.Compact()) {
			t.Errorf("the inverse %s does not restore the document (%v)", got.Inverse, err)
		}
	}
	if *updateVectors {
		*v = got
		return
	}
	for field, pair := range map[string][2]any{
		"after": {got.After, v.After}, "inverse": {got.Inverse, v.Inverse}, "skipped": {got.Skipped, v.Skipped}, "error": {got.Error, v.Error},
	} {
		if g, w := canonical(t, pair[0]), canonical(t, pair[1]); g != w {
			t.Errorf("%s:\n got %s\nwant %s", field, g, w)
		}
	}
}

// differingMembers returns the top-level members in which two documents differ,
// as the second has them.
func differingMembers(t *testing.T, before, after *flow.Document) json.RawMessage {
	t.Helper()
	old, members := vectorMembers(t, before), vectorMembers(t, after)
	for name := range members {
		if canonical(t, old[name]) == canonical(t, members[name]) {
			delete(members, name)
		}
	}
	return flow.EncodeJSON(members)
}

// vectorMembers returns the members of a document; those that JSON leaves out
// when they are empty are there.
func vectorMembers(t *testing.T, d *flow.Document) map[string]any {
	t.Helper()
	v, err := flow.DecodeJSON(d.Compact())
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]any{"description": "", "groups": []any{}}
	decoded, _ := flow.AsMap(v)
	maps.Copy(members, decoded)
	return members
}

func parseVectorDocument(t *testing.T, text []byte) *flow.Document {
	t.Helper()
	d, problems := ParseDocument(text)
	if len(problems) > 0 {
		t.Fatalf("the document before is invalid: %+v", problems)
	}
	return d
}

// canonical returns v as JSON with sorted names and without insignificant space.
func canonical(t *testing.T, v any) string {
	t.Helper()
	if raw, ok := v.(json.RawMessage); ok && raw == nil {
		return "absent"
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := flow.DecodeJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(value.Canonical(decoded))
}

// encode writes each member of a case on a line of its own.
func (f *editVectors) encode() []byte {
	var b bytes.Buffer
	compact := func(v any) []byte {
		var line bytes.Buffer
		e := json.NewEncoder(&line)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			panic(err)
		}
		var text bytes.Buffer
		if err := json.Compact(&text, line.Bytes()); err != nil {
			panic(err)
		}
		return text.Bytes()
	}
	b.WriteString("{\n  \"about\": " + string(compact(f.About)) + ",\n")
	b.WriteString("  \"document\": " + string(compact(f.Document)) + ",\n  \"cases\": [")
	for i := range f.Cases {
		v := &f.Cases[i]
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n    {\n      \"name\": " + string(compact(v.Name)))
		for _, m := range []struct {
			name  string
			value any
			there bool
		}{
			{"before", v.Before, v.Before != nil}, {"ops", v.Ops, true}, {"after", v.After, v.After != nil},
			{"inverse", v.Inverse, v.Inverse != nil}, {"skipped", v.Skipped, v.Skipped != nil}, {"error", v.Error, v.Error != nil},
		} {
			if m.there {
				b.WriteString(",\n      \"" + m.name + "\": " + string(compact(m.value)))
			}
		}
		b.WriteString("\n    }")
	}
	b.WriteString("\n  ]\n}\n")
	return b.Bytes()
}
