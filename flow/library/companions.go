package library

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/companion"
)

// Companion is a noun beside a flow or a workspace that files can hold: SLUG.NAME.json beside SLUG.flow.json, or sluice.NAME.json.
// Apply, pull, diff, fmt, dev, validate and prune know only this declaration. Each is in a file of its own, which registers it.
type Companion struct {
	Name        string // of the file
	Schema      string // value of the member "schema"
	Title       string // what the file holds, as in "the triggers of a flow"
	OfWorkspace bool   // it is beside the workspace
	ForEditors  bool   // it has URLs that only those see who may change it
	// Parse reads a file, strictly and without a store. check returns an error for a wrong expression over names. Pointers of
	// problems start at the file.
	Parse func(o *flow.Object, check func(source string, names ...string) error) (content any, problems []flow.Problem)
	// Write returns the canonical file of a content.
	Write func(content any) *flow.Object
	// Read returns the content that is stored. In a transaction it sees what that wrote.
	Read func(ctx context.Context, s *Companions, of *CompanionOwner) (content any, err error)
	// Plan returns the changes that make the stored content equal to that of the file, and the problems of the file that only a store
	// can tell. Entries that the file leaves out stay, unless the request prunes them.
	Plan func(ctx context.Context, s *Companions, r *CompanionRequest, was, wanted any) ([]CompanionChange, []flow.Problem, error)
	// Apply makes one of these changes, with its entry in the audit log, in the transaction of ctx.
	Apply func(ctx context.Context, s *Companions, r *CompanionRequest, c *CompanionChange) error
	// MayChange returns an error for a key that may not change the noun.
	MayChange func(caller *flow.Key) error
	// MarkApplied records where entries that did not change were applied from, in the transaction of ctx.
	MarkApplied func(ctx context.Context, s *Companions, r *CompanionRequest, wanted any) error
}

// CompanionOwner is what a companion is beside.
type CompanionOwner struct {
	WorkspaceID flow.WorkspaceID
	Flow        *flow.Flow // nil for the workspace
}

// id returns the ID of a companion of the owner.
func (o *CompanionOwner) id(c *Companion) companion.ID {
	if o.Flow == nil {
		return companion.ID{WorkspaceID: o.WorkspaceID, Owner: string(o.WorkspaceID), Name: c.Name}
	}
	return companion.ID{WorkspaceID: o.WorkspaceID, Owner: string(o.Flow.ID), Name: c.Name}
}

// companions are all companions by name.
var companions []*Companion

// RegisterCompanion adds a companion.
func RegisterCompanion(c *Companion) *Companion {
	if FindCompanion(c.Name) != nil || c.Name == "flow" {
		panic("library: two companions with the name " + c.Name)
	}
	companions = append(companions, c)
	slices.SortFunc(companions, func(a, b *Companion) int { return strings.Compare(a.Name, b.Name) })
	return c
}

// ListCompanions returns all companions by name.
func ListCompanions() []*Companion { return companions }

// FindCompanion returns the companion with a name, or nil.
func FindCompanion(name string) *Companion {
	i := slices.IndexFunc(companions, func(c *Companion) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return companions[i]
}

// CompanionStore keeps the revisions of companions, and what they hold.
type CompanionStore interface {
	companionRows
	FindCompanion(ctx context.Context, id companion.ID) (companion.State, error)
	ListCompanions(ctx context.Context, ws flow.WorkspaceID) ([]companion.State, error)
	FindCompanionBody(ctx context.Context, id companion.ID, rev int64) (*companion.Body, error)
	ListCompanionBodies(ctx context.Context, id companion.ID) ([]companion.Body, error)
	ListFlowHeads(ctx context.Context, ws flow.WorkspaceID) ([]flow.Flow, error)
	// Stores of the nouns.
	TriggerStore
	HookStore
	AlarmStore
	CaseStore
	KnowledgeStore
	SetTriggerSource(ctx context.Context, ws flow.WorkspaceID, id, source string) error
}

// companionRows is the part of a store that counts the revisions of companions.
type companionRows interface {
	Recorder
	LockCompanion(ctx context.Context, id companion.ID) (companion.State, error)
	SaveCompanion(ctx context.Context, c companion.State, body *companion.Body) error
}

// Companions reads and changes the files beside flows.
type Companions struct {
	Store CompanionStore
	IDs   flow.IDs
	Now   func() time.Time
	// CheckExpression returns an error for a wrong expression over names.
	CheckExpression func(source string, names ...string) error
	Mails           bool // the operator set a mail server
	Library         *Library
}

// CompanionRequest asks to make a companion equal to a file.
type CompanionRequest struct {
	Owner  CompanionOwner
	Source string // where the file comes from; empty for a change through the API
	Apply  bool   // it is an apply: it owns what it creates
	// Prune removes entries that the file leaves out: of an apply those that were last applied from Source, otherwise all.
	Prune  bool
	By     flow.Actor
	Caller *flow.Key // the key in the request, or nil
}

// prunes reports whether an entry that was applied from a source and that the file leaves out is removed.
func (r *CompanionRequest) prunes(source string) bool {
	return r.Prune && (!r.Apply || source == r.Source)
}

// CompanionChange is a change of one entry.
type CompanionChange struct {
	Change string // AppliedCreated, AppliedChanged or companionRemoved
	Entry  string // name
	Text   string // sentence for people
	Value  any    // what Apply needs
}

// companionRemoved is the change of an entry that is removed.
const companionRemoved = "removed"

// AppliedCompanion is the result of an apply for one file.
type AppliedCompanion struct {
	Name    string
	Slug    string // of the flow; empty for the workspace
	Change  string // AppliedCreated, AppliedChanged or AppliedUnchanged
	Rev     int64
	Changes []CompanionChange
}

// companionPlan is what a request does to a companion.
type companionPlan struct {
	AppliedCompanion
	companion *Companion
	state     companion.State
	request   CompanionRequest
	wanted    any
}

// plan compares a file with what is stored.
func (s *Companions) plan(ctx context.Context, c *Companion, r CompanionRequest, wanted any) (*companionPlan, []flow.Problem, error) {
	p := &companionPlan{companion: c, request: r, wanted: wanted, AppliedCompanion: AppliedCompanion{Name: c.Name, Change: AppliedUnchanged}}
	if r.Owner.Flow != nil {
		p.Slug = r.Owner.Flow.Slug
	}
	var err error
	if p.state, err = s.Store.FindCompanion(ctx, r.Owner.id(c)); err != nil {
		return nil, nil, err
	}
	was, err := c.Read(ctx, s, &r.Owner)
	if err != nil {
		return nil, nil, err
	}
	changes, problems, err := c.Plan(ctx, s, &p.request, was, wanted)
	if err != nil || len(problems) > 0 {
		return nil, problems, err
	}
	p.Rev = p.state.Rev
	if p.Changes = changes; len(changes) > 0 {
		p.Rev++
		if p.Change = AppliedChanged; p.state.Rev == 0 {
			p.Change = AppliedCreated
		}
		err = c.MayChange(r.Caller)
	}
	return p, nil, err
}

// apply makes the changes of a plan in the transaction of ctx.
func (s *Companions) apply(ctx context.Context, p *companionPlan) error {
	if len(p.Changes) == 0 && !p.request.Apply {
		return nil
	}
	state, err := s.Store.LockCompanion(ctx, p.state.ID)
	if err != nil {
		return err
	}
	if state.Rev != p.state.Rev {
		return flow.Errorf(flow.CodeDraftChanged, "The %s of %q were changed during the apply. Apply again.", p.Name, p.Slug)
	}
	if p.request.Apply {
		state.AppliedRev, state.Source = p.Rev, p.request.Source
	}
	held := context.WithValue(ctx, heldCompanion{}, p.Rev)
	for i := range p.Changes {
		if err := p.companion.Apply(held, s, &p.request, &p.Changes[i]); err != nil {
			return err
		}
	}
	if p.request.Apply && p.companion.MarkApplied != nil {
		if err := p.companion.MarkApplied(ctx, s, &p.request, p.wanted); err != nil {
			return err
		}
	}
	if len(p.Changes) == 0 {
		return s.Store.SaveCompanion(ctx, state, nil)
	}
	content, err := p.companion.Read(ctx, s, &p.request.Owner)
	if err != nil {
		return err
	}
	return saveRevision(ctx, s.Store, p.companion, state, content, p.request.By)
}

// heldCompanion is the context key for the revision of a companion whose changes an apply saves together.
type heldCompanion struct{}

// saveRevision stores the content of a companion as its next revision.
func saveRevision(ctx context.Context, s companionRows, c *Companion, state companion.State, content any, by flow.Actor) error {
	data := c.encode(content)
	state.Rev++
	state.Hash = flow.Hash(data)
	return s.SaveCompanion(ctx, state, &companion.Body{Rev: state.Rev, Content: data, By: by.ID})
}

// recordCompanion is record for an act that changes the content of a companion. The entry in the audit log names the revision.
func recordCompanion(ctx context.Context, s companionRows, c *Companion, owner CompanionOwner, by flow.Actor, e *flow.AuditEntry, read func(ctx context.Context) (any, error), act func(ctx context.Context) error) error {
	return record(ctx, s, by, e, func(ctx context.Context) error {
		if rev, held := ctx.Value(heldCompanion{}).(int64); held {
			e.Detail += fmt.Sprintf(", revision %d", rev)
			return act(ctx)
		}
		state, err := s.LockCompanion(ctx, owner.id(c))
		if err == nil {
			err = act(ctx)
		}
		if err != nil {
			return err
		}
		content, err := read(ctx)
		if err != nil {
			return err
		}
		e.Detail += fmt.Sprintf(", revision %d", state.Rev+1)
		return saveRevision(ctx, s, c, state, content, by)
	})
}

// File returns the file of a companion with its revision. rev is 0 for the present one.
func (s *Companions) File(ctx context.Context, c *Companion, owner CompanionOwner, rev int64) ([]byte, companion.State, error) {
	state, err := s.Store.FindCompanion(ctx, owner.id(c))
	if err != nil {
		return nil, state, err
	}
	if rev != 0 {
		body, err := s.Store.FindCompanionBody(ctx, owner.id(c), rev)
		if err != nil {
			return nil, state, err
		}
		return body.Content, companion.State{ID: state.ID, Rev: rev, Hash: body.Hash}, nil
	}
	content, err := c.Read(ctx, s, &owner)
	if err != nil {
		return nil, state, err
	}
	return c.encode(content), state, nil
}

// Replace makes a companion equal to a file that was made of a revision.
func (s *Companions) Replace(ctx context.Context, c *Companion, r CompanionRequest, rev int64, v any) (*AppliedCompanion, error) {
	of, o, problem := companionOfSchema(v)
	if problem == nil && of != c {
		problem = &flow.Problem{Pointer: "/schema", Code: "invalid", Detail: "must be " + c.Schema}
	}
	if problem != nil {
		return nil, companionInvalid([]flow.Problem{*problem})
	}
	wanted, problems := c.Parse(o, s.CheckExpression)
	if len(problems) > 0 {
		return nil, companionInvalid(problems)
	}
	p, problems, err := s.plan(ctx, c, r, wanted)
	if err == nil && len(problems) > 0 {
		err = companionInvalid(problems)
	}
	if err != nil {
		return nil, err
	}
	stale := flow.Errorf(flow.CodePreconditionFailed, "The file has changed since you read it. Read it again, merge your changes, and send it with the new ETag.")
	if p.state.Rev != rev {
		return nil, stale
	}
	err = s.Store.InTransaction(ctx, func(ctx context.Context) error { return s.apply(ctx, p) })
	if e := flow.AsError(err); err != nil && e.Code == flow.CodeDraftChanged {
		err = stale
	}
	return &p.AppliedCompanion, err
}

// companionInvalid returns the error for problems of files.
func companionInvalid(problems []flow.Problem) error {
	return &flow.Error{Code: flow.CodeDocumentInvalid, Message: fmt.Sprintf("The file has %s; see errors. Nothing was changed.", flow.Count(len(problems), "problem")), Fields: problems}
}

// ListedCompanion is a companion with what it is beside.
type ListedCompanion struct {
	Companion *Companion
	Flow      *flow.Flow // its head; nil for the workspace
	Rev       int64
}

// List returns the companions of a workspace that ever had content, without those of archived flows.
func (s *Companions) List(ctx context.Context, ws flow.WorkspaceID) ([]ListedCompanion, error) {
	states, err := s.Store.ListCompanions(ctx, ws)
	if err != nil || len(states) == 0 {
		return nil, err
	}
	heads, err := s.Store.ListFlowHeads(ctx, ws)
	if err != nil {
		return nil, err
	}
	flows := map[string]*flow.Flow{}
	for i := range heads {
		if heads[i].ArchivedAt.IsZero() {
			flows[string(heads[i].ID)] = &heads[i]
		}
	}
	var list []ListedCompanion
	for i := range states {
		c, f := FindCompanion(states[i].Name), flows[states[i].Owner]
		if c != nil && (f != nil || states[i].Owner == string(ws)) {
			list = append(list, ListedCompanion{c, f, states[i].Rev})
		}
	}
	return list, nil
}

// Revisions returns the revisions of a companion that are kept, newest first.
func (s *Companions) Revisions(ctx context.Context, c *Companion, owner CompanionOwner) ([]companion.Body, error) {
	return s.Store.ListCompanionBodies(ctx, owner.id(c))
}
