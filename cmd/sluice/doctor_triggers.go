package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sluice/db"
	"sluice/flow"
	"sluice/flow/triggers"
)

const (
	// triggersPage is how many triggers are read at once, and triggersNamed how many a finding names.
	triggersPage  = 500
	triggersNamed = 20
	// triggerOverdue is how late a running server decides a planned time at most.
	triggerOverdue = 15 * time.Minute
)

// triggers reports the triggers that cannot start runs, with the reasons. Paused ones and those of archived flows are as people want them.
func (f *findings) triggers(ctx context.Context, store *db.Store, running bool) {
	total, stopped := 0, []string{}
	for after := ""; ; {
		list, err := store.TriggersAfter(ctx, after, triggersPage)
		if err != nil {
			f.add("triggers", verdictBad, "", "%v", err)
			return
		}
		for i := range list {
			t := &list[i]
			after = t.ID
			total++
			reason, name, err := triggerStopped(ctx, store, t, running)
			if err != nil {
				f.add("triggers", verdictBad, "", "%s: %v", t.ID, err)
				return
			}
			if reason != "" {
				stopped = append(stopped, fmt.Sprintf("%s of %s (%s)", t.Name, name, reason))
			}
		}
		if len(list) < triggersPage {
			break
		}
	}
	switch {
	case total == 0:
	case len(stopped) == 0:
		f.add("triggers", verdictOK, "", "%s can start runs.", count(int64(total), "trigger", "triggers"))
	default:
		named := strings.Join(stopped[:min(len(stopped), triggersNamed)], ", ")
		if len(stopped) > triggersNamed {
			named += " …"
		}
		f.add("triggers", verdictWarn, "Publish the flow, enter the missing secret under Credentials, or change the trigger, then resume it with 'sluice trigger resume'.",
			"%s cannot start runs: %s.", count(int64(len(stopped)), "trigger", "triggers"), named)
	}
}

// triggerStopped returns why a trigger cannot start runs, or "", and the slug of its flow.
func triggerStopped(ctx context.Context, store *db.Store, t *triggers.Trigger, running bool) (reason, slug string, err error) {
	f, err := store.FindFlow(ctx, t.WorkspaceID, t.FlowID)
	if err != nil {
		return "", "", err
	}
	switch {
	case !f.ArchivedAt.IsZero() || t.Reason == triggers.ReasonPaused || t.Reason == triggers.ReasonArchived:
	case t.Unreadable != nil || t.Reason == triggers.ReasonInvalid:
		return "its settings cannot be read", f.Slug, nil
	case t.Reason == triggers.ReasonFailed:
		return "it was turned off after failed runs", f.Slug, nil
	case f.LiveVersion == 0:
		return "the flow has no live version", f.Slug, nil
	case t.Kind == triggers.Hook:
		return missingSecret(ctx, store, t, f.Slug)
	case running && !t.Due.IsZero() && store.Now().Sub(t.Due) > triggerOverdue:
		return "it is due since " + t.Due.UTC().Format(time.DateTime) + " UTC", f.Slug, nil
	}
	return "", f.Slug, nil
}

// missingSecret returns that no credential is left that could verify requests to a webhook.
func missingSecret(ctx context.Context, store *db.Store, t *triggers.Trigger, slug string) (reason, of string, err error) {
	for _, name := range t.Hook.Verify.Secrets {
		_, err := store.FindCredential(ctx, t.WorkspaceID, name)
		if err == nil || !flow.IsNotFound(err) {
			return "", slug, err
		}
		reason = fmt.Sprintf("there is no credential %q", name)
	}
	return reason, slug, nil
}
