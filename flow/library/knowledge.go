package library

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/flow"
	"sluice/flow/credentialuse"
	"sluice/flow/knowledge"
	"sluice/flow/wording"
)

// KnowledgeStore stores knowledge bases, and reads what uses them.
type KnowledgeStore interface {
	companionRows
	credentialuse.FlowReader
	featureStore
	CreateBase(ctx context.Context, b *knowledge.Base) error
	FindBase(ctx context.Context, ws flow.WorkspaceID, ref string) (*knowledge.Base, error)
	ListBases(ctx context.Context, ws flow.WorkspaceID) ([]knowledge.Base, error)
	CountBaseText(ctx context.Context, b *knowledge.Base) (int64, error)
	UpdateBase(ctx context.Context, b *knowledge.Base) error
	DeleteBase(ctx context.Context, ws flow.WorkspaceID, id string) error
	SearchBase(ctx context.Context, b *knowledge.Base, q *knowledge.Query) (*knowledge.Found, error)
	RemoveBaseDocuments(ctx context.Context, b *knowledge.Base, part string, sources []string) ([]knowledge.Document, error)
	SaveFile(ctx context.Context, f flow.NewFile, content io.Reader) (*flow.File, error)
	FindRun(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, id flow.RunID) (*flow.Run, error)
	EraseRun(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID, code flow.Code) error
}

// Knowledge changes and searches knowledge bases.
type Knowledge struct {
	Store KnowledgeStore
	Start func(ctx context.Context, s flow.Start) (flow.Started, error)
	// Embed embeds a text with the built-in model.
	Embed func(ctx context.Context, ws flow.WorkspaceID, text string) ([]float32, error)
	// Filter compiles a condition over metadata and source; nil for an empty one.
	Filter func(ctx context.Context, where string) (func(source string, metadata *flow.Object) (bool, error), error)
	// Charge is that of the kind embed, and Prices has what models cost.
	Charge func(config map[string]any) (c flow.Charge, paid bool)
	Prices flow.PriceStore
}

// Create adds a base. Missing settings get their defaults, and a missing name is the slug.
func (s *Knowledge) Create(ctx context.Context, by flow.Actor, caller *flow.Key, b *knowledge.Base) error {
	can, err := s.Store.AllCan(ctx, flow.FeatureKnowledge)
	if err != nil {
		return err
	}
	if !can {
		return flow.Errorf(flow.CodeUpgradeInProgress, "An instance of an earlier release is running, which does not know knowledge bases. Try again when all instances have been upgraded.")
	}
	b.Settings.Defaults()
	if b.Name == "" {
		b.Name = b.Slug
	}
	b.MadeBy = by.ID
	if err := b.Check(); err != nil {
		return err
	}
	if err := mayExpose(caller, &knowledge.Settings{}, &b.Settings); err != nil {
		return err
	}
	e := entry(b.WorkspaceID, "knowledge.create", "", b.Slug+exposed(&knowledge.Settings{}, &b.Settings))
	return s.record(ctx, by, b, e, func(ctx context.Context) error {
		err := s.Store.CreateBase(ctx, b)
		e.Target = b.ID
		return err
	})
}

// record is record for an act that changes what the file of bases holds.
func (s *Knowledge) record(ctx context.Context, by flow.Actor, b *knowledge.Base, e *flow.AuditEntry, act func(ctx context.Context) error) error {
	read := func(ctx context.Context) (any, error) { return readBases(ctx, s.Store, b.WorkspaceID) }
	return recordCompanion(ctx, s.Store, FindCompanion(knowledgeFile), CompanionOwner{WorkspaceID: b.WorkspaceID}, by, e, read, act)
}

// mayExpose returns an error for a key that may not let assistants search what a change exposes. For people, caller is nil and the pages decide.
func mayExpose(caller *flow.Key, was, now *knowledge.Settings) error {
	switch {
	case caller == nil || exposed(was, now) == "" || !now.Expose:
		return nil
	case !caller.Has(flow.ScopeAdmin):
		return flow.Errorf(flow.CodeScopeMissing, "Exposing a knowledge base to assistants needs the scope admin.")
	case mayChangeTriggers(caller) != nil:
		return flow.Errorf(flow.CodeExceedsKey, "The key in the request, or a key that made it, has limits or expires, so it may not expose a knowledge base: keys without its limits could search it. Use a key without limits.")
	}
	return nil
}

// exposed returns what a change lets assistants search, for the audit log, or "" if that stays.
func exposed(was, now *knowledge.Settings) string {
	switch {
	case was.Expose == now.Expose && was.ExposePart == now.ExposePart:
		return ""
	case !now.Expose:
		return ", no longer exposed"
	case now.ExposePart != "":
		return fmt.Sprintf(", exposed: part %q", now.ExposePart)
	}
	return ", exposed"
}

// Change stores changed settings of a base. was is the base before.
func (s *Knowledge) Change(ctx context.Context, by flow.Actor, caller *flow.Key, was, b *knowledge.Base) error {
	if err := b.Check(); err != nil {
		return err
	}
	if err := mayExpose(caller, &was.Settings, &b.Settings); err != nil {
		return err
	}
	if !was.Settings.SameIndex(&b.Settings) && was.Documents > 0 {
		return flow.Errorf(flow.CodeInputInvalid, "The model and the size of passages cannot be changed while the base has documents. Rebuild the base with another model; for another size, make another base.")
	}
	if !was.Settings.SameIndex(&b.Settings) {
		b.Settings.Length = 0
	}
	if string(flow.EncodeJSON(was.Settings)) == string(flow.EncodeJSON(b.Settings)) && was.Name == b.Name && was.Source == b.Source {
		return nil
	}
	e := entry(b.WorkspaceID, "knowledge.change", b.ID, b.Slug+exposed(&was.Settings, &b.Settings))
	return s.record(ctx, by, b, e, func(ctx context.Context) error { return s.Store.UpdateBase(ctx, b) })
}

// Users returns the names of the flows whose live version names a base.
func (s *Knowledge) Users(ctx context.Context, b *knowledge.Base) (names []string, err error) {
	err = credentialuse.EachDocument(ctx, s.Store, b.WorkspaceID, func(f *flow.Flow, d *flow.Document, live bool) {
		if live && slices.ContainsFunc(d.Nodes, func(n flow.Node) bool { return b.NamedBy(&n) }) && !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	})
	return names, err
}

// UsingFlows returns the flows that are not archived whose draft or live version names a base.
func (s *Knowledge) UsingFlows(ctx context.Context, b *knowledge.Base) (list []flow.Flow, err error) {
	err = credentialuse.EachDocument(ctx, s.Store, b.WorkspaceID, func(f *flow.Flow, d *flow.Document, _ bool) {
		if slices.ContainsFunc(d.Nodes, func(n flow.Node) bool { return b.NamedBy(&n) }) && !slices.ContainsFunc(list, func(o flow.Flow) bool { return o.ID == f.ID }) {
			list = append(list, *f)
		}
	})
	return list, err
}

// Delete deletes a base with everything in it. Unless force is set, no live version may name it.
func (s *Knowledge) Delete(ctx context.Context, by flow.Actor, b *knowledge.Base, force bool) error {
	if !force {
		names, err := s.Users(ctx, b)
		if err != nil {
			return err
		}
		if len(names) > 0 {
			return flow.Errorf(flow.CodeInUse, "The knowledge base %s is used by live versions of: %s. Change these flows first.", b.Slug, wording.List(names, 20))
		}
	}
	return s.record(ctx, by, b, entry(b.WorkspaceID, "knowledge.delete", b.ID, b.Slug), func(ctx context.Context) error { return s.Store.DeleteBase(ctx, b.WorkspaceID, b.ID) })
}

// Add starts the run that indexes a document. It belongs to the hidden flow of the base, and to the caller.
func (s *Knowledge) Add(ctx context.Context, by flow.Actor, caller *flow.Key, userID string, b *knowledge.Base, a *knowledge.Addition) (flow.Started, error) {
	a.Source, a.Part = strings.TrimSpace(a.Source), strings.TrimSpace(a.Part) // as in flows, which could not name them otherwise
	if err := a.Check(b); err != nil {
		return flow.Started{}, err
	}
	var file any = map[string]any{"file": a.File}
	switch {
	case a.URL != "":
		file = map[string]any{"url": a.URL}
		if a.Source == "" {
			a.Source = a.URL
		}
		if a.Link == "" {
			a.Link = a.URL
		}
	case a.Text != "":
		stored := flow.NewFile{WorkspaceID: b.WorkspaceID, Name: path.Base(a.Source) + ".md", MIME: "text/markdown", Refusable: true}
		if caller != nil {
			stored.KeyID = caller.ID
		}
		f, err := s.Store.SaveFile(ctx, stored, strings.NewReader(a.Text))
		if err != nil {
			return flow.Started{}, err
		}
		file = map[string]any{"file": f.ID}
	}
	spec, err := flow.DecodeJSON(flow.EncodeJSON(a.Spec))
	if err != nil {
		return flow.Started{}, err
	}
	given := &flow.Object{}
	given.Set(knowledge.IndexFile, file)
	given.Set(knowledge.IndexSpec, spec)
	started, err := s.Start(ctx, flow.Start{
		WorkspaceID: b.WorkspaceID, FlowID: b.FlowID, Key: caller, UserID: userID, Trigger: flow.TriggerIndex, Given: given, Work: &flow.WorkStart{Document: knowledge.IndexDocument(b)},
	})
	if err != nil {
		return started, err
	}
	source := a.Source
	if source == "" {
		source = a.File
	}
	return started, record(ctx, s.Store, by, entry(b.WorkspaceID, "knowledge.add", b.ID, b.Slug+": "+source), nothing)
}

// Remove removes the document with a source, and erases the run that indexed it, which has its content, too. It returns nil for an unknown source.
func (s *Knowledge) Remove(ctx context.Context, by flow.Actor, b *knowledge.Base, part, source string) (removed *knowledge.Document, err error) {
	e := entry(b.WorkspaceID, "knowledge.remove", b.ID, b.Slug+": "+source)
	err = record(ctx, s.Store, by, e, func(ctx context.Context) error {
		list, err := s.Store.RemoveBaseDocuments(ctx, b, part, []string{source})
		if err == nil && len(list) == 0 {
			e.Action = "" // nothing to record
		} else if err == nil {
			removed = &list[0]
			err = s.eraseIndexing(ctx, b, removed.RunID)
		}
		return err
	})
	return removed, err
}

// eraseIndexing erases a run that indexed a document. Runs that another run started are erased with that one.
func (s *Knowledge) eraseIndexing(ctx context.Context, b *knowledge.Base, id flow.RunID) error {
	run, err := s.Store.FindRun(ctx, b.WorkspaceID, b.FlowID, id)
	if id == "" || flow.IsNotFound(err) || err == nil && (run.Caller != nil || !run.State.Ended()) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.Store.EraseRun(ctx, b.WorkspaceID, b.FlowID, id, flow.CodeResultNotSaved)
}

// queryWait is how long a search waits for the vector of its query.
const queryWait = time.Minute

// Search searches a base. q.Vector is made here; q.WhereKey is the filter.
func (s *Knowledge) Search(ctx context.Context, caller *flow.Key, userID string, b *knowledge.Base, q *knowledge.Query) (*knowledge.Found, error) {
	q.Text, q.Part = strings.TrimSpace(q.Text), strings.TrimSpace(q.Part)
	if n := utf8.RuneCountInString(q.Text); n == 0 || n > knowledge.MaxQuery {
		return nil, &flow.Error{Code: flow.CodeInputInvalid, Message: fmt.Sprintf("Invalid search: wanted a query of 1 to %d characters.", knowledge.MaxQuery),
			Fields: []flow.Problem{{Pointer: "/query", Code: "invalid", Detail: fmt.Sprintf("wanted 1 to %d characters", knowledge.MaxQuery)}}}
	}
	if !q.AllParts {
		if err := b.CheckPart(q.Part); err != nil {
			return nil, err
		}
	}
	for range maxRepeats {
		if err := s.prepare(ctx, caller, userID, b, q); err != nil {
			return nil, err
		}
		found, err := s.Store.SearchBase(ctx, b, q)
		if !errors.Is(err, knowledge.ErrRebuilt) {
			return found, err
		}
		now, err := s.Store.FindBase(ctx, b.WorkspaceID, b.ID)
		if err != nil {
			return nil, err
		}
		*b = *now
	}
	return nil, flow.Errorf(flow.CodeOverloaded, "The knowledge base is being rebuilt. Try again.")
}

// maxRepeats is how often a search is repeated because its base was rebuilt meanwhile.
const maxRepeats = 3

// rebuilt returns a base as a rebuild with the model of to makes it.
func rebuilt(b *knowledge.Base, to *knowledge.Settings) (*knowledge.Base, error) {
	next := *b
	next.Settings.Model, next.Settings.Credential, next.Settings.Dimensions = to.Model, to.Credential, to.Dimensions
	if err := next.Check(); err != nil {
		return nil, err
	}
	if next.Settings.SameModel(&b.Settings) {
		return nil, &flow.Error{Code: flow.CodeInputInvalid, Message: "The knowledge base has this model already. Choose another.", Fields: []flow.Problem{{Pointer: "/model", Code: "invalid", Detail: "wanted another model than the present one"}}}
	}
	return &next, nil
}

// Estimate is what a rebuild will do, at most: texts that the model has embedded before cost nothing.
type Estimate struct {
	Passages, Tokens int64
	USD              flow.NanoUSD
	Priced           bool // USD is known; it is 0 for a model that costs nothing
}

// bytesPerToken is how many bytes of text have about one token, on the high side; titles and headings are in front of each passage.
const bytesPerToken, headingTokens = 3, 16

// EstimateRebuild estimates a rebuild with the model of to.
func (s *Knowledge) EstimateRebuild(ctx context.Context, b *knowledge.Base, to *knowledge.Settings) (*Estimate, error) {
	if _, err := rebuilt(b, to); err != nil {
		return nil, err
	}
	size, err := s.Store.CountBaseText(ctx, b)
	if err != nil {
		return nil, err
	}
	e := &Estimate{Passages: b.Passages, Tokens: size/bytesPerToken + headingTokens*b.Passages, Priced: true}
	if to.Model == "" {
		return e, nil
	}
	charge, paid := s.Charge(map[string]any{"model": to.Model})
	if !paid {
		return e, nil
	}
	charge.Use = flow.TokenUse{Input: e.Tokens}
	price, known, err := charge.Price(ctx, s.Prices, b.WorkspaceID)
	if e.Priced = known || charge.Free; known {
		e.USD = price.Cost(charge.Use, 0)
	}
	return e, err
}

// Rebuild starts the run that gives a base the vectors of another model: that of to, with its credential and dimensions. Searches use the present ones until all are
// there, and stay with them if the run is canceled or fails.
func (s *Knowledge) Rebuild(ctx context.Context, by flow.Actor, caller *flow.Key, userID string, b *knowledge.Base, to *knowledge.Settings) (flow.Started, error) {
	next, err := rebuilt(b, to)
	if err != nil {
		return flow.Started{}, err
	}
	settings, err := flow.DecodeJSON(flow.EncodeJSON(next.Settings))
	if err != nil {
		return flow.Started{}, err
	}
	given := &flow.Object{}
	given.Set(knowledge.RebuildSettings, settings)
	started, err := s.Start(ctx, flow.Start{
		WorkspaceID: b.WorkspaceID, FlowID: b.FlowID, Key: caller, UserID: userID, Trigger: flow.TriggerIndex, Given: given, Work: &flow.WorkStart{Document: knowledge.RebuildDocument(next)},
	})
	if err != nil {
		return started, err
	}
	return started, record(ctx, s.Store, by, entry(b.WorkspaceID, "knowledge.rebuild", b.ID, b.Slug), nothing)
}

// prepare compiles the filter of a query, and embeds its text.
func (s *Knowledge) prepare(ctx context.Context, caller *flow.Key, userID string, b *knowledge.Base, q *knowledge.Query) (err error) {
	if q.Where, err = s.Filter(ctx, q.WhereKey); err != nil {
		return &flow.Error{Code: flow.CodeInputInvalid, Message: "Invalid search: " + flow.AsError(err).Message, Fields: []flow.Problem{{Pointer: "/where", Code: "invalid", Detail: flow.AsError(err).Message}}}
	}
	if q.Mode != knowledge.ModeWords {
		q.Vector, err = s.vector(ctx, caller, userID, b, q.Text)
	}
	return err
}

// vector embeds a query with the model of a base. A model of a provider is called by a run, so that limits and costs are those of any other call. Its content
// is erased when it has ended.
func (s *Knowledge) vector(ctx context.Context, caller *flow.Key, userID string, b *knowledge.Base, text string) ([]float32, error) {
	if b.Settings.Model == "" {
		return s.Embed(ctx, b.WorkspaceID, text)
	}
	given := &flow.Object{}
	given.Set(knowledge.QueryInput, text)
	started, err := s.Start(ctx, flow.Start{
		WorkspaceID: b.WorkspaceID, FlowID: b.FlowID, Key: caller, UserID: userID, Trigger: flow.TriggerIndex, Given: given, Wait: queryWait, Options: flow.RunOptions{Discard: true},
		Work: &flow.WorkStart{Document: knowledge.QueryDocument(b)},
	})
	if err != nil {
		return nil, err
	}
	run := started.Run
	if run.State != flow.RunSucceeded {
		if run.Error != nil {
			return nil, flow.Errorf(run.Error.Code, "The query cannot be embedded. %s", run.Error.Message)
		}
		return nil, flow.Errorf(flow.CodeOverloaded, "The model of the knowledge base did not answer within a minute. Try again.")
	}
	var vector []float64
	if err := json.Unmarshal(flow.EncodeJSON(run.Outputs.Get(knowledge.QueryVector)), &vector); err != nil {
		return nil, fmt.Errorf("read the vector of a query: %w", err)
	}
	return knowledge.Unit(vector), nil
}
