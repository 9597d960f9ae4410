package library

import (
	"context"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/document"
)

func TestCreateDraft(t *testing.T) {
	t.Parallel()
	l, s := newLibrary()
	d := mustParse(t, `
		u unlock {"secret": "s3cret-1"}
		u.value -> gone.value`)
	f, err := l.createDraft(context.Background(), "w", d, []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.flows[f.ID]; got == nil || got.Name != d.Name || strings.Join(got.Tags, "") != "a" || strings.Contains(string(got.Draft), "s3cret") {
		t.Errorf("stored %+v", got)
	}
	if len(s.secrets) != 1 {
		t.Errorf("kept %v", s.secrets)
	}
	if _, err := l.createDraft(context.Background(), "w", &flow.Document{Schema: flow.Schema, Nodes: []flow.Node{}, Edges: []flow.Edge{}}, nil); flow.AsError(err).Code != flow.CodeDocumentInvalid {
		t.Errorf("a document without a name: %v", err)
	}
}

func TestDuplicateFlow(t *testing.T) {
	t.Parallel()
	l, s := newLibrary()
	d := mustParse(t, `x input {"name": "x"}`)
	d.Name = strings.Repeat("n", document.MaxNameLength)
	f, err := l.createDraft(context.Background(), "w", d, []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := l.DuplicateFlow(context.Background(), flow.Actor{}, "w", f.ID)
	if err != nil {
		t.Fatal(err)
	}
	if again.ID == f.ID || len(again.Name) != document.MaxNameLength || !strings.HasSuffix(again.Name, "n (copy)") || strings.Join(s.flows[again.ID].Tags, "") != "ab" {
		t.Errorf("the copy is %+v", again)
	}
	if _, err := l.DuplicateFlow(context.Background(), flow.Actor{}, "w", "flow_x"); flow.AsError(err).Code != flow.CodeNotFound {
		t.Errorf("a copy of nothing: %v", err)
	}
}
