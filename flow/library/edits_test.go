package library

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/flowtest"
)

// SaveEdit, FindEdit and ListEdits implement the log in memory.
func (s *memoryStore) SaveEdit(_ context.Context, e document.NewEdit) (bool, error) {
	f := s.flows[e.FlowID]
	if s.before != nil {
		before := s.before
		s.before = nil
		before()
	}
	if f.Rev != e.Base {
		return false, nil
	}
	f.Rev++
	f.Name, f.Description, f.Draft, e.Tx.Rev = e.Name, e.Description, e.Draft, f.Rev
	s.log = append(s.log, e.Tx)
	return true, nil
}

func (s *memoryStore) FindEdit(_ context.Context, _ flow.WorkspaceID, _ flow.FlowID, txID string) (*document.EditTx, error) {
	for _, tx := range s.log {
		if tx.TxID == txID {
			return &tx, nil
		}
	}
	return nil, flow.Errorf(flow.CodeNotFound, "There is no such change.")
}

func (s *memoryStore) ListEdits(_ context.Context, _ flow.WorkspaceID, _ flow.FlowID, afterRev int64, limit int) (list []document.EditTx, _ error) {
	for _, tx := range s.log {
		if tx.Rev > afterRev && len(list) < limit {
			list = append(list, tx)
		}
	}
	return list, nil
}

// editFixture is a library with one flow to edit.
type editFixture struct {
	t *testing.T
	*Library
	*memoryStore
	id flow.FlowID
}

func newEditFixture(t *testing.T, lines string) *editFixture {
	t.Helper()
	l, s := newLibrary()
	f, err := l.Import(t.Context(), "ws", "", flowtest.Document(lines))
	if err != nil {
		t.Fatal(err)
	}
	s.flows[f.ID].Rev = 1
	return &editFixture{t: t, Library: l, memoryStore: s, id: f.ID}
}

func (d *editFixture) edit(base int64, txID, ops string) (*document.EditResult, error) {
	d.t.Helper()
	list, err := document.DecodeEdits([]byte(ops))
	if err != nil {
		d.t.Fatal(err)
	}
	return d.EditFlow(d.t.Context(), "ws", d.id, "user_1", document.EditRequest{Base: base, Tab: "tab", TxID: txID, Ops: list})
}

func (d *editFixture) mustEdit(base int64, txID, ops string) *document.EditResult {
	d.t.Helper()
	r, err := d.edit(base, txID, ops)
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

func (d *editFixture) draft() string { return string(d.flows[d.id].Draft) }

const label = `[{"op": "put", "node": "a", "member": "label", "value": "%s"}]`

func TestEditFlow(t *testing.T) {
	t.Parallel()
	t.Run("counts up, logs and validates", func(t *testing.T) {
		t.Parallel()
		d := newEditFixture(t, "a call\n b call\n a.text -> b.text")
		r := d.mustEdit(1, "t1", `[{"op": "add", "node": {"id": "c", "kind": "cal"}}, {"op": "name", "name": "New"}]`)
		if r.Rev != 2 || len(r.Problems) != 1 || r.Problems[0].Code != "unknown_kind" || r.Document.Node("c") == nil {
			t.Errorf("%+v", r)
		}
		if f := d.flows[d.id]; f.Name != "New" || !strings.Contains(string(f.Draft), `"cal"`) || len(d.log) != 1 || d.log[0].UserID != "user_1" {
			t.Errorf("%+v %+v", f, d.log)
		}
	})
	t.Run("replays the result of a repeated transaction", func(t *testing.T) {
		t.Parallel()
		d := newEditFixture(t, "a call")
		first := d.mustEdit(1, "t1", fmt.Sprintf(label, "A"))
		d.mustEdit(2, "t2", fmt.Sprintf(label, "B"))
		again := d.mustEdit(1, "t1", fmt.Sprintf(label, "A"))
		if again.Rev != 2 || string(flow.EncodeJSON(first.Inverse)) != string(flow.EncodeJSON(again.Inverse)) || len(d.log) != 2 {
			t.Errorf("%+v", again)
		}
	})
	t.Run("returns missed edits", func(t *testing.T) {
		t.Parallel()
		d := newEditFixture(t, "a call")
		d.mustEdit(1, "t1", fmt.Sprintf(label, "A"))
		_, err := d.edit(1, "t2", fmt.Sprintf(label, "B"))
		missed, ok := errors.AsType[*document.EditsMissed](err)
		if !ok || len(missed.Since) != 1 || missed.Since[0].Rev != 2 || flow.AsError(err).Code != document.CodeEditsMissed {
			t.Fatalf("%v", err)
		}
		if r := d.mustEdit(2, "t2", fmt.Sprintf(label, "B")); r.Rev != 3 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("returns missed edits after a concurrent edit", func(t *testing.T) {
		t.Parallel()
		d := newEditFixture(t, "a call")
		d.before = func() { d.mustEdit(1, "t1", fmt.Sprintf(label, "A")) }
		if _, err := d.edit(1, "t2", fmt.Sprintf(label, "B")); !errors.Is(err, &flow.Error{Code: document.CodeEditsMissed}) {
			t.Errorf("%v", err)
		}
		d.before = func() { d.mustEdit(2, "t3", fmt.Sprintf(label, "C")) }
		if r := d.mustEdit(2, "t3", fmt.Sprintf(label, "C")); r.Rev != 3 || len(d.log) != 2 {
			t.Errorf("the same twice at once: %+v", r)
		}
	})
	t.Run("rejects a revision that the log does not cover", func(t *testing.T) {
		t.Parallel()
		d := newEditFixture(t, "a call")
		d.mustEdit(1, "t1", fmt.Sprintf(label, "A"))
		d.flows[d.id].Rev = 3 // the draft was imported again
		for _, base := range []int64{1, 2, 9} {
			if _, err := d.edit(base, "t2", fmt.Sprintf(label, "B")); !errors.Is(err, &flow.Error{Code: document.CodeEditsGone}) {
				t.Errorf("%d: %v", base, err)
			}
		}
	})
	t.Run("logs nothing without a change", func(t *testing.T) {
		t.Parallel()
		d := newEditFixture(t, "a call")
		r := d.mustEdit(1, "t1", `[{"op": "set", "node": "gone", "field": "text", "value": "x"}]`)
		if r.Rev != 1 || len(r.Skipped) != 1 || len(d.log) != 0 || len(r.Ops) != 0 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("undoes a transaction by its ID", func(t *testing.T) {
		t.Parallel()
		d := newEditFixture(t, "a call\n b call\n a.text -> b.text")
		before := d.draft()
		d.mustEdit(1, "t1", `[{"op": "remove", "nodes": ["a"]}]`)
		r, err := d.EditFlow(t.Context(), "ws", d.id, "u", document.EditRequest{Base: 2, Tab: "tab", TxID: "t2", Undo: "t1"})
		if err != nil || r.Rev != 3 || d.draft() != before {
			t.Fatalf("%v %+v", err, r)
		}
		_, err = d.EditFlow(t.Context(), "ws", d.id, "u", document.EditRequest{Base: 3, Tab: "tab", TxID: "t3", Undo: "t9"})
		if !errors.Is(err, &flow.Error{Code: document.CodeEditsGone}) {
			t.Errorf("%v", err)
		}
	})
	t.Run("rejects a malformed request", func(t *testing.T) {
		t.Parallel()
		d := newEditFixture(t, "a call")
		for _, r := range []document.EditRequest{{}, {Base: 1, Tab: "a b", TxID: "t", Undo: "t"}, {Base: 1, Tab: "a", TxID: "t"}} {
			if _, err := d.EditFlow(t.Context(), "ws", d.id, "u", r); !errors.Is(err, &flow.Error{Code: document.CodeEditsInvalid}) {
				t.Errorf("%+v: %v", r, err)
			}
		}
	})
	t.Run("rejects edits of an archived flow", func(t *testing.T) {
		t.Parallel()
		d := newEditFixture(t, "a call")
		d.flows[d.id].ArchivedAt = time.Now()
		if _, err := d.edit(1, "t1", fmt.Sprintf(label, "A")); !flow.IsNotFound(err) {
			t.Errorf("%v", err)
		}
	})
	t.Run("limits the size of a draft", func(t *testing.T) {
		t.Parallel()
		d := newEditFixture(t, "a call")
		ops := fmt.Sprintf(`[{"op": "set", "node": "a", "field": "text", "value": %q}]`, strings.Repeat("x", document.MaxEditBytes-100))
		for rev := int64(1); ; rev++ {
			_, err := d.edit(rev, fmt.Sprint("t", rev), strings.Replace(ops, `"text"`, fmt.Sprintf(`"text%d"`, rev), 1))
			if rev == 5 {
				if !errors.Is(err, &flow.Error{Code: document.CodeEditsInvalid}) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(rev, err)
			}
		}
	})
}

func TestEditFlow_extracts_secrets(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ops     string
		secrets int
	}{
		"typed": {`[{"op": "set", "node": "u", "field": "secret", "value": "s3cret-1"}]`, 1},
		"typed twice": {`[{"op": "set", "node": "u", "field": "secret", "value": "s3cret-1"},
			{"op": "set", "node": "u", "field": "secret", "value": "s3cret-2"}]`, 2},
		"in a header": {`[{"op": "set", "node": "u", "field": "headers", "value": {"Authorization": "s3cret-1", "Accept": "a"}}]`, 1},
		"pasted":      {`[{"op": "add", "node": {"id": "p", "kind": "unlock", "config": {"secret": "s3cret-1", "headers": {"my-key": "s3cret-2"}}}}]`, 2},
		"removed again": {`[{"op": "set", "node": "u", "field": "secret", "value": "s3cret-1"}, {"op": "remove", "nodes": ["u"]},
			{"op": "add", "node": {"id": "x", "kind": "call"}}]`, 1},
		"of a kind that says so later": {`[{"op": "set", "node": "s", "field": "text", "value": "s3cret-1"},
			{"op": "set", "node": "s", "field": "secret", "value": "text"}]`, 1},
		"of a new node that says so later": {`[{"op": "add", "node": {"id": "p", "kind": "shaped", "config": {"text": "s3cret-1"}}},
			{"op": "set", "node": "p", "field": "secret", "value": "text"}]`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newEditFixture(t, `u unlock {"secret": {"credential": "mine"}}`)
			d.Kinds = flowtest.KindsAnd(revealingKind)
			d.mustEdit(1, "t0", `[{"op": "add", "node": {"id": "s", "kind": "shaped"}}]`)
			before := d.draft()
			r := d.mustEdit(2, "t1", tt.ops)
			for what, text := range map[string]string{
				"draft": d.draft(), "log": string(flow.EncodeJSON(d.log)), "inverse": string(flow.EncodeJSON(d.log[1].Inverse)), "answer": string(flow.EncodeJSON(r)),
			} {
				if strings.Contains(text, "s3cret") || strings.Contains(text, `{"credential":}`) || strings.Contains(text, `{}`) && what == "draft" && strings.Contains(text, `"secret":{}`) {
					t.Errorf("%s: %s", what, text)
				}
			}
			if len(d.secrets) != tt.secrets {
				t.Errorf("%v", d.secrets)
			}
			d.wantReplay(before, r)
		})
	}
}

// TestReplaced_has_values_of_draft checks that a tab that applies the replaced fields has the same values as the
// draft, and no secret.
func TestReplaced_has_values_of_draft(t *testing.T) {
	t.Parallel()
	for ops, want := range map[string]string{
		`[{"op": "set", "node": "u", "field": "secret", "value": "new"}, {"op": "put", "node": "u", "member": "label", "value": "L"}]`: `[{"field":"secret","node":"u","op":"set","value":{"credential":"test-u-secret"}}]`,
		`[{"op": "set", "node": "u", "field": "headers", "value": {"Accept": "a"}}]`:                                                   `null`,
		`[{"op": "add", "node": {"id": "p", "kind": "unlock", "config": {"secret": "new", "headers": {"Accept": "a"}}}}]`:              `[{"field":"secret","node":"p","op":"set","value":{"credential":"test-p-secret"}}]`,
		`[{"op": "set", "node": "u", "field": "secret", "value": "new"}, {"op": "remove", "nodes": ["u"]}]`:                            `[{"field":"secret","node":"u","op":"set","value":{"credential":"test-u-secret"}}]`,
	} {
		d := newEditFixture(t, `u unlock {"secret": {"credential": "mine"}}`)
		sent, err := document.DecodeEdits([]byte(ops))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(flow.EncodeJSON(document.Replaced(sent, d.mustEdit(1, "t1", ops).Ops))); got != want {
			t.Errorf("%s:\n got %s\nwant %s", ops, got, want)
		}
	}
}

// wantReplay checks that other editors reach the same draft by applying the edits sent to
// them.
func (d *editFixture) wantReplay(before string, r *document.EditResult) {
	d.t.Helper()
	old, _ := document.ParseDocument([]byte(before))
	ops, err := document.DecodeEdits(flow.EncodeJSON(r.Ops))
	if err != nil {
		d.t.Fatal(err)
	}
	out, err := document.ApplyEdits(old, ops)
	if err != nil || string(out.Document.Compact()) != d.draft() {
		d.t.Errorf("%v\n got %s\nwant %s", err, out.Document.Compact(), d.draft())
	}
}

// revealingKind has a field that is secret depending on the config.
var revealingKind = func() flow.Kind {
	k := flowtest.WorkKind("shaped", flow.Inline)
	k.Fields = []flow.Field{{Name: "secret", Type: flow.FieldText, Typed: true}}
	k.DynamicSchema = func(n *flow.Node) flow.DynamicSchema {
		typ := flow.FieldText
		if n.Config["secret"] == "text" {
			typ = flow.FieldSecret
		}
		return flow.DynamicSchema{Fields: []flow.Field{{Name: "text", Type: typ}}}
	}
	return k
}()

// A published version must not get another secret because somebody types one
// into the draft.
func TestEditFlow_gives_secrets_unique_names(t *testing.T) {
	t.Parallel()
	d := newEditFixture(t, `u unlock {"secret": "old"}`)
	d.mustEdit(1, "t1", `[{"op": "set", "node": "u", "field": "secret", "value": "new"}]`)
	if d.secrets["test-u-secret"] != "old" || d.secrets["test-u-secret-2"] != "new" {
		t.Errorf("%v", d.secrets)
	}
	if r := d.mustEdit(2, "t2", `[{"op": "remove", "nodes": ["u"]}]`); !strings.Contains(string(flow.EncodeJSON(r.Inverse)), `{"credential":"test-u-secret-2"}`) {
		t.Errorf("%s", flow.EncodeJSON(r.Inverse))
	}
}

func TestEditsSince(t *testing.T) {
	t.Parallel()
	d := newEditFixture(t, "a call")
	for i := range int64(4) {
		d.mustEdit(i+1, fmt.Sprint("t", i), fmt.Sprintf(label, fmt.Sprint(i)))
	}
	since := func(rev int64, limit int) (revs []int64, code flow.Code) {
		list, err := d.EditsSince(t.Context(), "ws", d.id, rev, limit)
		for _, tx := range list {
			revs = append(revs, tx.Rev)
		}
		if err != nil {
			code = flow.AsError(err).Code
		}
		return revs, code
	}
	for _, tt := range []struct {
		rev   int64
		limit int
		want  []int64
		code  flow.Code
	}{{5, 9, nil, ""}, {1, 9, []int64{2, 3, 4, 5}, ""}, {2, 2, []int64{3, 4}, ""}, {0, 9, nil, document.CodeEditsGone}, {6, 9, nil, document.CodeEditsGone}} {
		if got, code := since(tt.rev, tt.limit); !slices.Equal(got, tt.want) || code != tt.code {
			t.Errorf("%d: %v %s", tt.rev, got, code)
		}
	}
	d.log = slices.Delete(d.log, 1, 2)
	if _, code := since(1, 9); code != document.CodeEditsGone {
		t.Errorf("a gap: %s", code)
	}
}
