package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/flow/triggers"
	"sluice/handlers/admin"
)

// triggerCmd groups the commands for triggers.
type triggerCmd struct {
	List   triggerListCmd   `cmd:"" help:"List the triggers of a flow."`
	Show   triggerShowCmd   `cmd:"" help:"Show a trigger and its next times."`
	Pause  triggerPauseCmd  `cmd:"" help:"Pause a trigger."`
	Resume triggerResumeCmd `cmd:"" help:"Resume a trigger. It continues from now."`
	Now    triggerNowCmd    `cmd:"" help:"Start a run of a trigger now."`
	Events triggerEventsCmd `cmd:"" help:"List the newest events of a trigger."`

	Backfill triggerBackfillCmd `cmd:"" help:"Start a batch with a row for each planned time of a range that started no run."`
	URL      triggerURLCmd      `cmd:"" name:"url" help:"Print the URL of an incoming webhook."`
	Rotate   triggerRotateCmd   `cmd:"" help:"Give an incoming webhook another URL."`
}

// triggerArgs name a trigger.
type triggerArgs struct {
	Flow    string `arg:"" help:"ID or slug of the flow."`
	Trigger string `arg:"" help:"Name or ID of the trigger."`
	JSON    bool   `help:"Print as JSON."`
}

// path returns the path of the trigger in the API.
func (a triggerArgs) path() string {
	return triggersPath(a.Flow) + "/" + url.PathEscape(a.Trigger)
}

// triggersPath returns the path of the triggers of a flow.
func triggersPath(flow string) string { return "/v1/flow/" + url.PathEscape(flow) + "/triggers" }

const noTrigger = "there is no such trigger; 'sluice trigger list FLOW' lists the triggers of a flow"

type triggerListCmd struct {
	Flow string `arg:"" help:"ID or slug of the flow."`
	JSON bool   `help:"Print as JSON."`
}

// RunAPI lists the triggers of a flow.
func (c triggerListCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	list, err := fetch[admin.TriggerList](ctx, api, "GET", triggersPath(c.Flow), nil)
	if err != nil {
		return notFound(err, noFlow)
	}
	return printList(s.Out, c.JSON, list.Triggers, "NAME\tSTATE\tNEXT\tWHEN", func(t *admin.Trigger) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s", t.Name, triggerState(t), shortTime(time.Time(t.NextAt)), t.Sentence)
	})
}

// triggerState returns the state of a trigger in a word.
func triggerState(t *admin.Trigger) string {
	switch {
	case t.Reason != nil:
		return *t.Reason
	case t.Kind == triggers.Schedule && len(t.Next) == 0:
		return "over"
	}
	return "on"
}

type triggerShowCmd struct{ triggerArgs }

// RunAPI shows a trigger.
func (c triggerShowCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	return c.print(ctx, api, s, "GET", "")
}

// print sends a request about the trigger and prints what it is then.
func (a triggerArgs) print(ctx context.Context, api *client.Client, s *streams, method, act string) error {
	t, err := fetch[admin.Trigger](ctx, api, method, a.path()+act, nil)
	if err != nil {
		return notFound(err, noTrigger)
	}
	if a.JSON {
		return printJSON(s.Out, t)
	}
	if _, err := fmt.Fprintf(s.Out, "%s (%s): %s\n", t.Name, triggerState(&t), t.Sentence); err != nil {
		return err
	}
	zone, err := time.LoadLocation(t.Timezone)
	for _, at := range t.Next {
		if err == nil {
			_, err = fmt.Fprintf(s.Out, "  %s %s\n", time.Time(at).In(zone).Format("Mon 2006-01-02 15:04"), t.Timezone)
		}
	}
	return err
}

type triggerPauseCmd struct{ triggerArgs }

// RunAPI pauses a trigger.
func (c triggerPauseCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	return c.print(ctx, api, s, "POST", "/pause")
}

type triggerResumeCmd struct {
	triggerArgs
	CatchUp bool `help:"Start the latest planned time that passed meanwhile."`
}

// RunAPI resumes a trigger.
func (c triggerResumeCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	if c.CatchUp {
		if _, err := api.Call(ctx, "POST", c.path()+"/resume", map[string]any{"catch_up": "one"}); err != nil {
			return notFound(err, noTrigger)
		}
		return c.print(ctx, api, s, "GET", "")
	}
	return c.print(ctx, api, s, "POST", "/resume")
}

type triggerNowCmd struct{ triggerArgs }

// RunAPI starts a run and prints its ID.
func (c triggerNowCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	started, err := fetch[admin.TriggerStarted](ctx, api, "POST", c.path()+"/now", nil)
	if err != nil {
		return notFound(err, noTrigger)
	}
	if c.JSON {
		return printJSON(s.Out, started)
	}
	_, err = fmt.Fprintln(s.Out, started.RunID)
	return err
}

type triggerEventsCmd struct{ triggerArgs }

// RunAPI lists the newest events.
func (c triggerEventsCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	page, err := fetch[admin.TriggerEvents](ctx, api, "GET", c.path()+"/events", nil)
	if err != nil {
		return notFound(err, noTrigger)
	}
	return printList(s.Out, c.JSON, page.Events, "PLANNED\tSTATE\tRUN\tREASON", func(e *admin.TriggerEvent) string {
		run := ""
		if e.RunID != nil {
			run = string(*e.RunID)
		}
		return fmt.Sprintf("%s\t%s\t%s\t%s", shortTime(time.Time(e.ScheduledAt)), e.State, run, e.Detail)
	})
}

type triggerRotateCmd struct {
	triggerArgs
	Overlap time.Duration `help:"How long the old URL works too, at most 168h." default:"24h"`
}

// RunAPI gives an incoming webhook another URL and prints it.
func (c triggerRotateCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	return c.printHook(ctx, api, s, "POST", "/rotate", map[string]any{"overlap_s": int64(c.Overlap.Seconds())})
}

type triggerURLCmd struct{ triggerArgs }

// RunAPI prints the URL of an incoming webhook. The audit log records it.
func (c triggerURLCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	return c.printHook(ctx, api, s, "GET", "", nil)
}

// printHook sends a request about a webhook and prints its URL.
func (a triggerArgs) printHook(ctx context.Context, api *client.Client, s *streams, method, act string, body any) error {
	h, err := fetch[admin.Hook](ctx, api, method, "/v1/flow/"+url.PathEscape(a.Flow)+"/hooks/"+url.PathEscape(a.Trigger)+act, body)
	if err != nil {
		return notFound(err, noTrigger)
	}
	if a.JSON {
		return printJSON(s.Out, h)
	}
	_, err = fmt.Fprintln(s.Out, *h.URL)
	return err
}

type triggerBackfillCmd struct {
	triggerArgs
	Body bodyFlags `body:"Backfill" names:"only_missed=-"`
	All  bool      `help:"Also planned times that started a run."`
}

// RunAPI starts a batch with a row for each planned time.
func (c triggerBackfillCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	body, err := c.Body.values()
	if err != nil {
		return err
	}
	body["only_missed"] = !c.All
	b, err := fetch[batch](ctx, api, "POST", c.path()+"/backfill", body)
	if err != nil {
		return notFound(err, noTrigger)
	}
	return b.print(s.Out, c.JSON)
}
