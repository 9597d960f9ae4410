package document

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/flowtest"
)

// outline formats a document in one line: nodes with their config, edges, groups.
func outline(d *flow.Document) string {
	var b strings.Builder
	for i := range d.Nodes {
		b.WriteString(d.Nodes[i].ID)
		if len(d.Nodes[i].Config) > 0 {
			b.Write(flow.EncodeJSON(d.Nodes[i].Config))
		}
		b.WriteString(" ")
	}
	for _, e := range d.Edges {
		fmt.Fprintf(&b, "%s>%s ", e.From, e.To)
	}
	for _, g := range d.Groups {
		fmt.Fprintf(&b, "%s(%s) ", g.ID, strings.Join(g.Nodes, " "))
	}
	return strings.TrimSpace(b.String())
}

func editsOf(t testing.TB, text string) []Edit {
	t.Helper()
	ops, err := DecodeEdits([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return ops
}

func parsed(t testing.TB, lines string) *flow.Document {
	t.Helper()
	d, problems := ParseDocument(flowtest.Document(lines))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return d
}

const threeInARow = `
	a call {"text": "A"}
	b call
	c first
	a.text -> c.values
	a.text -> b.text
	b.text -> c.values
	a.text -> c.values`

func TestApplyEdits(t *testing.T) {
	t.Parallel()
	const edges = "a.text>c.values a.text>b.text b.text>c.values a.text>c.values"
	const nodes = `a{"text":"A"} b c `
	for _, tt := range []struct{ name, ops, want, skipped string }{
		{"add", `[{"op": "add", "node": {"id": "d", "kind": "call"}}]`, nodes + "d " + edges, ""},
		{"add at a place", `[{"op": "add", "node": {"id": "d", "kind": "call"}, "at": 1}]`, `a{"text":"A"} d b c ` + edges, ""},
		{"remove with edges", `[{"op": "remove", "nodes": ["b"]}]`, `a{"text":"A"} c a.text>c.values a.text>c.values`, ""},
		{"remove what is gone", `[{"op": "remove", "nodes": ["b", "x"]}]`, `a{"text":"A"} c a.text>c.values a.text>c.values`, "node_gone"},
		{"connect last", `[{"op": "connect", "edge": {"from": "c.value", "to": "b.text"}}]`, nodes + edges + " c.value>b.text", ""},
		{"connect first of a port", `[{"op": "connect", "edge": {"from": "c.value", "to": "c.values"}, "at": 0}]`, nodes + "c.value>c.values " + edges, ""},
		{"connect between", `[{"op": "connect", "edge": {"from": "c.value", "to": "c.values"}, "at": 2}]`,
			nodes + "a.text>c.values a.text>b.text b.text>c.values c.value>c.values a.text>c.values", ""},
		{"connect beyond", `[{"op": "connect", "edge": {"from": "c.value", "to": "c.values"}, "at": 99}]`, nodes + edges + " c.value>c.values", ""},
		{"connect at a place that has moved", `[{"op": "connect", "edge": {"from": "c.value", "to": "c.values"}, "at": 1, "place": 0}]`,
			nodes + "a.text>c.values a.text>b.text c.value>c.values b.text>c.values a.text>c.values", ""},
		{"connect at its old place", `[{"op": "connect", "edge": {"from": "c.value", "to": "c.values"}, "at": 1, "place": 1}]`,
			nodes + "a.text>c.values c.value>c.values a.text>b.text b.text>c.values a.text>c.values", ""},
		{"connect again", `[{"op": "connect", "edge": {"from": "a.text", "to": "b.text"}}]`, nodes + edges, "edge_exists"},
		{"connect a missing node", `[{"op": "connect", "edge": {"from": "x.text", "to": "b.text"}}]`, nodes + edges, "node_gone"},
		{"disconnect", `[{"op": "disconnect", "edge": {"from": "a.text", "to": "c.values"}}]`, nodes + "a.text>b.text b.text>c.values a.text>c.values", ""},
		{"disconnect one of two", `[{"op": "disconnect", "edge": {"from": "a.text", "to": "c.values"}, "at": 2}]`, nodes + "a.text>c.values a.text>b.text b.text>c.values", ""},
		{"disconnect where another is now", `[{"op": "disconnect", "edge": {"from": "b.text", "to": "c.values"}, "at": 0}]`, nodes + "a.text>c.values a.text>b.text a.text>c.values", ""},
		{"disconnect what is gone", `[{"op": "disconnect", "edge": {"from": "b.text", "to": "a.text"}}]`, nodes + edges, "edge_gone"},
		{"set", `[{"op": "set", "node": "b", "field": "text", "value": null}]`, `a{"text":"A"} b{"text":null} c ` + edges, ""},
		{"take out", `[{"op": "set", "node": "a", "field": "text"}]`, "a b c " + edges, ""},
		{"set on a missing node", `[{"op": "set", "node": "x", "field": "text", "value": "s3cret"}]`, nodes + edges, "node_gone"},
		{"group", `[{"op": "group", "id": "g", "group": {"nodes": ["b", "x", "a"]}}]`, nodes + edges + " g(b a)", "node_gone"},
		{"group and join", `[{"op": "group", "id": "g", "group": {"nodes": ["b", "a"]}}, {"op": "add", "node": {"id": "d", "kind": "k"}, "groups": [{"id": "g", "at": 1}, {"id": "h", "at": 0}]}]`,
			nodes + "d " + edges + " g(b d a)", "group_gone"},
		{"ungroup what is gone", `[{"op": "group", "id": "g"}]`, nodes + edges, "group_gone"},
		{"a node put back whose ID is in use", `[{"op": "add", "node": {"id": "b", "kind": "k"}, "at": 1}, {"op": "set", "node": "b", "field": "text", "value": "x"},
			{"op": "connect", "edge": {"from": "c.value", "to": "b.x"}}]`, nodes + edges, "node_exists node_exists node_exists"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := parsed(t, threeInARow)
			out := apply(t, d, editsOf(t, tt.ops))
			var skipped []string
			for _, s := range out.Skipped {
				skipped = append(skipped, s.Code)
				if s.Detail == "" || strings.Contains(s.Detail, "s3cret") {
					t.Errorf("%+v", s)
				}
			}
			if got := outline(out.Document); got != tt.want || strings.Join(skipped, " ") != tt.skipped {
				t.Errorf("skipped %v\n got %s\nwant %s", skipped, got, tt.want)
			}
			same(t, "taken back", apply(t, out.Document, out.Inverse).Document, d, out.Inverse)
		})
	}
}

func TestApplyEdits_restores_groups(t *testing.T) {
	t.Parallel()
	d := parsed(t, "a call\n b call")
	d.Groups = []flow.Group{{ID: "g", Nodes: []string{"a", "b", "a", "b"}}, {ID: "h", Nodes: []string{"b"}}}
	out := apply(t, d, editsOf(t, `[{"op": "remove", "nodes": ["a", "b"]}, {"op": "group", "id": "g"}]`))
	if got := outline(out.Document); got != "h()" {
		t.Error(got)
	}
	same(t, "taken back", apply(t, out.Document, out.Inverse).Document, d, out.Inverse)
}

func TestApplyEdits_rejects(t *testing.T) {
	t.Parallel()
	full := &flow.Document{Schema: flow.Schema, Name: "full"}
	for i := range flow.MaxNodes {
		full.Nodes = append(full.Nodes, flow.Node{ID: fmt.Sprint("n", i), Kind: "call"})
	}
	for range flow.MaxEdges {
		full.Edges = append(full.Edges, flow.Edge{From: "n0.text", To: "n1.values"})
	}
	for _, tt := range []struct{ name, ops, pointer, code string }{
		{"a node twice", `[{"op": "remove", "nodes": ["n1"]}, {"op": "add", "node": {"id": "n2", "kind": "k"}}]`, "/1/node/id", "duplicate"},
		{"a node too many", `[{"op": "add", "node": {"id": "x", "kind": "k"}}]`, "/0/node", "too_many"},
		{"an edge too many", `[{"op": "connect", "edge": {"from": "n0.text", "to": "n1.text"}}]`, "/0/edge", "too_many"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := ApplyEdits(full, editsOf(t, tt.ops))
			refused, ok := errors.AsType[*flow.Error](err)
			if !ok || refused.Code != CodeEditsInvalid || refused.Fields[0].Pointer != tt.pointer || refused.Fields[0].Code != tt.code {
				t.Errorf("%v", err)
			}
		})
	}
	for _, op := range []Edit{{}, {Op: OpAdd}, {Op: OpPut, Node: "n1", Member: "kind"}, {Op: OpPut, Node: "n1", Member: "label", Value: 1}, {Op: OpGroup, ID: "g", Group: &flow.Group{}}, {Op: OpName, Name: new("")}} {
		if _, err := ApplyEdits(full, []Edit{op}); !errors.Is(err, &flow.Error{Code: CodeEditsInvalid}) {
			t.Errorf("%+v: %v", op, err)
		}
	}
}

func TestDecodeEdits(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 61) + strings.Repeat("]", 61)
	for _, tt := range []struct{ name, text, pointer, code string }{
		{"no JSON", `[`, "", "invalid_json"},
		{"no list", `{}`, "", "wrong_type"},
		{"no object", `[1]`, "/0", "wrong_type"},
		{"no operation", `[{}]`, "/0/op", "required"},
		{"an unknown operation", `[{"op": "mov"}]`, "/0/op", "unknown"},
		{"an unknown member", `[{"op": "remove", "nodes": [], "node": "a"}]`, "/0/node", "unknown_field"},
		{"a move without places", `[{"op": "move"}]`, "/0/nodes", "required"},
		{"a move without y", `[{"op": "move", "nodes": {"a": {"x": 1}}}]`, "/0/nodes/a/y", "required"},
		{"a move to nowhere", `[{"op": "move", "nodes": {"a": {"x": 1, "y": 1e400}}}]`, "/0/nodes/a/y", "wrong_type"},
		{"a bad ID", `[{"op": "add", "node": {"id": "A b", "kind": "k"}}]`, "/0/node/id", "invalid"},
		{"no node", `[{"op": "add"}]`, "/0/node", "required"},
		{"a place below zero", `[{"op": "add", "node": {"id": "a", "kind": "k"}, "at": -1}]`, "/0/at", "out_of_range"},
		{"a place between", `[{"op": "add", "node": {"id": "a", "kind": "k"}, "at": 1.5}]`, "/0/at", "wrong_type"},
		{"a number for an ID", `[{"op": "remove", "nodes": [1]}]`, "/0/nodes/0", "wrong_type"},
		{"no edge", `[{"op": "connect"}]`, "/0/edge", "required"},
		{"an edge without a port", `[{"op": "connect", "edge": {"from": "a", "to": "b.x"}}]`, "/0/edge/from", "invalid"},
		{"no field", `[{"op": "set", "node": "a", "value": 1}]`, "/0/field", "required"},
		{"too deep a value", `[{"op": "set", "node": "a", "field": "f", "value": ` + deep + `}]`, "/0/value", "too_deep"},
		{"an unknown thing to put", `[{"op": "put", "node": "a", "member": "kind", "value": "k"}]`, "/0/member", "unknown"},
		{"a label of another type", `[{"op": "put", "node": "a", "member": "label", "value": 1}]`, "/0/value", "wrong_type"},
		{"too many attempts", `[{"op": "put", "node": "a", "member": "retry", "value": {"attempts": 99}}]`, "/0/value/attempts", "out_of_range"},
		{"a bad on_error", `[{"op": "put", "node": "a", "member": "on_error", "value": "stop"}]`, "/0/value", "invalid"},
		{"another group", `[{"op": "group", "id": "g", "group": {"id": "h", "nodes": []}}]`, "/0/group/id", "invalid"},
		{"no name", `[{"op": "name", "name": ""}]`, "/0/name", "required"},
		{"too many", "[" + strings.Repeat(`{},`, MaxEdits) + "{}]", "", "too_many"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := DecodeEdits([]byte(tt.text))
			refused, ok := errors.AsType[*flow.Error](err)
			if !ok || refused.Code != CodeEditsInvalid || len(refused.Fields) != 1 {
				t.Fatalf("%v", err)
			}
			if p := refused.Fields[0]; p.Pointer != tt.pointer || p.Code != tt.code || p.Detail == "" {
				t.Errorf("%+v", p)
			}
		})
	}
	if _, err := DecodeEdits(make([]byte, MaxEditBytes+1)); !errors.Is(err, &flow.Error{Code: flow.CodeBodyTooLarge}) {
		t.Error(err)
	}
	if ops, err := DecodeEdits([]byte(`[{"op": "set", "node": "a", "field": "f", "value": ` + deep[1:121] + `}]`)); err != nil || len(ops) != 1 {
		t.Errorf("a value as deep as a document takes it: %v", err)
	}
}

func TestDecodeEditRequest(t *testing.T) {
	t.Parallel()
	r, err := DecodeEditRequest([]byte(`{"base": 7, "tab": "t", "txid": "x-1", "ops": [{"op": "name", "name": "N"}]}`))
	if err != nil || r.Base != 7 || r.Tab != "t" || r.TxID != "x-1" || *r.Ops[0].Name != "N" {
		t.Errorf("%v %+v", err, r)
	}
	if r, err = DecodeEditRequest([]byte(`{"base": 7, "tab": "t", "txid": "x-2", "undo": "x-1"}`)); err != nil || r.Undo != "x-1" {
		t.Errorf("%v %+v", err, r)
	}
	for text, want := range map[string]string{
		`[]`: "", `{"tab": "t", "txid": "x", "undo": "y"}`: "/base", `{"base": 1, "tab": "", "txid": "x", "undo": "y"}`: "/tab",
		`{"base": 1, "tab": "t", "txid": "a b", "undo": "y"}`: "/txid", `{"base": 1, "tab": "t", "txid": "x"}`: "/ops",
		`{"base": 1, "tab": "t", "txid": "x", "ops": []}`: "/ops", `{"base": 1, "tab": "t", "txid": "x", "ops": [{"op": "no"}]}`: "/ops/0/op",
		`{"base": 1, "tab": "t", "txid": "x", "undo": "y", "more": 1}`: "/more",
	} {
		_, err := DecodeEditRequest([]byte(text))
		if refused, ok := errors.AsType[*flow.Error](err); !ok || len(refused.Fields) != 1 || refused.Fields[0].Pointer != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestChanged(t *testing.T) {
	t.Parallel()
	d := parsed(t, threeInARow+"\n d call\n e call\n d.text -> e.text")
	out := apply(t, d, editsOf(t, `[{"op": "move", "nodes": {"a": {"x": 1, "y": 1}}}, {"op": "remove", "nodes": ["d"]},
		{"op": "put", "node": "a", "member": "label", "value": "L"}, {"op": "disconnect", "edge": {"from": "a.text", "to": "b.text"}},
		{"op": "add", "node": {"id": "x", "kind": "k"}}, {"op": "set", "node": "x", "field": "f", "value": 1}, {"op": "remove", "nodes": ["x"]},
		{"op": "add", "node": {"id": "y", "kind": "k"}}]`))
	if got := Changed(sent(t, out.Ops)); !slices.Equal(got, []string{"e", "a", "b", "y"}) {
		t.Error(got)
	}
}

func TestByNode(t *testing.T) {
	t.Parallel()
	d := parsed(t, "a call\n b call\n a.text -> b.x\n a.text -> gone.x")
	m := ByNode(d, append(Validate(d, flowtest.Kinds), flow.Problem{Pointer: "/nodes/0/label"}, flow.Problem{Pointer: "/name"}, flow.Problem{Pointer: "/edges/9/to"}))
	for node, want := range map[string]int{"a": 1, "b": 1, "gone": 1, "": 2} {
		if len(m[node]) != want {
			t.Errorf("%q: %+v", node, m[node])
		}
	}
}
