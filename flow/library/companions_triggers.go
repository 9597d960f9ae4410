package library

import (
	"context"
	"fmt"
	"slices"

	"sluice/flow"
	"sluice/flow/triggers"
)

// The file with the schedules and incoming webhooks of a flow. The secrets of URLs and whether a trigger is paused are not in it.
var _ = RegisterCompanion(&Companion{
	Name: triggersFile, Schema: triggers.FileSchema, Title: "Schedules and incoming webhooks",
	Parse: func(o *flow.Object, check func(source string, names ...string) error) (any, []flow.Problem) {
		return parsed(triggers.ParseFile(o, check))
	},
	Write: func(content any) *flow.Object { return triggers.WriteFile(content.([]triggers.Entry)) },
	Read: func(ctx context.Context, s *Companions, of *CompanionOwner) (any, error) {
		return readTriggers(ctx, s.Store, of.Flow)
	},
	Plan: planTriggers,
	Apply: func(ctx context.Context, s *Companions, r *CompanionRequest, c *CompanionChange) error {
		return c.Value.(func(context.Context) error)(ctx)
	},
	MayChange:   mayChangeTriggers,
	MarkApplied: markTriggers,
})

// triggersFile is the name of the companion.
const triggersFile = "triggers"

// parsed converts the result of a parser.
func parsed[T any](content T, problems []flow.Problem) (any, []flow.Problem) {
	return content, problems
}

// triggerLister lists the triggers of a flow. In a transaction it sees what that wrote.
type triggerLister interface {
	ListTriggers(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) ([]triggers.Trigger, error)
}

// readTriggers returns the triggers of a flow as files have them. One that cannot be read any longer is left out.
func readTriggers(ctx context.Context, s triggerLister, f *flow.Flow) ([]triggers.Entry, error) {
	list, err := s.ListTriggers(ctx, f.WorkspaceID, f.ID)
	entries := make([]triggers.Entry, 0, len(list))
	for i := range list {
		if list[i].Unreadable == nil {
			entries = append(entries, triggers.EntryOf(&list[i]))
		}
	}
	return entries, err
}

// planTriggers compares the triggers of a file with those of the flow.
func planTriggers(ctx context.Context, s *Companions, r *CompanionRequest, _, wanted any) (changes []CompanionChange, problems []flow.Problem, err error) {
	list, err := s.Store.ListTriggers(ctx, r.Owner.WorkspaceID, r.Owner.Flow.ID)
	if err != nil {
		return nil, nil, err
	}
	entries := wanted.([]triggers.Entry)
	for i := range entries {
		e := &entries[i]
		var was *triggers.Trigger
		if at := slices.IndexFunc(list, func(t triggers.Trigger) bool { return t.Name == e.Name }); at >= 0 {
			was = &list[at]
		}
		change, wrong, err := s.planTrigger(ctx, r, was, e)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range wrong {
			p.Pointer = flow.Pointer("triggers", i) + p.Pointer
			problems = append(problems, p)
		}
		if change != nil {
			changes = append(changes, *change)
		}
	}
	for i := range list {
		t := &list[i]
		if r.prunes(t.Source) && !slices.ContainsFunc(entries, func(e triggers.Entry) bool { return e.Name == t.Name }) {
			changes = append(changes, CompanionChange{Change: companionRemoved, Entry: t.Name, Text: fmt.Sprintf("Removes the %s %s.", triggerWord(t.Kind), t.Name),
				Value: func(ctx context.Context) error { return s.triggers().Delete(ctx, r.By, r.Caller, t) }})
		}
	}
	return changes, problems, nil
}

// planTrigger compares an entry of a file with the trigger of its name, which may be nil. An equal one needs no change.
func (s *Companions) planTrigger(ctx context.Context, r *CompanionRequest, was *triggers.Trigger, e *triggers.Entry) (*CompanionChange, []flow.Problem, error) {
	if was != nil && was.Kind != e.Kind {
		return nil, []flow.Problem{{Pointer: "/kind", Code: "invalid", Detail: fmt.Sprintf("the trigger %s is a %s; delete it first, or choose another name", e.Name, triggerWord(was.Kind))}}, nil
	}
	if was != nil && was.Unreadable == nil {
		if old := triggers.EntryOf(was); old.Equal(e) {
			return nil, nil, nil
		}
	}
	c := &CompanionChange{Change: AppliedCreated, Entry: e.Name, Text: fmt.Sprintf("Adds the %s %s", triggerWord(e.Kind), e.Name)}
	if was != nil {
		c.Change, c.Text = AppliedChanged, fmt.Sprintf("Changes the %s %s", triggerWord(e.Kind), e.Name)
	}
	if e.Kind == triggers.Hook {
		problems, err := s.hooks().secretProblems(ctx, r.Owner.WorkspaceID, &e.Hook)
		c.Text += "."
		c.Value = func(ctx context.Context) error {
			_, err := s.hooks().set(ctx, r.By, r.Owner.Flow, e.Name, e.Hook, r.sourceOf(was))
			return err
		}
		return c, problems, err
	}
	if err := maySchedule(r.Caller, r.Owner.Flow, e.Config.Test); err != nil {
		return nil, nil, err
	}
	w, err := s.Store.FindWorkspace(ctx, r.Owner.WorkspaceID)
	if err != nil {
		return nil, nil, err
	}
	if plan, err := e.Config.Schedule(w.Timezone); err == nil {
		c.Text += ": " + plan.Sentence()
	}
	c.Text += "."
	c.Value = func(ctx context.Context) error {
		_, _, err := s.triggers().set(ctx, r.By, r.Caller, r.Owner.Flow, e.Name, e.Config, r.sourceOf(was))
		return err
	}
	return c, nil, nil
}

// sourceOf returns where a trigger comes from after the request: it stays unless the request is an apply.
func (r *CompanionRequest) sourceOf(was *triggers.Trigger) string {
	switch {
	case r.Apply:
		return r.Source
	case was != nil:
		return was.Source
	}
	return ""
}

// markTriggers records that triggers were applied from the source of the request, which then prunes them.
func markTriggers(ctx context.Context, s *Companions, r *CompanionRequest, wanted any) error {
	list, err := s.Store.ListTriggers(ctx, r.Owner.WorkspaceID, r.Owner.Flow.ID)
	for i := range list {
		t := &list[i]
		named := slices.ContainsFunc(wanted.([]triggers.Entry), func(e triggers.Entry) bool { return e.Name == t.Name })
		if err == nil && named && t.Source != r.Source {
			err = s.Store.SetTriggerSource(ctx, t.WorkspaceID, t.ID, r.Source)
		}
	}
	return err
}

// triggers and hooks return the acts on triggers, with their rules.
func (s *Companions) triggers() *Triggers {
	return &Triggers{Store: s.Store, IDs: s.IDs, Now: s.Now, CheckExpression: s.CheckExpression}
}

func (s *Companions) hooks() *Hooks {
	return &Hooks{Store: s.Store, IDs: s.IDs, Now: s.Now, Compile: s.CheckExpression}
}

// triggerWord returns what people call a kind of trigger.
func triggerWord(k triggers.Kind) string {
	if k == triggers.Hook {
		return "webhook"
	}
	return string(k)
}
