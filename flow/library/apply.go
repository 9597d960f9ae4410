package library

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/flow"
	"sluice/flow/document"
)

// Changes that Apply makes to a flow.
const (
	AppliedCreated   = "created"
	AppliedChanged   = "changed"
	AppliedUnchanged = "unchanged"
	AppliedArchived  = "archived"
)

// ApplyRequest asks to make the flows of a workspace equal to a set of documents.
type ApplyRequest struct {
	Documents     []*flow.Document // that CheckSent accepts
	Companions    []CompanionInput // files beside these flows, or beside others
	Source        string           // names the origin, such as a repository; bounds Prune
	Publish       bool             // publish each flow
	AllowBreaking bool             // publish changes that break callers
	Prune         bool             // archive flows last applied from Source that are not in Documents, and remove entries that their companions leave out
	Force         bool             // replace drafts that changed since the last apply
	TakeAlias     bool             // a document with a former slug of another flow creates a new flow with that slug
	DryRun        bool             // only report the changes
	Test          bool             // what is published must pass its cases
	TestMode      flow.CaseMode    // of Test; default replay
	TestUSD       flow.NanoUSD     // what each test may spend; 0 is any amount
	NoCallers     bool             // Test leaves out the flows that run a changed one
	By            flow.Actor
	Caller        *flow.Key // the key in the request, or nil
	At            time.Time
	Allow         Allow
}

// Applied is the result of Apply for one flow.
type Applied struct {
	FlowID  flow.FlowID // empty for a flow that a dry run would create
	Slug    string
	Change  string // AppliedCreated and so on
	Version int64  // live version after the apply; 0 if it is not published
	Review  Review // comparison of the draft with the live version
}

// plan is a flow that an apply touches. It is computed before the transaction, which
// then fails if the draft was edited in the meantime.
type plan struct {
	Applied
	flow    *flow.Flow
	doc     *flow.Document
	publish bool   // the document differs from the live version
	alias   *Alias // a former slug that the new flow takes; nil otherwise
}

// Apply makes flows equal to documents, matched by their current slug, and optionally publishes
// them, in one transaction. It returns CodeSlugTaken for a document with a former slug of a flow,
// unless TakeAlias is set: the document could mean that flow or a new one, and requests with the
// slug would go to another flow. It returns CodeDraftChanged if a draft was edited since the last
// apply, unless Force is set, and a BreakingError if publishing would break callers, unless
// AllowBreaking is set. A dry run reports breaking changes in the reviews instead.
func (l *Library) Apply(ctx context.Context, ws flow.WorkspaceID, r ApplyRequest) ([]Applied, []AppliedCompanion, error) {
	plans, files, err := planAll(ctx, l, ws, &r)
	if err != nil {
		return nil, nil, err
	}
	if !r.DryRun {
		if err := refuseBreaking(plans, &r); err != nil {
			return nil, nil, err
		}
		gates, err := gateApply(ctx, l, plans, files, &r)
		if err != nil {
			return nil, nil, err
		}
		err = l.Store.InTransaction(ctx, func(ctx context.Context) error {
			for _, gate := range gates {
				if err := gate.hold(ctx, l); err != nil {
					return err
				}
			}
			for _, p := range plans {
				if err := l.applyOne(ctx, p, &r); err != nil {
					return err
				}
			}
			for _, p := range files {
				if err := l.Companions.apply(ctx, p); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		if err := recordApplied(ctx, l, plans); err != nil {
			return nil, nil, err
		}
	}
	list, beside := make([]Applied, len(plans)), make([]AppliedCompanion, len(files))
	for i, p := range plans {
		list[i] = p.Applied
	}
	for i, p := range files {
		beside[i] = p.AppliedCompanion
	}
	return list, beside, nil
}

// planAll returns the plans for the flows and the files of an apply.
func planAll(ctx context.Context, l *Library, ws flow.WorkspaceID, r *ApplyRequest) ([]*plan, []*companionPlan, error) {
	plans := make([]*plan, 0, len(r.Documents))
	for _, d := range r.Documents {
		p, err := l.planApply(ctx, ws, r, d)
		if err != nil {
			return nil, nil, err
		}
		plans = append(plans, p)
	}
	if err := l.nameFollowers(ctx, ws, plans); err != nil {
		return nil, nil, err
	}
	files, err := planCompanions(ctx, l, ws, r, plans)
	if err != nil {
		return nil, nil, err
	}
	if r.Prune {
		pruned, err := l.planPrune(ctx, ws, r, plans)
		if err != nil {
			return nil, nil, err
		}
		plans = append(plans, pruned...)
	}
	return plans, files, nil
}

// planApply returns the plan for a document: its flow and the changes. The document of the request keeps its slug: other documents may run
// it, and the request may be repeated.
func (l *Library) planApply(ctx context.Context, ws flow.WorkspaceID, r *ApplyRequest, d *flow.Document) (*plan, error) {
	slug, own := document.WantedSlug(d), *d
	p := &plan{doc: &own, Applied: Applied{Slug: slug, Change: AppliedCreated}}
	id, err := l.Store.FindFlowID(ctx, ws, slug)
	switch {
	case flow.IsNotFound(err):
		if err := l.planCreate(ws, p, r); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	default:
		if err := l.planChange(ctx, ws, p, r, id); err != nil {
			return nil, err
		}
	}
	if r.Publish {
		problems, err := l.CredentialProblems(ctx, ws, d)
		if err == nil {
			var missing []flow.Problem
			missing, err = (&Calls{Library: l, WorkspaceID: ws}).Missing(ctx, d, r.Documents...)
			problems = append(problems, missing...)
		}
		if err == nil {
			err = documentInvalid(problems)
		}
		if err != nil {
			return nil, err
		}
	}
	return p, l.review(ctx, p, r)
}

// planCreate prepares a new flow with the slug of the plan. It returns the error of
// ApplyRequest.Allow if the caller may not create flows.
func (l *Library) planCreate(ws flow.WorkspaceID, p *plan, r *ApplyRequest) error {
	if err := r.Allow(nil); err != nil {
		return err
	}
	p.flow = &flow.Flow{ID: l.IDs.NewFlow(), WorkspaceID: ws, Slug: p.Slug}
	takeDocument(p.flow, p.doc, l.Kinds)
	return nil
}

// planTake prepares a new flow with the former slug of another one if TakeAlias is set.
// Otherwise it returns a BreakingError that names the flow that has the slug and the keys
// that use it.
func (l *Library) planTake(ctx context.Context, p *plan, r *ApplyRequest, holder *flow.Flow) error {
	callers, err := l.Store.ListAliasCallers(ctx, holder.WorkspaceID, p.Slug, r.At.Add(-flow.CallerPeriod))
	if err != nil {
		return err
	}
	p.alias = &Alias{p.Slug, holder, callers}
	if r.TakeAlias {
		return l.planCreate(holder.WorkspaceID, p, r)
	}
	e := flow.Errorf(flow.CodeSlugTaken, "The slug %q is a former slug of the flow %q, whose slug is now %q. Use that slug to change the flow. To make another flow with the former slug, apply with take_alias.", p.Slug, holder.Name, holder.Slug)
	return &BreakingError{e, []Review{{Slug: p.Slug, Diff: document.Compare(nil, p.doc, l.Kinds), Alias: p.alias}}}
}

// planChange compares a document with the draft of an existing flow.
func (l *Library) planChange(ctx context.Context, ws flow.WorkspaceID, p *plan, r *ApplyRequest, id flow.FlowID) (err error) {
	if p.flow, err = l.Store.FindFlow(ctx, ws, id); err != nil {
		return err
	}
	if err := r.Allow(p.flow); err != nil {
		return err
	}
	if p.flow.Slug != p.Slug {
		return l.planTake(ctx, p, r, p.flow)
	}
	calls := Calls{l, ws, r.Allow}
	if err := calls.CheckDraft(ctx, p.flow, p.doc); err != nil {
		return err
	}
	p.FlowID, p.Version, p.Slug, p.Change = id, p.flow.LiveVersion, p.flow.Slug, AppliedUnchanged
	next := *p.flow
	takeDocument(&next, p.doc, l.Kinds)
	if bytes.Equal(next.Draft, p.flow.Draft) {
		if !p.flow.ArchivedAt.IsZero() {
			p.Change = AppliedChanged
		}
		return nil
	}
	if p.Change = AppliedChanged; flow.SameVersion(flow.DocumentHash(next.Draft), flow.DocumentHash(p.flow.Draft)) {
		p.Change = AppliedUnchanged // only members have another order, which is stored
		return nil
	}
	if p.flow.Rev != p.flow.AppliedRev && !r.Force {
		return flow.Errorf(flow.CodeDraftChanged, "The draft of %q was changed since the last apply. Export it and merge the changes into your file, or apply with force to replace them.", p.Slug)
	}
	return nil
}

// review compares the document with the live version.
func (l *Library) review(ctx context.Context, p *plan, r *ApplyRequest) error {
	old, err := l.liveDocument(ctx, p.flow)
	if err != nil {
		return err
	}
	p.publish = r.Publish && (old == nil || p.flow.LiveHash != flow.DocumentHash(p.doc.Compact()))
	p.Review, err = l.compare(ctx, p.flow, old, p.doc, r.At)
	p.Review.Alias = p.alias
	return err
}

// nameFollowers completes the reviews of plans that break callers. The flows of the
// workspace are read once for all of them.
func (l *Library) nameFollowers(ctx context.Context, ws flow.WorkspaceID, plans []*plan) error {
	var all map[flow.FlowID][]following
	for _, p := range plans {
		if len(p.Review.Diff.Breaking) == 0 {
			continue
		}
		if all == nil {
			var err error
			if all, err = l.listFollowing(ctx, ws); err != nil {
				return err
			}
		}
		p.Review.Followers = l.followersOf(all[p.flow.ID], p.flow, p.doc)
	}
	return nil
}

// planPrune finds the flows that were applied from the same source and are not in
// the request.
func (l *Library) planPrune(ctx context.Context, ws flow.WorkspaceID, r *ApplyRequest, kept []*plan) (list []*plan, err error) {
	heads, err := l.Store.ListFlowHeads(ctx, ws)
	if err != nil {
		return nil, err
	}
	keep := map[flow.FlowID]bool{}
	for _, p := range kept {
		keep[p.FlowID] = true
	}
	for i := range heads {
		f := &heads[i]
		if keep[f.ID] || f.AppliedSource != r.Source || !f.ArchivedAt.IsZero() {
			continue
		}
		list = append(list, &plan{flow: f, Applied: Applied{FlowID: f.ID, Slug: f.Slug, Change: AppliedArchived, Version: f.LiveVersion, Review: Review{Slug: f.Slug, Diff: &document.Diff{}}}})
	}
	return list, nil
}

// refuseBreaking returns one error with the reviews of all flows whose callers would break, unless
// the request allows that.
func refuseBreaking(plans []*plan, r *ApplyRequest) error {
	var list []Review
	for _, p := range plans {
		if p.publish && len(p.Review.Diff.Breaking) > 0 {
			list = append(list, p.Review)
		}
	}
	if len(list) == 0 || r.AllowBreaking {
		return nil
	}
	return breaking(list...)
}

// applyOne writes a plan in the transaction of ctx.
func (l *Library) applyOne(ctx context.Context, p *plan, r *ApplyRequest) error {
	f := p.flow
	if p.Change == AppliedArchived {
		return l.Archive(ctx, f, r.By)
	}
	if err := l.applyDraft(ctx, p, r); err != nil {
		return err
	}
	if err := l.Store.MarkApplied(ctx, f.WorkspaceID, f.ID, r.Source); err != nil {
		return err
	}
	p.FlowID = f.ID
	if !p.publish {
		return nil
	}
	loosened, err := checkLoosened(ctx, l, f, p.doc, r.By.ID)
	if err != nil {
		return err
	}
	v, _, err := l.Store.PublishFlow(ctx, f.WorkspaceID, f.ID, p.doc.Compact(), l.summary(ctx, f, p.doc), r.By.ID)
	if err != nil {
		return err
	}
	if err := recordLoosened(ctx, l, f, r.By, loosened); err != nil {
		return err
	}
	p.Version = v.Number
	return l.audit(ctx, f, r.By, "flow.publish", fmt.Sprintf("v%d: %s", v.Number, v.Summary))
}

// applyDraft creates the flow, or restores it and replaces its draft.
func (l *Library) applyDraft(ctx context.Context, p *plan, r *ApplyRequest) error {
	f := p.flow
	if p.Change == AppliedCreated {
		if err := l.releaseAlias(ctx, p, r); err != nil {
			return err
		}
		if err := l.Store.CreateFlow(ctx, f); err != nil {
			return err
		}
		return l.audit(ctx, f, r.By, "flow.create", f.Name)
	}
	if err := l.Restore(ctx, f, r.By); err != nil {
		return err
	}
	// EditFlow reads the flow outside the transaction, where it is still archived.
	change := l.writeDraft
	if !f.ArchivedAt.IsZero() {
		change = l.overwriteDraft
	}
	changed, err := change(ctx, f, r.By, p.doc)
	if errors.Is(err, errDraftOutdated) {
		return flow.Errorf(flow.CodeDraftChanged, "The draft of %q was changed during the apply. Apply again.", p.Slug)
	}
	if err != nil || !changed {
		return err
	}
	return l.audit(ctx, f, r.By, "flow.edit", f.Name)
}

// releaseAlias takes the slug of a new flow from the flow that had it before, and records
// that in the audit log of that flow.
func (l *Library) releaseAlias(ctx context.Context, p *plan, r *ApplyRequest) error {
	if p.alias == nil {
		return nil
	}
	was := p.alias.Flow
	err := l.Store.ReleaseAlias(ctx, was.WorkspaceID, was.ID, p.Slug)
	if flow.IsNotFound(err) { // renamed back, or taken, in the meantime
		return flow.Errorf(flow.CodeSlugTaken, "The slug %q was taken during the apply. Apply again.", p.Slug)
	}
	if err != nil {
		return err
	}
	return l.audit(ctx, was, r.By, "flow.alias", p.Slug+" to "+string(p.flow.ID))
}

// overwriteDraft is writeDraft without the edit log, which archiving deletes.
func (l *Library) overwriteDraft(ctx context.Context, f *flow.Flow, _ flow.Actor, d *flow.Document) (changed bool, err error) {
	data := d.Compact()
	if bytes.Equal(data, f.Draft) {
		return false, nil
	}
	return true, l.Store.UpdateDraft(ctx, f.WorkspaceID, f.ID, d.Name, d.Description, data)
}
