package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/flow/alarms"
	"sluice/handlers/admin"
)

// alarmCmd groups the commands for alarms.
type alarmCmd struct {
	List     alarmListCmd     `cmd:"" help:"List the alarms of the workspace."`
	Show     alarmShowCmd     `cmd:"" help:"Show an alarm."`
	Set      alarmSetCmd      `cmd:"" help:"Create an alarm or replace its configuration."`
	Pause    alarmPauseCmd    `cmd:"" help:"Pause an alarm. One that fires ends without a message."`
	Resume   alarmResumeCmd   `cmd:"" help:"Resume an alarm. It watches from now."`
	Test     alarmTestCmd     `cmd:"" help:"Send a test message to each receiver."`
	Messages alarmMessagesCmd `cmd:"" help:"List the latest messages of an alarm."`
	Secret   alarmSecretCmd   `cmd:"" help:"Print or rotate the secret that signs the webhooks of an alarm."`
	Delete   alarmDeleteCmd   `cmd:"" help:"Delete an alarm with its messages."`
}

// alarmArgs name an alarm.
type alarmArgs struct {
	Alarm string `arg:"" help:"Name or ID of the alarm."`
	JSON  bool   `help:"Print as JSON."`
}

// path returns the path of the alarm in the API.
func (a alarmArgs) path() string { return "/v1/alarms/" + url.PathEscape(a.Alarm) }

const noAlarm = "there is no such alarm; 'sluice alarm list' lists them"

type alarmListCmd struct {
	JSON bool `help:"Print as JSON."`
}

// RunAPI lists the alarms.
func (c alarmListCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	list, err := fetch[admin.AlarmList](ctx, api, "GET", "/v1/alarms", nil)
	if err != nil {
		return err
	}
	return printList(s.Out, c.JSON, list.Alarms, "NAME\tSTATE\tFLOW\tFIRES IF", func(a *admin.Alarm) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s", a.Name, alarmState(a), alarmFlow(a), a.Sentence)
	})
}

// alarmState returns the state of an alarm in a word.
func alarmState(a *admin.Alarm) string {
	switch {
	case a.Reason != nil:
		return *a.Reason
	case !time.Time(a.FiringSince).IsZero():
		return "firing"
	}
	return "quiet"
}

// alarmFlow returns the flow of an alarm.
func alarmFlow(a *admin.Alarm) string {
	if a.FlowID == nil {
		return "all"
	}
	return string(*a.FlowID)
}

// print sends a request about the alarm and prints what it is then.
func (a alarmArgs) print(ctx context.Context, api *client.Client, s *streams, method, act string, body any) error {
	o, err := fetch[admin.Alarm](ctx, api, method, a.path()+act, body)
	if err != nil {
		return notFound(err, noAlarm)
	}
	if a.JSON {
		return printJSON(s.Out, o)
	}
	if _, err := fmt.Fprintf(s.Out, "%s (%s), flow %s: %s\n", o.Name, alarmState(&o), alarmFlow(&o), o.Sentence); err != nil {
		return err
	}
	for i := range o.Config.To {
		channel, target := o.Config.To[i].Channel()
		if _, err := fmt.Fprintf(s.Out, "  to %s %s\n", channel, target); err != nil {
			return err
		}
	}
	if o.Finding != nil {
		if _, err := fmt.Fprintf(s.Out, "Firing since %s: %s\n", shortTime(time.Time(o.FiringSince)), *o.Finding); err != nil {
			return err
		}
	}
	for _, id := range o.Runs {
		if _, err := fmt.Fprintln(s.Out, "  "+string(id)); err != nil {
			return err
		}
	}
	return nil
}

type alarmShowCmd struct{ alarmArgs }

// RunAPI shows an alarm.
func (c alarmShowCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	return c.print(ctx, api, s, "GET", "", nil)
}

type alarmSetCmd struct {
	alarmArgs
	Body bodyFlags `body:"SetAlarm" names:"to=-"`
	To   []string  `sep:"none" placeholder:"RECEIVER" help:"Receivers: an address, a URL, slack:URL, teams:URL or flow:SLUG. Can be repeated."`
}

// RunAPI creates or changes an alarm.
func (c alarmSetCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	body, err := c.Body.values()
	if err != nil {
		return err
	}
	to := []alarms.Receiver{}
	for _, r := range c.To {
		to = append(to, alarms.ParseReceiver(r))
	}
	if len(to) > 0 {
		body["to"] = to
	}
	return c.print(ctx, api, s, "PUT", "", body)
}

type alarmPauseCmd struct{ alarmArgs }

// RunAPI pauses an alarm.
func (c alarmPauseCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	return c.print(ctx, api, s, "POST", "/pause", nil)
}

type alarmResumeCmd struct{ alarmArgs }

// RunAPI resumes an alarm.
func (c alarmResumeCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	return c.print(ctx, api, s, "POST", "/resume", nil)
}

type alarmTestCmd struct{ alarmArgs }

// RunAPI sends test messages.
func (c alarmTestCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	return c.messages(ctx, api, s, "POST", "/test")
}

type alarmMessagesCmd struct{ alarmArgs }

// RunAPI lists messages.
func (c alarmMessagesCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	return c.messages(ctx, api, s, "GET", "/messages")
}

// messages prints a list of messages.
func (a alarmArgs) messages(ctx context.Context, api *client.Client, s *streams, method, act string) error {
	list, err := fetch[admin.AlarmMessages](ctx, api, method, a.path()+act, nil)
	if err != nil {
		return notFound(err, noAlarm)
	}
	return printList(s.Out, a.JSON, list.Messages, "TIME\tKIND\tTO\tSTATE\tERROR", func(m *admin.AlarmMessage) string {
		problem := ""
		if m.Error != nil {
			problem = *m.Error
		}
		return fmt.Sprintf("%s\t%s\t%s %s\t%s\t%s", shortTime(time.Time(m.At)), m.Kind, m.Channel, m.Target, m.State, problem)
	})
}

type alarmSecretCmd struct {
	alarmArgs
	Rotate  bool          `help:"Create a new secret and print it."`
	Overlap time.Duration `help:"With --rotate: how long messages are also signed with the old secret, up to 168h; 0 ends it immediately." default:"24h" placeholder:"24h"`
}

// RunAPI prints the secret, or replaces it first.
func (c alarmSecretCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	method, act, body := "GET", "/secret", any(nil)
	if c.Rotate {
		method, act, body = "POST", "/rotate", map[string]any{"overlap_s": int64(c.Overlap / time.Second)}
	}
	o, err := fetch[admin.AlarmSecret](ctx, api, method, c.path()+act, body)
	if err != nil {
		return notFound(err, noAlarm)
	}
	if c.JSON {
		return printJSON(s.Out, o)
	}
	_, err = fmt.Fprintln(s.Out, o.Secret)
	return err
}

type alarmDeleteCmd struct{ alarmArgs }

// RunAPI deletes an alarm.
func (c alarmDeleteCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	if _, err := api.Call(ctx, "DELETE", c.path(), nil); err != nil {
		return notFound(err, noAlarm)
	}
	if c.JSON {
		return printJSON(s.Out, struct{}{})
	}
	_, err := fmt.Fprintf(s.Out, "Deleted the alarm %s.\n", c.Alarm)
	return err
}
