package library

import (
	"context"
	"strings"

	"sluice/flow"
	"sluice/flow/forms"
)

// FormStore stores the public forms of flows.
type FormStore interface {
	Recorder
	SaveForm(ctx context.Context, f *forms.Form) error
}

// Forms changes the public forms of flows.
type Forms struct{ Store FormStore }

// Change saves the form of a flow. Turning it on or off has an audit entry of its own. The other
// changes have one with the names of the settings, without their values.
func (s *Forms) Change(ctx context.Context, by flow.Actor, f *flow.Flow, before, form *forms.Form) error {
	e := entry(f.WorkspaceID, "form.change", f.Name, strings.Join(form.Changed(&before.Settings), ", "))
	if e.Detail == "" {
		e.Action = ""
	}
	return record(ctx, s.Store, by, e, func(ctx context.Context) error {
		if form.On != before.On {
			action := "form.off"
			if form.On {
				action = "form.on"
			}
			if err := record(ctx, s.Store, by, entry(f.WorkspaceID, action, f.Name, ""), nothing); err != nil {
				return err
			}
		}
		return s.Store.SaveForm(ctx, form)
	})
}
