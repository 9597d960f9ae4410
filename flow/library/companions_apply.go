package library

import (
	"context"
	"errors"
	"fmt"

	"sluice/flow"
	"sluice/flow/companion"
	"sluice/flow/document"
)

// CompanionInput is a file in an apply.
type CompanionInput struct {
	Slug    string // of the flow; empty for the workspace
	Content any    // decoded JSON
}

// planCompanions returns the plans for the files of an apply. flows are the plans for its documents.
func planCompanions(ctx context.Context, l *Library, ws flow.WorkspaceID, r *ApplyRequest, flows []*plan) ([]*companionPlan, error) {
	if len(r.Companions) > 0 && l.Companions == nil {
		return nil, errors.New("this library has no companions")
	}
	var plans []*companionPlan
	var problems []flow.Problem
	seen := map[companion.ID]bool{}
	for i := range r.Companions {
		at := flow.Pointer("companions", i)
		p, wrong, err := planCompanion(ctx, l, ws, r, flows, &r.Companions[i])
		if err != nil {
			return nil, err
		}
		if p != nil && seen[p.state.ID] {
			wrong = append(wrong, flow.Problem{Pointer: "/content", Code: "duplicate", Detail: "another file has the same content"})
		}
		for _, w := range wrong {
			w.Pointer = at + w.Pointer
			problems = append(problems, w)
		}
		if p != nil {
			seen[p.state.ID] = true
			plans = append(plans, p)
		}
	}
	if len(problems) > 0 {
		return nil, companionInvalid(problems)
	}
	return plans, nil
}

// planCompanion returns the plan for a file of an apply.
func planCompanion(ctx context.Context, l *Library, ws flow.WorkspaceID, r *ApplyRequest, flows []*plan, in *CompanionInput) (*companionPlan, []flow.Problem, error) {
	c, o, problem := companionOfSchema(in.Content)
	if problem != nil {
		problem.Pointer = "/content" + problem.Pointer
		return nil, []flow.Problem{*problem}, nil
	}
	owner, wrong, err := companionOwner(ctx, l, ws, r, flows, c, in.Slug)
	if wrong != nil || err != nil {
		return nil, wrong, err
	}
	wanted, problems := c.Parse(o, l.Companions.CheckExpression)
	var p *companionPlan
	if len(problems) == 0 {
		request := CompanionRequest{Owner: *owner, Source: r.Source, Apply: true, Prune: r.Prune, By: r.By, Caller: r.Caller}
		p, problems, err = l.Companions.plan(ctx, c, request, wanted)
	}
	for i := range problems {
		problems[i].Pointer = "/content" + problems[i].Pointer
	}
	if err == nil && p != nil && len(p.Changes) > 0 && p.state.Rev != p.state.AppliedRev && !r.Force {
		err = flow.Errorf(flow.CodeDraftChanged, "The %s of %q were changed since the last apply. Pull them and merge the changes into your file, or apply with force to replace them.", c.Name, p.Slug)
	}
	return p, problems, err
}

// companionOwner returns what a file of an apply is beside: a flow of the apply or of the workspace.
func companionOwner(ctx context.Context, l *Library, ws flow.WorkspaceID, r *ApplyRequest, flows []*plan, c *Companion, slug string) (*CompanionOwner, []flow.Problem, error) {
	problem := func(detail string) []flow.Problem {
		return []flow.Problem{{Pointer: "/slug", Code: "invalid", Detail: detail}}
	}
	owner := &CompanionOwner{WorkspaceID: ws}
	switch {
	case c.OfWorkspace && slug != "":
		return nil, problem("must be left out: this file is beside the workspace"), nil
	case c.OfWorkspace:
		return owner, nil, r.Allow(nil)
	case !document.ValidSlug(slug):
		return nil, problem("must be the slug of the flow"), nil
	}
	for _, p := range flows {
		if p.Slug == slug {
			owner.Flow = p.flow
			return owner, nil, nil
		}
	}
	id, err := l.Store.FindFlowID(ctx, ws, slug)
	if flow.IsNotFound(err) {
		return nil, problem(fmt.Sprintf("there is no flow %q; apply its document too", slug)), nil
	}
	if err != nil {
		return nil, nil, err
	}
	if owner.Flow, err = l.Store.FindFlow(ctx, ws, id); err != nil {
		return nil, nil, err
	}
	if owner.Flow.Slug != slug {
		return nil, problem(fmt.Sprintf("is a former slug; the flow is now %q, so rename the file", owner.Flow.Slug)), nil
	}
	if !owner.Flow.ArchivedAt.IsZero() {
		return nil, problem("names an archived flow; apply its document too, which restores it"), nil
	}
	return owner, nil, r.Allow(owner.Flow)
}
