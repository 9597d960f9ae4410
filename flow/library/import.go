package library

import (
	"context"

	"sluice/flow"
)

// ImportSource is a document to import.
type ImportSource struct {
	Data   []byte
	FlowID flow.FlowID // flow whose draft it replaces; empty for a new flow
}

// Imported is a flow that was imported.
type Imported struct {
	Flow    *flow.Flow
	Version flow.Version // live version after the import; zero if it was not published
}

// ImportErrors holds the error of each document of an import, in order; nil for
// a valid document.
type ImportErrors []error

// Error returns the message of the first error.
func (e ImportErrors) Error() string {
	for _, err := range e {
		if err != nil {
			return err.Error()
		}
	}
	return ""
}

// Unwrap lets errors.Is and errors.As inspect all of them.
func (e ImportErrors) Unwrap() []error {
	var list []error
	for _, err := range e {
		if err != nil {
			list = append(list, err)
		}
	}
	return list
}

// ImportAll imports documents, and publishes them if publish is set:
// all of them in one transaction with their audit entries, or none. Documents that cannot be imported are
// reported as ImportErrors before anything is written.
func (l *Library) ImportAll(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, sources []ImportSource, publish bool) ([]Imported, error) {
	staged := &stagedStore{LibraryStore: l.Store, flows: map[flow.FlowID]*flow.Flow{}, credentials: map[string]flow.Credential{}, versions: map[flow.FlowID]flow.Version{}}
	into := *l
	into.Store = staged
	list, problems, bad := make([]Imported, len(sources)), make(ImportErrors, len(sources)), false
	for i, from := range sources {
		f, err := into.Import(ctx, ws, from.FlowID, from.Data)
		list[i].Flow, problems[i], bad = f, err, bad || err != nil
	}
	for i := range sources { // after all are imported, since they may run each other
		if problems[i] == nil && publish {
			_, _, problems[i] = into.Publish(ctx, ws, list[i].Flow.ID, by.ID)
			bad = bad || problems[i] != nil
		}
	}
	if bad {
		return nil, problems
	}
	err := l.Store.InTransaction(ctx, func(ctx context.Context) error {
		if err := staged.write(ctx); err != nil {
			return err
		}
		for i := range list {
			if err := l.audit(ctx, list[i].Flow, by, "flow.create", list[i].Flow.Name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Version = staged.versions[list[i].Flow.ID]
	}
	return list, nil
}

// stagedStore buffers the writes of an import and reads as if they had been made.
type stagedStore struct {
	LibraryStore
	writes      []func(ctx context.Context) error
	flows       map[flow.FlowID]*flow.Flow
	credentials map[string]flow.Credential   // by name
	versions    map[flow.FlowID]flow.Version // published by write, by flow ID
}

// write performs the buffered writes.
func (s *stagedStore) write(ctx context.Context) error {
	for _, write := range s.writes {
		if err := write(ctx); err != nil {
			return err
		}
	}
	return nil
}

// later buffers a write until all documents have been checked.
func (s *stagedStore) later(write func(ctx context.Context) error) {
	s.writes = append(s.writes, write)
}

// CreateFlow buffers a new flow.
func (s *stagedStore) CreateFlow(_ context.Context, f *flow.Flow) error {
	s.flows[f.ID] = f
	s.later(func(ctx context.Context) error { return s.LibraryStore.CreateFlow(ctx, f) })
	return nil
}

// UpdateDraft buffers a draft.
func (s *stagedStore) UpdateDraft(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, name, description string, draft []byte) error {
	f, err := s.FindFlow(ctx, ws, flowID)
	if err != nil {
		return err
	}
	f.Name, f.Description, f.Draft = name, description, draft
	s.flows[flowID] = f
	s.later(func(ctx context.Context) error {
		return s.LibraryStore.UpdateDraft(ctx, ws, flowID, name, description, draft)
	})
	return nil
}

// FindFlow finds a flow as it will be after write.
func (s *stagedStore) FindFlow(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) (*flow.Flow, error) {
	if f, ok := s.flows[flowID]; ok {
		found := *f
		return &found, nil
	}
	return s.LibraryStore.FindFlow(ctx, ws, flowID)
}

// FindFlowID finds a flow by its slug as it will be after write.
func (s *stagedStore) FindFlowID(ctx context.Context, ws flow.WorkspaceID, slug string) (flow.FlowID, error) {
	for id, f := range s.flows {
		if f.Slug == slug {
			return id, nil
		}
	}
	return s.LibraryStore.FindFlowID(ctx, ws, slug)
}

// SaveCredential buffers a credential.
func (s *stagedStore) SaveCredential(_ context.Context, c flow.Credential, secret string) error {
	s.credentials[c.Name] = c
	s.later(func(ctx context.Context) error { return s.LibraryStore.SaveCredential(ctx, c, secret) })
	return nil
}

// FindCredential finds a credential as it will be after write.
func (s *stagedStore) FindCredential(ctx context.Context, ws flow.WorkspaceID, name string) (flow.Credential, error) {
	if c, ok := s.credentials[name]; ok {
		return c, nil
	}
	return s.LibraryStore.FindCredential(ctx, ws, name)
}

// PublishFlow buffers a version. Its number is not known before write.
func (s *stagedStore) PublishFlow(_ context.Context, ws flow.WorkspaceID, flowID flow.FlowID, document []byte, summary, by string) (flow.Version, bool, error) {
	s.later(func(ctx context.Context) error {
		v, _, err := s.LibraryStore.PublishFlow(ctx, ws, flowID, document, summary, by)
		s.versions[flowID] = v
		return err
	})
	return flow.Version{}, false, nil
}
