package document

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"sluice/flow"
	"sluice/flow/flowtest"
)

// sketch generates random documents and edits. It uses few names, so that edits often hit
// nodes that other edits have created or removed.
type sketch struct{ *rand.Rand }

func (s sketch) pick(list ...string) string { return list[s.IntN(len(list))] }

func (s sketch) id() string { return fmt.Sprint("n", s.IntN(8)) }

func (s sketch) edge() flow.Edge {
	return flow.Edge{From: s.id() + "." + s.pick("text", "x"), To: s.id() + "." + s.pick("values", "y")}
}

func (s sketch) value() any {
	switch s.IntN(6) {
	case 0:
		return nil
	case 1:
		return json.Number(s.pick("1", "-2.50", "1e3"))
	case 2:
		return s.pick("", "text", "<b>\u2028é")
	case 3:
		return []any{s.pick("a", "b"), true}
	}
	return map[string]any{s.pick("k", "l"): s.pick("v", "w")}
}

func (s sketch) position() *flow.Position {
	if s.IntN(4) == 0 {
		return nil
	}
	return &flow.Position{X: float64(s.IntN(100)) / 3, Y: -float64(s.IntN(5))}
}

func (s sketch) node(id string) flow.Node {
	n := flow.Node{ID: id, Kind: s.pick("call", "think", "nobody"), Config: map[string]any{}, Position: s.position()}
	for range s.IntN(3) {
		n.Config[s.pick("text", "f", "g")] = s.value()
	}
	for range s.IntN(3) {
		e := s.put(id)
		if from, problems := memberOf(&e, ""); len(problems) == 0 {
			putMember(&n, e.Member, &from)
		}
	}
	return n
}

func (s sketch) put(id string) Edit {
	e := Edit{Op: OpPut, Node: id, Member: members[s.IntN(len(members))], Unset: s.IntN(4) == 0}
	if e.Unset {
		return e
	}
	e.Value = map[string]any{
		"label": s.pick("", "Label", "Ein <b>"), "color": s.pick("red", ""), "disabled": s.IntN(2) == 0,
		"retry":     map[string]any{"attempts": json.Number(s.pick("1", "3")), "backoff_s": json.Number(s.pick("0", "0.1"))},
		"timeout_s": json.Number(s.pick("0", "1.5", "60")),
		"on_error":  []any{"fail", "route", map[string]any{"continue": map[string]any{"text": s.value()}}}[s.IntN(3)],
		"tool":      map[string]any{"description": s.pick("Finds.", "Sends."), "effect": s.pick("read", "write"), "max_calls": json.Number(s.pick("1", "3"))},
	}[e.Member]
	return e
}

func (s sketch) group(id string) flow.Group {
	g := flow.Group{ID: id, Label: s.pick("", "G"), Color: s.pick("", "blue"), Nodes: []string{}}
	for range s.IntN(4) {
		g.Nodes = append(g.Nodes, s.id())
	}
	return g
}

// document generates a document with unique node IDs and no edges to missing nodes.
func (s sketch) document() *flow.Document {
	d := &flow.Document{Schema: flow.Schema, Name: "Sketch", Description: s.pick("", "drawn"), Nodes: []flow.Node{}, Edges: []flow.Edge{}}
	for i := range 8 {
		if s.IntN(3) > 0 {
			d.Nodes = append(d.Nodes, s.node(fmt.Sprint("n", (i*5)%8)))
		}
	}
	var ops []Edit
	for range s.IntN(12) {
		ops = append(ops, Edit{Op: OpConnect, Edge: s.edge(), At: new(0)})
	}
	for i := range s.IntN(3) {
		g := s.group(fmt.Sprint("g", i))
		ops = append(ops, Edit{Op: OpGroup, ID: g.ID, Group: &g})
	}
	out, err := ApplyEdits(d, ops)
	if err != nil {
		panic(err)
	}
	return out.Document
}

func (s sketch) at() *int {
	if s.IntN(2) == 0 {
		return nil
	}
	return new(s.IntN(6))
}

func (s sketch) edit() Edit {
	switch s.IntN(10) {
	case 0:
		return Edit{Op: OpMove, Places: map[string]*flow.Position{s.id(): s.position(), s.id(): s.position()}}
	case 1:
		n := s.node(s.id())
		return Edit{Op: OpAdd, New: &n, At: new(s.IntN(9)), Groups: []Membership{{Group: s.pick("g0", "g7"), At: s.IntN(3)}}}
	case 2, 3:
		return Edit{Op: OpRemove, Nodes: []string{s.id(), s.id()}}
	case 4, 5:
		return Edit{Op: OpConnect, Edge: s.edge(), At: s.at(), Place: s.at()}
	case 6:
		return Edit{Op: OpDisconnect, Edge: s.edge(), At: s.at()}
	case 7:
		e := Edit{Op: OpGroup, ID: s.pick("g0", "g1", "g2"), At: s.at()}
		if s.IntN(3) > 0 {
			g := s.group(e.ID)
			e.Group = &g
		}
		return e
	case 8:
		return Edit{Op: OpName, Name: new(s.pick("A", "B")), Description: new(s.pick("", "C"))}
	}
	if s.IntN(2) == 0 {
		return s.put(s.id())
	}
	return Edit{Op: OpSet, Node: s.id(), Field: s.pick("text", "f", "g"), Value: s.value(), Unset: s.IntN(3) == 0}
}

func (s sketch) edits() []Edit {
	ops := make([]Edit, 1+s.IntN(12))
	for i := range ops {
		ops[i] = s.edit()
	}
	return ops
}

// sent is what arrives of edits that travel.
func sent(t testing.TB, ops []Edit) []Edit {
	t.Helper()
	if len(ops) == 0 {
		return ops
	}
	again, err := DecodeEdits(flow.EncodeJSON(ops))
	if err != nil {
		t.Fatalf("%v\n%s", err, flow.EncodeJSON(ops))
	}
	if string(flow.EncodeJSON(again)) != string(flow.EncodeJSON(ops)) {
		t.Fatalf("sent %s\n got %s", flow.EncodeJSON(ops), flow.EncodeJSON(again))
	}
	return again
}

func apply(t testing.TB, d *flow.Document, ops []Edit) *Edited {
	t.Helper()
	before := string(d.Compact())
	out, err := ApplyEdits(d, sent(t, ops))
	if err != nil {
		t.Fatalf("%v\n%s\non %s", err, flow.EncodeJSON(ops), before)
	}
	if after := string(d.Compact()); after != before {
		t.Fatalf("the old document changed:\n%s\n%s\nby %s", before, after, flow.EncodeJSON(ops))
	}
	wantRoundTrip(t, out.Document)
	return out
}

func same(t testing.TB, what string, got, want *flow.Document, ops []Edit) {
	t.Helper()
	if string(got.Compact()) != string(want.Compact()) {
		t.Fatalf("%s:\n got %s\nwant %s\nby %s", what, got.Compact(), want.Compact(), flow.EncodeJSON(ops))
	}
}

// TestUndo_and_redo_restore_document checks that undo restores every byte, that applying the logged edits
// elsewhere gives the same document, and that redo after undo does too.
func TestUndo_and_redo_restore_document(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		s := sketch{rand.New(rand.NewPCG(seed, 1))}
		d := s.document()
		out := apply(t, d, s.edits())
		same(t, fmt.Sprint("replayed, seed ", seed), apply(t, d, out.Ops).Document, out.Document, out.Ops)
		back := apply(t, out.Document, out.Inverse)
		same(t, fmt.Sprint("taken back, seed ", seed), back.Document, d, out.Inverse)
		if len(back.Skipped) > 0 {
			t.Fatalf("seed %d: %+v", seed, back.Skipped)
		}
		redone := apply(t, back.Document, back.Inverse)
		same(t, fmt.Sprint("done again, seed ", seed), redone.Document, out.Document, back.Inverse)
	}
}

// TestUndo_works_after_other_edits checks that undo is never refused after edits of others, and that it
// restores no edge to a missing node.
func TestUndo_works_after_other_edits(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		s := sketch{rand.New(rand.NewPCG(seed, 2))}
		mine := apply(t, s.document(), s.edits())
		theirs := apply(t, mine.Document, s.edits())
		undone := apply(t, theirs.Document, mine.Inverse)
		wantForm(t, undone.Document)
		same(t, fmt.Sprint("undone undo, seed ", seed), apply(t, undone.Document, undone.Inverse).Document, theirs.Document, undone.Inverse)
	}
}

// TestApplyEdits_converges checks that two concurrent editors reach the same document. The late one
// applies the edits that it missed and then its own again.
func TestApplyEdits_converges(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		s := sketch{rand.New(rand.NewPCG(seed, 3))}
		d, first, second := s.document(), s.edits(), s.edits()
		server := apply(t, d, first)
		late := apply(t, apply(t, d, server.Ops).Document, second)
		server = apply(t, server.Document, second)
		same(t, fmt.Sprint("seed ", seed), late.Document, server.Document, second)
	}
}

// wantForm checks the invariants that edits must preserve.
func wantForm(t testing.TB, d *flow.Document) {
	t.Helper()
	_, problems := ParseDocument(d.Compact())
	for _, p := range append(problems, Validate(d, flowtest.Kinds)...) {
		switch p.Code {
		case "dangling":
			from, to, ok := edgeOf(d, p.Pointer)
			if !ok || d.Node(from) == nil || d.Node(to) == nil {
				t.Fatalf("%+v\n%s", p, d.Compact())
			}
		case "duplicate":
			if p.Pointer[:6] != "/edges" {
				t.Fatalf("%+v\n%s", p, d.Compact())
			}
		}
	}
	if len(problems) > 0 {
		t.Fatalf("%+v\n%s", problems, d.Compact())
	}
}

func edgeOf(d *flow.Document, pointer string) (from, to string, ok bool) {
	var i int
	var side string
	if n, _ := fmt.Sscanf(pointer, "/edges/%d/%s", &i, &side); n != 2 {
		return "", "", false
	}
	from, _ = d.Edges[i].Source()
	to, _ = d.Edges[i].Target()
	return from, to, true
}

// FuzzEdits checks that decoded edits never panic, preserve the invariants of a document,
// and can be undone.
func FuzzEdits(f *testing.F) {
	for seed := range uint64(20) {
		s := sketch{rand.New(rand.NewPCG(seed, 4))}
		f.Add(s.document().Compact(), flow.EncodeJSON(s.edits()), flow.EncodeJSON(s.edits()))
	}
	f.Add([]byte(flowtest.Document("a call\n a.text -> a.values")), []byte(`[{"op": "connect", "edge": {"from": "a.x", "to": "a.y"}, "at": 9}]`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, document, first, second []byte) {
		d, problems := ParseDocument(document)
		mine, err := DecodeEdits(first)
		if d == nil || err != nil {
			return
		}
		out, err := ApplyEdits(d, mine)
		if err != nil {
			return
		}
		Changed(out.Ops)
		ByNode(d, Validate(out.Document, flowtest.Kinds))
		whole := len(problems) == 0
		for _, p := range Validate(d, flowtest.Kinds) {
			whole = whole && p.Code != "dangling" && p.Code != "duplicate" && p.Code != "too_many"
		}
		back, err := ApplyEdits(out.Document, out.Inverse)
		if whole {
			if err != nil {
				t.Fatal(err)
			}
			same(t, "taken back", back.Document, d, out.Inverse)
			wantForm(t, out.Document)
		}
		if theirs, err := DecodeEdits(second); err == nil {
			if other, err := ApplyEdits(out.Document, theirs); err == nil {
				_, err = ApplyEdits(other.Document, out.Inverse)
				if whole && err != nil && len(other.Document.Nodes) < flow.MaxNodes/2 {
					t.Fatal(err)
				}
			}
		}
	})
}
