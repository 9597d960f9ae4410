package flow

import (
	"context"
	"errors"
	"fmt"
)

// Library takes documents in, publishes them and gives them out again.
type Library struct {
	Store LibraryStore
	Kinds *Registry
	IDs   IDs
}

// LibraryStore is what a Library needs of the database.
type LibraryStore interface {
	CreateFlow(ctx context.Context, f *Flow) error
	UpdateDraft(ctx context.Context, ws, flowID, name, description string, draft []byte) error
	FindFlow(ctx context.Context, ws, flowID string) (*Flow, error)
	FindVersion(ctx context.Context, ws, flowID string, n int64) (*Version, error)
	FindDocument(ctx context.Context, ws, hash string) ([]byte, error)
	PublishFlow(ctx context.Context, ws, flowID string, document []byte, summary, by string) (Version, bool, error)
	SetLiveVersion(ctx context.Context, ws, flowID string, n int64, by string) error
	FindCredential(ctx context.Context, ws, name string) (Credential, error)
	SaveCredential(ctx context.Context, c Credential, secret string) error
	// Together makes the writes that fn makes with its context one transaction.
	Together(ctx context.Context, fn func(ctx context.Context) error) error
	EditStore
}

// Check parses and validates a document and reports all problems at once.
func (l *Library) Check(data []byte) (*Document, error) {
	d, problems := ParseDocument(data)
	if d != nil {
		problems = union(problems, Validate(d, l.Kinds))
	}
	if len(problems) > 0 {
		return nil, &Error{Code: CodeDocumentInvalid, Message: fmt.Sprintf("The flow document has %s:", count(len(problems), "problem")), Fields: problems}
	}
	return d, nil
}

// union adds what further checks found; a place is blamed once.
func union(problems, more []Problem) []Problem {
	if len(problems) == 0 || len(more) == 0 {
		return append(problems, more...)
	}
	blamed := map[string]bool{}
	for _, p := range problems {
		blamed[p.Pointer] = true
	}
	for _, p := range more {
		if !blamed[p.Pointer] {
			problems = append(problems, p)
		}
	}
	return problems
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Import makes a new flow of a document, or with an ID replaces that flow's
// draft. Literal secrets move to encrypted storage first. Nodes without a
// position stay where they were in the draft, or get one.
func (l *Library) Import(ctx context.Context, ws, flowID string, data []byte) (*Flow, error) {
	d, err := l.Check(data)
	if err != nil {
		return nil, err
	}
	f := &Flow{ID: flowID, WorkspaceID: ws}
	if flowID == "" {
		f.ID = l.IDs.New(PrefixFlow)
	} else if f, err = l.Store.FindFlow(ctx, ws, flowID); err != nil {
		return nil, err
	}
	if err := l.keepSecrets(ctx, f, d); err != nil {
		return nil, err
	}
	if was, _ := ParseDocument(f.Draft); was != nil {
		d.keepPlaces(was)
	}
	d.PlaceRest()
	f.Name, f.Description, f.Draft = d.Name, d.Description, d.Canonical()
	if flowID == "" {
		return f, l.Store.CreateFlow(ctx, f)
	}
	return f, l.Store.UpdateDraft(ctx, ws, f.ID, f.Name, f.Description, f.Draft)
}

// keepSecrets stores what LiftSecrets took out, each under a name of its own.
func (l *Library) keepSecrets(ctx context.Context, f *Flow, d *Document) error {
	for _, s := range d.LiftSecrets(l.Kinds) {
		if err := l.keepSecret(ctx, f, credentialName(d.Name, s), s, true); err != nil {
			return err
		}
	}
	return nil
}

// keepSecret stores a lifted secret and names it in the document. With again,
// it replaces what was lifted from the flow under that name before.
func (l *Library) keepSecret(ctx context.Context, f *Flow, base string, s *Lifted, again bool) error {
	name, err := l.freeName(ctx, f, base, again)
	if err != nil {
		return err
	}
	c := Credential{WorkspaceID: f.WorkspaceID, Name: name, Provider: liftedFrom(f), Overlap: SigningOverlap}
	if s.Host != "" {
		c.Hosts = []string{s.Host}
	}
	if err := l.Store.SaveCredential(ctx, c, s.Secret); err != nil {
		return fmt.Errorf("store the secret of %s.%s: %w", s.Node, s.Field, err)
	}
	s.Name(name)
	return nil
}

// liftedPrefix begins the provider of a credential that was typed into a node.
const liftedPrefix = "flow:"

// liftedFrom marks a credential as taken out of a flow's document, so that
// importing the document again replaces it.
func liftedFrom(f *Flow) string { return liftedPrefix + f.ID }

func (l *Library) freeName(ctx context.Context, f *Flow, base string, again bool) (string, error) {
	for i := 1; ; i++ {
		name := base
		if i > 1 {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		c, err := l.Store.FindCredential(ctx, f.WorkspaceID, name)
		if errors.Is(err, &Error{Code: CodeNotFound}) || err == nil && again && c.Provider == liftedFrom(f) {
			return name, nil
		}
		if err != nil {
			return "", fmt.Errorf("look for a free credential name: %w", err)
		}
	}
}

// Publish makes the draft the live version. Nothing changes when it equals the
// newest version.
func (l *Library) Publish(ctx context.Context, ws, flowID, by string) (v Version, created bool, err error) {
	return l.PublishNoted(ctx, ws, flowID, by, "")
}

// PublishNoted is Publish with what a person says about the version. Without a
// note, its summary counts what changed.
func (l *Library) PublishNoted(ctx context.Context, ws, flowID, by, note string) (v Version, created bool, err error) {
	f, err := l.Store.FindFlow(ctx, ws, flowID)
	if err != nil {
		return Version{}, false, err
	}
	d, err := l.Check(f.Draft)
	if err != nil {
		return Version{}, false, err
	}
	if note == "" {
		note = l.summary(ctx, f, d)
	}
	return l.Store.PublishFlow(ctx, ws, flowID, d.Canonical(), note, by)
}

// summary says what changed since the live version.
func (l *Library) summary(ctx context.Context, f *Flow, d *Document) string {
	if f.LiveHash == "" {
		return "First version: " + count(len(d.Nodes), "node") + "."
	}
	data, err := l.Store.FindDocument(ctx, f.WorkspaceID, f.LiveHash)
	if err != nil {
		return ""
	}
	old, _ := ParseDocument(data)
	if old == nil {
		return ""
	}
	return changes(old, d)
}

// changes counts what a newer document adds, removes and changes.
func changes(old, now *Document) string {
	var added, removed, changed int
	for i := range now.Nodes {
		n := &now.Nodes[i]
		if before := old.Node(n.ID); before == nil {
			added++
		} else if string(EncodeJSON(before)) != string(EncodeJSON(n)) {
			changed++
		}
	}
	for i := range old.Nodes {
		if now.Node(old.Nodes[i].ID) == nil {
			removed++
		}
	}
	return fmt.Sprintf("%s added, %d removed, %d changed.", count(added, "node"), removed, changed)
}

// Export gives a document out: the draft, or with a number that version.
func (l *Library) Export(ctx context.Context, ws, flowID string, version int64) ([]byte, error) {
	d, err := l.Document(ctx, ws, flowID, version)
	if err != nil {
		return nil, err
	}
	return d.Encode(), nil
}

// Document reads the draft of a flow, or with a number that version.
func (l *Library) Document(ctx context.Context, ws, flowID string, version int64) (*Document, error) {
	f, err := l.Store.FindFlow(ctx, ws, flowID)
	if err != nil {
		return nil, err
	}
	data := f.Draft
	if version != 0 {
		v, err := l.Store.FindVersion(ctx, ws, flowID, version)
		if err != nil {
			return nil, err
		}
		if data, err = l.Store.FindDocument(ctx, ws, v.DocumentHash); err != nil {
			return nil, err
		}
	}
	d, _ := ParseDocument(data)
	if d == nil {
		return nil, fmt.Errorf("the stored document of %s cannot be read", flowID)
	}
	return d, nil
}
