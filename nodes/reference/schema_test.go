package reference

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sluice/e2e/npm"
	"sluice/flow"
	"sluice/flow/document"
	"sluice/nodes"
)

// flowSchema returns the schema as files have it, and compiled by an independent validator.
func flowSchema(t *testing.T) (data []byte, compiled *jsonschema.Schema) {
	t.Helper()
	data = flow.EncodeJSON(Schema(nodes.New(nodes.Deps{}), ""))
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("flow.json", parsed); err != nil {
		t.Fatal(err)
	}
	if compiled, err = c.Compile("flow.json"); err != nil {
		t.Fatal(err)
	}
	return data, compiled
}

// validate validates a document with the compiled schema.
func validate(t *testing.T, s *jsonschema.Schema, data []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

// one returns a document with one node.
func one(node any) []byte {
	return flow.EncodeJSON(map[string]any{"schema": flow.Schema, "name": "A", "nodes": []any{node}})
}

func TestSchemaAcceptsStarters(t *testing.T) {
	t.Parallel()
	_, s := flowSchema(t)
	files, err := filepath.Glob("../../cmd/sluice/starters/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d starters, %v", len(files), err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchemaAgreesWithFields holds the schema of each field against Field.Check: what a
// document may have must not be marked as wrong in an editor.
func TestSchemaAgreesWithFields(t *testing.T) {
	t.Parallel()
	_, s := flowSchema(t)
	values := []any{
		"", "text", "a{{b}}", 0, 1, -1, 2.5, 1e9, true, false, []any{}, []any{"a"}, []any{1, map[string]any{"a": 1}}, map[string]any{}, map[string]any{"a": "b", "c": 1, "d": true},
		map[string]any{"credential": "c"}, map[string]any{"a": map[string]any{"credential": "c"}}, map[string]any{"file": "file_x", "name": "a.txt", "mime": "text/plain", "size": 1},
	}
	for _, k := range nodes.New(nodes.Deps{}).List() {
		if err := validate(t, s, one(map[string]any{"id": "n", "kind": k.Name, "config": k.Example.Config})); err != nil {
			t.Errorf("the example of %s: %v", k.Name, err)
		}
		for i := range k.Fields {
			f := &k.Fields[i]
			tries := slices.Clone(values)
			for _, o := range f.Options {
				tries = append(tries, o)
			}
			for _, v := range slices.Concat(tries, f.Values) {
				config := map[string]any{}
				for name, example := range k.Example.Config {
					config[name] = example
				}
				config[f.Name] = v
				d, problems := document.ParseDocument(one(map[string]any{"id": "n", "kind": k.Name, "config": config}))
				if len(problems) > 0 {
					t.Fatalf("%s: %v", k.Name, problems)
				}
				accepted := len(f.Check(d.Nodes[0].Config[f.Name])) == 0
				if err := validate(t, s, one(map[string]any{"id": "n", "kind": k.Name, "config": config})); accepted && err != nil {
					t.Errorf("%s.%s takes %s, and the schema does not: %v", k.Name, f.Name, flow.EncodeJSON(v), err)
				}
			}
		}
	}
}

func TestSchemaRefusesMistakes(t *testing.T) {
	t.Parallel()
	_, s := flowSchema(t)
	node := func(text string) string {
		return `{"schema": "sluice.flow/v1", "name": "A", "nodes": [` + text + `]}`
	}
	for what, text := range map[string]string{
		"another format":      `{"schema": "sluice.flow/v2", "name": "A", "nodes": []}`,
		"no nodes":            `{"schema": "sluice.flow/v1", "name": "A"}`,
		"an unknown member":   `{"schema": "sluice.flow/v1", "name": "A", "nodes": [], "node": []}`,
		"an unknown kind":     node(`{"id": "a", "kind": "chatt"}`),
		"a node without kind": node(`{"id": "a"}`),
		"a wrong ID":          node(`{"id": "A b", "kind": "note"}`),
		"an unknown field":    node(`{"id": "a", "kind": "chat", "config": {"promt": "x"}}`),
		"a wrong type":        node(`{"id": "a", "kind": "chat", "config": {"temperature": "warm"}}`),
		"a wrong bound":       node(`{"id": "a", "kind": "chat", "config": {"temperature": 3}}`),
		"a wrong option":      node(`{"id": "a", "kind": "http_request", "config": {"method": "EAT"}}`),
		"a retry without end": node(`{"id": "a", "kind": "note", "retry": {}}`),
		"a wrong on_error":    node(`{"id": "a", "kind": "note", "on_error": "ignore"}`),
		"an edge of no port":  `{"schema": "sluice.flow/v1", "name": "A", "nodes": [], "edges": [{"from": "a", "to": "b.c"}]}`,
		"a wrong $schema":     `{"$schema": 1, "schema": "sluice.flow/v1", "name": "A", "nodes": []}`,
	} {
		if err := validate(t, s, []byte(text)); err == nil {
			t.Errorf("%s is accepted", what)
		}
		if d, problems := document.ParseDocument([]byte(text)); d != nil && len(problems) == 0 && len(document.Validate(d, nodes.New(nodes.Deps{}))) == 0 {
			t.Errorf("%s: Sluice itself accepts it", what)
		}
	}
}

// TestSchemaInEditor asks the language service of VS Code to complete and check a file.
func TestSchemaInEditor(t *testing.T) {
	t.Parallel()
	modules := npm.Install(t, filepath.Join("testdata", "editor"))
	data, _ := flowSchema(t)
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("node", filepath.Join("testdata", "editor", "check.mjs"), modules, file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var got struct {
		Kinds, Fields, Options []string
		Good, Bad              []string
		Hover                  string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for what, c := range map[string]struct {
		list []string
		want string
	}{
		"kinds": {got.Kinds, `"http_request"`}, "fields of the kind": {got.Fields, "temperature"}, "options": {got.Options, `"DELETE"`},
	} {
		if !slices.Contains(c.list, c.want) {
			t.Errorf("%s: %q are offered, without %s", what, c.list, c.want)
		}
	}
	if slices.Contains(got.Fields, "method") {
		t.Errorf("a chat is offered fields of other kinds: %q", got.Fields)
	}
	if len(got.Good) > 0 {
		t.Errorf("a correct file has problems: %q", got.Good)
	}
	if len(got.Bad) != 1 || !strings.Contains(got.Bad[0], "promt") {
		t.Errorf("a wrong field gives %q", got.Bad)
	}
	if !strings.Contains(got.Hover, "more random") {
		t.Errorf("the help of a field is %q", got.Hover)
	}
}
