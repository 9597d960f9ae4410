package library

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/flowtest"
)

// memoryStore is a LibraryStore in memory. The methods of the embedded nil interface are
// those that its tests do not call; tests of the API cover them on the database.
type memoryStore struct {
	LibraryStore
	flows       map[flow.FlowID]*flow.Flow
	documents   map[string][]byte
	versions    []flow.Version
	credentials map[string]flow.Credential
	secrets     map[string]string
	log         []document.EditTx
	before      func() // once, when an edit is about to be saved
}

func newLibrary() (*Library, *memoryStore) {
	s := &memoryStore{flows: map[flow.FlowID]*flow.Flow{}, documents: map[string][]byte{}, credentials: map[string]flow.Credential{}, secrets: map[string]string{}}
	return &Library{Store: s, Kinds: flowtest.Kinds, IDs: flow.NewIDs()}, s
}

func (s *memoryStore) CreateFlow(_ context.Context, f *flow.Flow) error {
	s.flows[f.ID] = f
	return nil
}

func (s *memoryStore) UpdateDraft(_ context.Context, _ flow.WorkspaceID, id flow.FlowID, name string, description string, draft []byte) error {
	f := s.flows[id]
	f.Rev++
	f.Name, f.Description, f.Draft = name, description, draft
	return nil
}

func (s *memoryStore) ReplaceDraft(ctx context.Context, ws flow.WorkspaceID, id flow.FlowID, base int64, name, description string, draft []byte) error {
	if s.flows[id].Rev != base {
		return flow.Errorf(document.CodeEditsMissed, "changed")
	}
	return s.UpdateDraft(ctx, ws, id, name, description, draft)
}

func (s *memoryStore) FindFlow(_ context.Context, _ flow.WorkspaceID, id flow.FlowID) (*flow.Flow, error) {
	if f, ok := s.flows[id]; ok {
		found := *f
		return &found, nil
	}
	return nil, flow.Errorf(flow.CodeNotFound, "There is no such flow.")
}

func (s *memoryStore) FindFlowID(_ context.Context, _ flow.WorkspaceID, slug string) (flow.FlowID, error) {
	for id, f := range s.flows {
		if f.Slug == slug {
			return id, nil
		}
	}
	return "", flow.Errorf(flow.CodeNotFound, "There is no such flow.")
}

func (s *memoryStore) FindVersion(_ context.Context, _ flow.WorkspaceID, _ flow.FlowID, n int64) (*flow.Version, error) {
	if n < 1 || int(n) > len(s.versions) {
		return nil, flow.Errorf(flow.CodeNotFound, "There is no such version.")
	}
	return &s.versions[n-1], nil
}

func (s *memoryStore) FindDocument(_ context.Context, _ flow.WorkspaceID, hash string) ([]byte, error) {
	return s.documents[hash], nil
}

func (s *memoryStore) PublishFlow(_ context.Context, _ flow.WorkspaceID, id flow.FlowID, document []byte, summary string, _ string) (flow.Version, bool, error) {
	f, hash := s.flows[id], flow.DocumentHash(document)
	if f.LiveHash != "" && flow.SameVersion(f.LiveHash, hash) {
		v := &s.versions[len(s.versions)-1]
		v.DocumentHash, s.documents[hash], f.LiveHash = hash, document, hash
		return *v, false, nil
	}
	v := flow.Version{FlowID: id, Number: int64(len(s.versions) + 1), DocumentHash: hash, Summary: summary}
	s.versions, s.documents[hash], f.LiveHash, f.LiveVersion = append(s.versions, v), document, hash, v.Number
	return v, true, nil
}

func (s *memoryStore) AddAudit(context.Context, flow.AuditEntry) error { return nil }

func (s *memoryStore) InTransaction(ctx context.Context, fn func(ctx context.Context) error) error {
	return fn(ctx)
}

func (s *memoryStore) SetLiveVersion(context.Context, flow.WorkspaceID, flow.FlowID, int64, string) error {
	return nil
}

func (s *memoryStore) FindCredential(_ context.Context, _ flow.WorkspaceID, name string) (flow.Credential, error) {
	if c, ok := s.credentials[name]; ok {
		return c, nil
	}
	return flow.Credential{}, flow.Errorf(flow.CodeNotFound, "There is no such credential.")
}

func (s *memoryStore) SaveCredential(_ context.Context, c flow.Credential, secret string) error {
	s.credentials[c.Name], s.secrets[c.Name] = c, secret
	return nil
}

const secretFlow = `
	u unlock {"secret": "s3cret-1", "headers": {"Authorization": "s3cret-2", "x-api-key": "s3cret-3", "Accept": "text/plain", "My-Key": "Bearer {{x}}"}}
	v unlock {"secret": {"credential": "mine"}}
	x input {"name": "x"}
	x.value -> u.x`

func TestImport_extracts_secrets(t *testing.T) {
	t.Parallel()
	l, s := newLibrary()
	ctx := t.Context()
	f, err := l.Import(ctx, "ws", "", flowtest.Document(secretFlow))
	if err != nil {
		t.Fatal(err)
	}
	out, err := l.Export(ctx, "ws", f.ID, 0)
	if err != nil || strings.Contains(string(out), "s3cret") || strings.Contains(string(f.Draft), "s3cret") {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`"text/plain"`, `"Bearer {{x}}"`, `"mine"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s is gone:\n%s", want, out)
		}
	}
	if len(s.secrets) != 3 || s.secrets["test-u-secret"] != "s3cret-1" || s.secrets["test-u-authorization"] != "s3cret-2" || s.secrets["test-u-x-api-key"] != "s3cret-3" {
		t.Errorf("%v", s.secrets)
	}
	if _, err := l.Import(ctx, "ws", f.ID, flowtest.Document(secretFlow)); err != nil || len(s.secrets) != 3 {
		t.Errorf("again: %v %v", err, s.secrets)
	}
	if _, err := l.Import(ctx, "ws", "", flowtest.Document(secretFlow)); err != nil || len(s.secrets) != 6 || s.secrets["test-u-secret-2"] != "s3cret-1" {
		t.Errorf("as another flow: %v %v", err, s.secrets)
	}
	if _, err := l.Import(ctx, "ws", f.ID, out); err != nil {
		t.Errorf("an export cannot be imported: %v", err)
	}
}

func TestLibraryPublish(t *testing.T) {
	t.Parallel()
	l, s := newLibrary()
	ctx := t.Context()
	f, err := l.Import(ctx, "ws", "", flowtest.Document("a call\n b call"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		flow, summary string
		created       bool
	}{
		{"a call\n b call", "First version: 2 nodes.", true},
		{"a call\n b call", "", false},
		{"a call {\"text\": \"t\"}\n c call\n d call", "2 nodes added, 1 removed, 1 changed.", true},
	} {
		if _, err := l.Import(ctx, "ws", f.ID, flowtest.Document(tt.flow)); err != nil {
			t.Fatal(err)
		}
		v, created, err := l.Publish(ctx, "ws", f.ID, "me")
		if err != nil || created != tt.created || created && v.Summary != tt.summary {
			t.Errorf("%+v %v %v", v, created, err)
		}
	}
	first, err := l.Export(ctx, "ws", f.ID, 1)
	if err != nil || strings.Contains(string(first), `"d"`) {
		t.Errorf("%v %s", err, first)
	}
	reviewed := *s.flows[f.ID]
	if _, err := l.Import(ctx, "ws", f.ID, flowtest.Document("a call\n e call")); err != nil {
		t.Fatal(err)
	}
	if v, _, err := l.PublishDraft(ctx, &reviewed, flow.Actor{ID: "me"}, "n"); err != nil || v.DocumentHash != flow.DocumentHash(reviewed.Draft) {
		t.Errorf("what was edited after the review went live: %+v, %v", v, err)
	}
	s.flows[f.ID].Draft = []byte(`{"schema": "sluice.flow/v1", "name": "n", "nodes": []}`)
	if _, _, err := l.Publish(ctx, "ws", f.ID, "me"); !errors.Is(err, &flow.Error{Code: flow.CodeDocumentInvalid}) {
		t.Errorf("an invalid draft was published: %v", err)
	}
}

func TestLibrary_reports_all_problems(t *testing.T) {
	t.Parallel()
	l, s := newLibrary()
	_, err := l.Import(t.Context(), "ws", "", []byte(`{"schema": "sluice.flow/v1", "nam": "n", "nodes": [{"id": "a", "kind": "cal"}], "edges": [{"from": "b.x", "to": "a.y"}]}`))
	var refused *flow.Error
	if !errors.As(err, &refused) || refused.Code != flow.CodeDocumentInvalid || len(refused.Fields) != 4 || len(s.flows) != 0 {
		t.Fatalf("%v", err)
	}
	if text := err.Error(); !strings.Contains(text, "has 4 problems:\n") || !strings.Contains(text, `/nodes/0/kind (a): there is no kind "cal"; did you mean "call"?`) {
		t.Error(text)
	}
}

func TestNewRegistry_rejects_invalid_kinds(t *testing.T) {
	t.Parallel()
	good := flowtest.WorkKind("good", flow.Inline)
	for name, change := range map[string]func(*flow.Kind){
		"no name": func(k *flow.Kind) { k.Name = "" }, "bad name": func(k *flow.Kind) { k.Name = "Bad" }, "no title": func(k *flow.Kind) { k.Title = "" },
		"no group": func(k *flow.Kind) { k.Group = "" }, "no summary": func(k *flow.Kind) { k.Summary = "" }, "no Run": func(k *flow.Kind) { k.Run = nil },
		"twice": func(*flow.Kind) {},
	} {
		bad := good
		change(&bad)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", name)
				}
			}()
			flow.NewRegistry(good, bad)
		}()
	}
}

func TestKeyAllows(t *testing.T) {
	t.Parallel()
	k := &flow.Key{Scopes: []flow.Scope{flow.ScopeRun}, Flows: []string{"flow_1"}}
	if !k.Has(flow.ScopeRun) || k.Has(flow.ScopeManage) || !k.Allows("flow_1") || k.Allows("flow_2") || !(&flow.Key{}).Allows("flow_2") {
		t.Error("wrong scopes or flows")
	}
}
