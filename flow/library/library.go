package library

import (
	"context"
	"fmt"
	"time"

	"sluice/flow"
	"sluice/flow/document"
)

// Library imports, publishes and exports documents. It is safe for concurrent use.
type Library struct {
	Store LibraryStore
	Kinds *flow.Registry
	IDs   flow.IDs
	// RefuseUnbound rejects publishing flows that use a credential without hosts.
	RefuseUnbound bool
	// Companions are the files beside flows. Without them, an apply has none.
	Companions *Companions
	// Tests checks the gates of flows before publishing. Without it, no flow has a gate.
	Tests  *Tests
	Rights RightsStore // nil lets everybody publish tools that do not ask
	Reach  ReachStore  // nil records no reach of tools, so none gets wider
	// CheckArguments returns what is wrong with the arguments of a call, by the JSON Schema of its tool. Nil refuses
	// changes of arguments.
	CheckArguments func(ctx context.Context, schema any, arguments *flow.Object) (wrong string, err error)
}

// LibraryStore is the part of the store that a Library needs.
type LibraryStore interface {
	CreateFlow(ctx context.Context, f *flow.Flow) error
	UpdateDraft(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, name, description string, draft []byte) error
	// ReplaceDraft is UpdateDraft if the draft is at a revision; otherwise it returns
	// CodeEditsMissed.
	ReplaceDraft(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, base int64, name, description string, draft []byte) error
	FindFlow(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) (*flow.Flow, error)
	// FindFlowID returns the ID of the flow with a slug, current or former.
	FindFlowID(ctx context.Context, ws flow.WorkspaceID, slug string) (flow.FlowID, error)
	// ReleaseAlias makes a former slug of a flow available. It returns CodeNotFound if
	// the flow does not have it, or has it as its current slug.
	ReleaseAlias(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, slug string) error
	// ListAliasCallers lists the valid keys that used a former slug on the day of since
	// or later, those with most requests first.
	ListAliasCallers(ctx context.Context, ws flow.WorkspaceID, slug string, since time.Time) ([]flow.Caller, error)
	FindVersion(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, n int64) (*flow.Version, error)
	FindDocument(ctx context.Context, ws flow.WorkspaceID, hash string) ([]byte, error)
	PublishFlow(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, document []byte, summary, by string) (flow.Version, bool, error)
	SetLiveVersion(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, n int64, by string) error
	RenameSlug(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, slug string, takeAlias bool) error
	MarkApplied(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, source string) error
	ArchiveFlow(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) error
	RestoreFlow(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) error
	ListFlowHeads(ctx context.Context, ws flow.WorkspaceID) ([]flow.Flow, error)
	ListVersions(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) ([]flow.Version, error)
	ListCallers(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, since time.Time) ([]flow.Caller, error)
	DecideApproval(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, path string, d flow.Decision,
		check func(q *flow.Question, started flow.Starter) (flow.Decision, error)) (*flow.Approval, error)
	AddAudit(ctx context.Context, e flow.AuditEntry) error
	FindCredential(ctx context.Context, ws flow.WorkspaceID, name string) (flow.Credential, error)
	SaveCredential(ctx context.Context, c flow.Credential, secret string) error
	// InTransaction runs the writes that fn makes with its context in one
	// transaction.
	InTransaction(ctx context.Context, fn func(ctx context.Context) error) error
	EditStore
}

// Check parses and validates a document and reports all problems at once.
func (l *Library) Check(data []byte) (*flow.Document, error) {
	d, problems := document.ParseDocument(data)
	if d != nil {
		problems = flow.MergeProblems(problems, document.Validate(d, l.Kinds))
	}
	if err := documentInvalid(problems); err != nil {
		return nil, err
	}
	return d, nil
}

// Import creates a flow from a document or, if flowID is set, replaces the draft of that flow.
// Literal secrets move to encrypted storage first. Nodes without a position keep theirs from the
// draft, or get a new one.
func (l *Library) Import(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, data []byte) (*flow.Flow, error) {
	d, problems := document.ParseDocument(data)
	if d == nil {
		return nil, documentInvalid(problems)
	}
	f, err := &flow.Flow{ID: flowID, WorkspaceID: ws}, error(nil)
	if flowID == "" {
		f.ID = l.IDs.NewFlow()
	} else if f, err = l.Store.FindFlow(ctx, ws, flowID); err != nil {
		return nil, err
	}
	if flowID != "" && d.Slug != "" && d.Slug != f.Slug {
		return nil, documentInvalid([]flow.Problem{otherSlug(d.Slug, f.Slug)})
	}
	if err := l.FillContracts(ctx, ws, d); err != nil {
		return nil, err
	}
	keep := ExtractSecrets(ctx, l, f, d)
	cycles, err := cycleProblems(ctx, l, f, d) // a draft may run flows that do not exist yet
	if err != nil {
		return nil, err
	}
	if err := documentInvalid(flow.MergeProblems(flow.MergeProblems(problems, document.Validate(d, l.Kinds)), cycles)); err != nil {
		return nil, err
	}
	if err := keep(ctx); err != nil {
		return nil, err
	}
	if was, _ := document.ParseDocument(f.Draft); was != nil {
		document.KeepPlaces(d, was)
	}
	document.PlaceRest(d, l.Kinds)
	if flowID == "" && d.Slug != "" {
		if f.Slug, err = l.freeSlug(ctx, ws, d.Slug); err != nil {
			return nil, err
		}
	}
	d.Slug = ""
	f.Name, f.Description, f.Draft = d.Name, d.Description, d.Compact()
	if flowID == "" {
		return f, l.Store.CreateFlow(ctx, f)
	}
	return f, l.Store.UpdateDraft(ctx, ws, f.ID, f.Name, f.Description, f.Draft)
}

// ImportNew is Import of a new flow for a user.
func (l *Library) ImportNew(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, data []byte) (*flow.Flow, error) {
	return createAs(ctx, l, by, "flow.import", func(ctx context.Context) (*flow.Flow, error) { return l.Import(ctx, ws, "", data) })
}

// ExtractSecrets replaces the literal secrets of a document for a flow by references to credentials,
// and returns a function that stores these.
func ExtractSecrets(ctx context.Context, l *Library, f *flow.Flow, d *flow.Document) (keep func(ctx context.Context) error) {
	names := &secretNamer{library: l, flow: f, title: d.Name, again: true}
	extracted := document.ExtractSecrets(d, l.Kinds, names.of(ctx))
	return func(ctx context.Context) error { return names.keep(ctx, extracted) }
}

// otherSlug is the problem of a document with another slug than the flow whose draft it replaces.
func otherSlug(slug, of string) flow.Problem {
	return flow.Problem{Pointer: "/slug", Code: "invalid", Detail: fmt.Sprintf("the document has the slug %q, but the flow has %q; remove the slug from the document, or rename the flow", slug, of)}
}

// freeSlug returns the first of slug, slug-2, slug-3 … that no flow has.
func (l *Library) freeSlug(ctx context.Context, ws flow.WorkspaceID, slug string) (string, error) {
	for n := 1; ; n++ {
		free := document.NumberedSlug(slug, n)
		_, err := l.Store.FindFlowID(ctx, ws, free)
		if flow.IsNotFound(err) && document.ValidSlug(free) {
			return free, nil
		}
		if err != nil {
			return "", fmt.Errorf("look for a free slug: %w", err)
		}
	}
}

// keepSecrets extracts the literal secrets of a document and stores each as a credential. It
// replaces a credential of the same name that was extracted from the flow before.
func (l *Library) keepSecrets(ctx context.Context, f *flow.Flow, d *flow.Document) error {
	names := &secretNamer{library: l, flow: f, title: d.Name, again: true}
	return names.keep(ctx, document.ExtractSecrets(d, l.Kinds, names.of(ctx)))
}

// secretNamer names and stores the credentials that secrets of a flow move to.
type secretNamer struct {
	library *Library
	flow    *flow.Flow
	title   string // of the flow
	again   bool   // reuse the name of a credential that was extracted from this flow
	names   map[document.ExtractedSecret]string
	taken   map[string]bool
	err     error // first error while choosing a name
}

// of returns the name function of an extraction. Equal secrets of a field share a name.
func (s *secretNamer) of(ctx context.Context) func(l *document.ExtractedSecret) string {
	s.names, s.taken = map[document.ExtractedSecret]string{}, map[string]bool{}
	return func(l *document.ExtractedSecret) string {
		key := *l
		key.Host = ""
		if name, known := s.names[key]; known || s.err != nil {
			return name
		}
		name, err := s.free(ctx, document.CredentialName(s.title, l))
		s.names[key], s.taken[name], s.err = name, true, err
		return name
	}
}

// keep stores the secrets, one per name. It binds each to the host that its node sends it to, if
// that host is fixed.
func (s *secretNamer) keep(ctx context.Context, list []*document.ExtractedSecret) error {
	kept := map[string]bool{}
	for _, l := range list {
		key := *l
		key.Host = ""
		name := s.names[key]
		if s.err != nil || kept[name] {
			continue
		}
		kept[name] = true
		c := flow.Credential{WorkspaceID: s.flow.WorkspaceID, Name: name, Provider: extractedFrom(s.flow), Overlap: flow.SigningOverlap}
		if l.Host != "" {
			c.Hosts = []string{l.Host}
		}
		if err := s.library.Store.SaveCredential(ctx, c, l.Secret); err != nil {
			return fmt.Errorf("store the secret of %s.%s: %w", l.Node, l.Field, err)
		}
	}
	return s.err
}

// extractedFrom returns the provider that marks a credential as extracted from a flow, so that
// importing the document again replaces it.
func extractedFrom(f *flow.Flow) string { return flow.ExtractedPrefix + string(f.ID) }

// free returns an unused credential name, derived from base.
func (s *secretNamer) free(ctx context.Context, base string) (string, error) {
	for i := 1; ; i++ {
		name := base
		if i > 1 {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		if s.taken[name] {
			continue
		}
		c, err := s.library.Store.FindCredential(ctx, s.flow.WorkspaceID, name)
		if flow.IsNotFound(err) || err == nil && s.again && c.Provider == extractedFrom(s.flow) {
			return name, nil
		}
		if err != nil {
			return "", fmt.Errorf("look for a free credential name: %w", err)
		}
	}
}

// Publish makes the draft the live version. It creates no version if the draft equals the newest
// one.
func (l *Library) Publish(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, by string) (v flow.Version, created bool, err error) {
	f, err := l.Store.FindFlow(ctx, ws, flowID)
	if err != nil {
		return flow.Version{}, false, err
	}
	if f, err = l.extractDraftSecrets(ctx, f, by); err != nil {
		return flow.Version{}, false, err
	}
	if _, err := gateDraft(ctx, l, f, flow.Actor{ID: by}); err != nil {
		return flow.Version{}, false, err
	}
	return l.publish(ctx, f, flow.Actor{ID: by}, "")
}

// gateDraft is checkGate for the draft of a flow.
func gateDraft(ctx context.Context, l *Library, f *flow.Flow, by flow.Actor) (*passed, error) {
	if l.Tests == nil {
		return nil, nil
	}
	d, err := l.CheckDraft(ctx, f)
	if err != nil {
		return nil, err
	}
	return checkGate(ctx, l, f, d, by, nil, nil)
}

// PublishDraft publishes the draft of f as the caller read it, so that the reviewed draft goes
// live, even if it is edited concurrently. Without a note, the summary of the version counts the
// changes. The version and its audit entry are written in one transaction.
func (l *Library) PublishDraft(ctx context.Context, f *flow.Flow, by flow.Actor, note string) (v flow.Version, created bool, err error) {
	gate, err := gateDraft(ctx, l, f, by)
	if err != nil {
		return v, false, err
	}
	return publishDraft(ctx, l, f, by, note, gate)
}

// publishDraft is PublishDraft after the gate of the flow.
func publishDraft(ctx context.Context, l *Library, f *flow.Flow, by flow.Actor, note string, gate *passed) (v flow.Version, created bool, err error) {
	rev := f.Rev
	if f, err = l.extractDraftSecrets(ctx, f, by.ID); err != nil {
		return v, false, err
	}
	if f.Rev > rev+1 { // it was edited concurrently
		return v, false, errDraftOutdated
	}
	widened, err := WidenedTools(ctx, l, f.WorkspaceID, f.ID, f.LiveVersion)
	if err != nil {
		return v, false, err
	}
	err = l.Store.InTransaction(ctx, func(ctx context.Context) (err error) {
		if err := gate.hold(ctx, l); err != nil {
			return err
		}
		if v, created, err = l.publish(ctx, f, by, note); err != nil {
			return err
		}
		if v.Number == f.LiveVersion { // it was live before
			if len(widened) == 0 {
				return nil
			}
			return l.audit(ctx, f, by, "flow.publish", fmt.Sprintf("v%d: accepted what its tools can do now", v.Number))
		}
		return l.audit(ctx, f, by, "flow.publish", fmt.Sprintf("v%d: %s", v.Number, v.Summary))
	})
	return v, created, err
}

// publish publishes the draft of f, which must not contain literal secrets.
func (l *Library) publish(ctx context.Context, f *flow.Flow, by flow.Actor, note string) (v flow.Version, created bool, err error) {
	d, err := l.CheckDraft(ctx, f)
	if err != nil {
		return flow.Version{}, false, err
	}
	loosened, err := checkLoosened(ctx, l, f, d, by.ID)
	if err != nil {
		return flow.Version{}, false, err
	}
	if note == "" {
		note = l.summary(ctx, f, d)
	}
	if v, created, err = l.Store.PublishFlow(ctx, f.WorkspaceID, f.ID, d.Compact(), note, by.ID); err != nil {
		return v, created, err
	}
	if err := recordReach(ctx, l, f, v, d); err != nil {
		return v, created, err
	}
	return v, created, recordLoosened(ctx, l, f, by, loosened)
}

// summary returns a summary of the changes since the live version.
func (l *Library) summary(ctx context.Context, f *flow.Flow, d *flow.Document) string {
	if f.LiveHash == "" {
		return "First version: " + flow.Count(len(d.Nodes), "node") + "."
	}
	data, err := l.Store.FindDocument(ctx, f.WorkspaceID, f.LiveHash)
	if err != nil {
		return ""
	}
	old, _ := document.ParseDocument(data)
	if old == nil {
		return ""
	}
	return changes(old, d)
}

// changes counts the added, removed and changed nodes of a newer document.
func changes(old, now *flow.Document) string {
	var added, removed, changed int
	for i := range now.Nodes {
		n := &now.Nodes[i]
		if before := old.Node(n.ID); before == nil {
			added++
		} else if !before.Equal(n) {
			changed++
		}
	}
	for i := range old.Nodes {
		if now.Node(old.Nodes[i].ID) == nil {
			removed++
		}
	}
	return fmt.Sprintf("%s added, %d removed, %d changed.", flow.Count(added, "node"), removed, changed)
}

// Export returns the document of a version, or of the draft if version is 0.
func (l *Library) Export(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, version int64) ([]byte, error) {
	d, err := l.Document(ctx, ws, flowID, version)
	if err != nil {
		return nil, err
	}
	f, err := l.Store.FindFlow(ctx, ws, flowID)
	if err != nil {
		return nil, err
	}
	d.Slug = f.Slug
	return d.Encode(), nil
}

// Document parses the document of a version, or of the draft if version is 0.
func (l *Library) Document(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, version int64) (*flow.Document, error) {
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
	d, _ := document.ParseDocument(data)
	if d == nil {
		return nil, fmt.Errorf("the stored document of %s cannot be read", flowID)
	}
	return d, nil
}
