package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"text/tabwriter"

	"sluice/cmd/sluice/client"
	"sluice/flow"
)

// Runs groups the commands for runs.
type Runs struct {
	List   RunList   `cmd:"" help:"List the runs of a flow, newest first."`
	Show   RunShow   `cmd:"" help:"Show a run and its steps."`
	Watch  RunWatch  `cmd:"" help:"Wait until a run has ended and print its outputs."`
	Cancel RunCancel `cmd:"" help:"Cancel a run."`
	Rerun  RunRerun  `cmd:"" help:"Run again what did not succeed, or from a node on, and print the ID of the new run."`

	Children  RunChildren  `cmd:"" help:"List the runs of other flows that a run has started, by item."`
	Approvals RunApprovals `cmd:"" help:"List the questions that a run asks people."`
	Approve   RunApprove   `cmd:"" help:"Approve a question of a run."`
	Reject    RunReject    `cmd:"" help:"Reject a question of a run."`
}

// runRef names a run. API routes of a run contain the flow.
type runRef struct {
	Flow string `arg:"" help:"Slug or ID of the flow."`
	ID   string `arg:"" name:"run" help:"ID of the run."`
}

// path returns the URL path of the run.
func (r runRef) path() string {
	return "/v1/flow/" + url.PathEscape(r.Flow) + "/run/" + url.PathEscape(r.ID)
}

// notFound rewords the error for a run that does not exist.
func (r runRef) notFound(err error) error {
	if flow.IsNotFound(err) {
		return fmt.Errorf("the flow %s has no run %s; 'sluice run list %s' lists its runs", r.Flow, r.ID, r.Flow)
	}
	return err
}

// RunList lists runs of a flow.
type RunList struct {
	Flow   string `arg:"" help:"Slug or ID of the flow."`
	Status string `help:"Only runs in this state, such as failed." placeholder:"STATUS"`
	Limit  int    `default:"20" help:"Maximum number of runs, up to 100." placeholder:"N"`
	JSON   bool   `help:"Print the response of the API as JSON."`
}

// RunAPI prints one page of runs.
func (c RunList) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	query := url.Values{"limit": {strconv.Itoa(c.Limit)}}
	if c.Status != "" {
		query.Set("status", c.Status)
	}
	raw, err := api.Call(ctx, "GET", "/v1/flow/"+url.PathEscape(c.Flow)+"/runs?"+query.Encode(), nil)
	if flow.IsNotFound(err) {
		return fmt.Errorf("the server has no flow %s; 'sluice flow list' lists the flows", c.Flow)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return PrintRaw(s.Out, raw)
	}
	var page struct {
		Runs []client.Run `json:"runs"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return err
	}
	columns := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(columns, "RUN\tSTATUS\tVERSION\tCREATED\tTIME\tSTARTED BY")
	for i := range page.Runs {
		r := &page.Runs[i]
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, r.Status, r.VersionName(), r.CreatedAt.Local().Format("2006-01-02 15:04:05"), r.Duration(), r.Trigger)
	}
	return columns.Flush()
}

// RunShow shows a run.
type RunShow struct {
	runRef
	JSON bool `help:"Print the run object as JSON."`
}

// RunAPI prints the state of the run, its steps, and the outputs known so far.
func (c RunShow) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	run, err := api.Get(ctx, c.path())
	if err != nil {
		return c.notFound(err)
	}
	if c.JSON {
		return PrintRaw(s.Out, run.Raw)
	}
	fmt.Fprintf(s.Out, "%s: %s, %s, started by %s, %s USD\n", run.ID, run.Status, run.VersionName(), run.Trigger, run.Cost.USD)
	if err := printSteps(ctx, api, c.path(), s); err != nil {
		return err
	}
	if err := PrintRun(run, flow.Text, false, s); !errors.Is(err, ErrReported) {
		return err
	}
	return nil // the exit code is 0 even if the run failed
}

// printSteps prints a line for each step. An erased run has no steps.
func printSteps(ctx context.Context, api *client.Client, path string, s *Streams) error {
	raw, err := api.Call(ctx, "GET", path+"/steps", nil)
	if errors.Is(err, &flow.Error{Code: flow.CodeRunExpired}) || errors.Is(err, &flow.Error{Code: flow.CodeResultNotSaved}) {
		_, err = fmt.Fprintln(s.Out, "The content of this run was erased.")
		return err
	}
	if err != nil {
		return err
	}
	var list struct {
		Steps []struct {
			Path  string      `json:"path"`
			Kind  string      `json:"kind"`
			State string      `json:"state"`
			Error *flow.Error `json:"error"`
		} `json:"steps"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	columns := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	for _, step := range list.Steps {
		problem := ""
		if step.Error != nil {
			problem = step.Error.Message
		}
		fmt.Fprintf(columns, "  %s\t%s\t%s\t%s\n", step.Path, step.Kind, step.State, problem)
	}
	return columns.Flush()
}

// RunWatch waits for the end of a run.
type RunWatch struct {
	runRef
	JSON bool `help:"Print the run object as JSON."`
}

// RunAPI prints the same as "flow run".
func (c RunWatch) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	run, err := api.Get(ctx, c.path())
	if err != nil {
		return c.notFound(err)
	}
	if !flow.RunState(run.Status).Ended() {
		if api.Idle {
			return fmt.Errorf("the run is %s, and no server is running here that executes it; start 'sluice serve' and watch it again", run.Status)
		}
		if err := Follow(ctx, api, run, s); err != nil {
			return err
		}
	}
	if run, err = api.Get(ctx, c.path()); err != nil {
		return err
	}
	return PrintRun(run, flow.Text, c.JSON, s)
}

// RunCancel cancels a run.
type RunCancel struct{ runRef }

// RunAPI requests the cancellation of the run. It does not affect a run that has ended.
func (c RunCancel) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	raw, err := api.Call(ctx, "POST", c.path()+"/cancel", nil)
	if err != nil {
		return c.notFound(err)
	}
	var r client.Run
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	switch {
	case r.Status == string(flow.RunCanceled):
		_, err = fmt.Fprintln(s.Out, "Canceled.")
	case flow.RunState(r.Status).Ended():
		_, err = fmt.Fprintf(s.Out, "Nothing to cancel: the run has %s.\n", r.Status)
	default:
		_, err = fmt.Fprintln(s.Out, "Canceling.")
	}
	return err
}

// RunRerun starts a run with the inputs of another.
type RunRerun struct {
	runRef
	From     string `help:"Run this node and what depends on it again, even if it succeeded." placeholder:"NODE"`
	Children string `help:"Version of other flows that its nodes run: recorded (that of the first run) or live." enum:"recorded,live" default:"recorded"`
}

// RunAPI prints the ID of the new run without waiting for its end.
func (c RunRerun) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	body := map[string]any{}
	if c.From != "" {
		body["from"] = c.From
	}
	if c.Children != "recorded" { // servers of earlier releases do not know the option
		body["children"] = c.Children
	}
	raw, err := api.Call(ctx, "POST", c.path()+"/rerun", body)
	if err != nil {
		return c.notFound(err)
	}
	var r client.Run
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.Out, r.ID)
	return err
}
