package library

import (
	"context"
	"maps"
	"slices"
	"testing"

	"sluice/flow"
	"sluice/flow/credentialuse"
	"sluice/flow/flowtest"
)

// usesStore counts how often the flows of a memoryStore are read.
type usesStore struct {
	literalStore
	reads int
}

func (s *usesStore) ListCredentials(context.Context, flow.WorkspaceID) ([]flow.Credential, error) {
	return []flow.Credential{{Name: "bound"}, {Name: "main", Provider: "models"}}, nil
}

func (s *usesStore) ListFlowRevisions(ctx context.Context, ws flow.WorkspaceID) ([]flow.Flow, error) {
	list, err := s.literalStore.ListFlows(ctx, ws, "", 0)
	for i := range list {
		list[i].Draft = nil
	}
	return list, err
}

func (s *usesStore) ListFlows(ctx context.Context, ws flow.WorkspaceID, after flow.FlowID, limit int) ([]flow.Flow, error) {
	s.reads++
	return s.literalStore.ListFlows(ctx, ws, after, limit)
}

// TestCredentialUses_reads_flows_that_changed checks that uses follow drafts and live versions, and that flows which did not change are not read again.
func TestCredentialUses_reads_flows_that_changed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l, memory := requestLibrary()
	s := &usesStore{literalStore: literalStore{memory}}
	u := credentialuse.New(s, func(n *flow.Node) string {
		if n.ID == "model" {
			return "models"
		}
		return ""
	})
	find := func(want ...string) {
		t.Helper()
		found, err := u.Find(ctx, "ws")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range slices.Sorted(maps.Keys(found)) {
			for _, use := range found[name] {
				state := "draft"
				if use.Live {
					state = "live"
				}
				got = append(got, name+" "+use.Node+" "+state)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the uses are %q, want %q", got, want)
		}
	}
	f, err := l.Import(ctx, "ws", "", flowtest.Document(`model request {"url": "https://api.example.com/"}`))
	if err != nil {
		t.Fatal(err)
	}
	find("main model draft")
	find("main model draft")
	if s.reads != 1 {
		t.Errorf("flows were read %d times", s.reads)
	}
	if _, err := l.Import(ctx, "ws", f.ID, flowtest.Document(`r request {"url": "https://api.example.com/", "headers": {"Authorization": {"credential": "bound"}}}`)); err != nil {
		t.Fatal(err)
	}
	find("bound r draft")
	if _, _, err := l.Publish(ctx, "ws", f.ID, "me"); err != nil {
		t.Fatal(err)
	}
	find("bound r draft", "bound r live")
	find("bound r draft", "bound r live")
	if s.reads != 3 {
		t.Errorf("flows were read %d times", s.reads)
	}
}
