package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"sluice/cmd/sluice/client"
	"sluice/flow"
	"sluice/flow/value"
)

// Runs groups the commands for runs.
type Runs struct {
	List   RunList   `cmd:"" help:"List the runs of a flow, newest first."`
	Show   RunShow   `cmd:"" help:"Show a run and its steps."`
	Steps  RunSteps  `cmd:"" help:"List the steps of a run, also those inside of nodes, such as the turns of an agent."`
	Watch  RunWatch  `cmd:"" help:"Wait until a run has ended and print its outputs."`
	Cancel RunCancel `cmd:"" help:"Cancel a run."`
	Rerun  RunRerun  `cmd:"" help:"Run again what did not succeed, or from a node on, and print the ID of the new run."`

	Children  RunChildren  `cmd:"" help:"List the runs of other flows that a run has started, by item."`
	Approvals RunApprovals `cmd:"" help:"List the questions that a run asks people."`
	Approve   RunApprove   `cmd:"" help:"Approve a question of a run."`
	Reject    RunReject    `cmd:"" help:"Reject a question of a run."`
}

// runRef names a run, by its ID and that of its flow, or by its ID alone.
type runRef struct {
	Flow string `arg:"" help:"Slug or ID of the flow. It can be left out: 'sluice run show run_…'."`
	ID   string `arg:"" optional:"" name:"run" help:"ID of the run."`
}

// path returns the URL path of the run. Routes of what belongs to a run contain its flow; see locate.
func (r runRef) path() string {
	if r.ID == "" {
		return "/v1/run/" + url.PathEscape(r.Flow)
	}
	return "/v1/flow/" + url.PathEscape(r.Flow) + "/run/" + url.PathEscape(r.ID)
}

// locate fills in the flow of a run that is named by its ID alone.
func (r *runRef) locate(ctx context.Context, api *client.Client) error {
	if r.ID != "" {
		return nil
	}
	run, err := api.Get(ctx, r.path())
	if err != nil {
		return r.notFound(err)
	}
	r.Flow, r.ID = run.FlowID, run.ID
	return nil
}

// notFound rewords the error for a run that does not exist.
func (r runRef) notFound(err error) error {
	switch {
	case !flow.IsNotFound(err):
		return err
	case r.ID != "":
		return fmt.Errorf("the flow %s has no run %s; 'sluice run list %s' lists its runs", r.Flow, r.ID, r.Flow)
	case flow.ValidID(flow.PrefixRun, r.Flow):
		return fmt.Errorf("there is no run %s", r.Flow)
	}
	return fmt.Errorf("%s is not the ID of a run; 'sluice run list %s' lists the runs of a flow", r.Flow, r.Flow)
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
	if err := c.locate(ctx, api); err != nil {
		return err
	}
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

// RunSteps lists the steps of a run.
type RunSteps struct {
	runRef
	Tree  bool   `help:"List the steps inside of each node below it."`
	Under string `help:"List only the steps inside of this node, or inside of a step of it such as agent.3." placeholder:"PATH"`
	JSON  bool   `help:"Print the steps as JSON, with their content."`
}

// stepRow is a step as commands print it.
type stepRow struct {
	Path      string      `json:"path"`
	Node      string      `json:"node"`
	Kind      string      `json:"kind"`
	State     string      `json:"state"`
	Error     *flow.Error `json:"error"`
	Cost      stepCost    `json:"cost"`
	TotalCost *stepCost   `json:"total_cost"`
}

type stepCost struct {
	USD string `json:"usd"`
}

// RunAPI prints a line for each step with its cost.
func (c RunSteps) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	if err := c.locate(ctx, api); err != nil {
		return err
	}
	rows, raw, err := c.list(ctx, api, c.Under)
	if err != nil {
		return c.notFound(err)
	}
	for i := 0; i < len(rows) && c.Tree && c.Under == ""; i++ {
		if rows[i].TotalCost == nil {
			continue
		}
		inside, more, err := c.list(ctx, api, rows[i].Path)
		if err != nil {
			return err
		}
		rows, raw = slices.Insert(rows, i+1, inside...), slices.Insert(raw, i+1, more...)
		i += len(inside)
	}
	if c.JSON {
		return PrintRaw(s.Out, flow.EncodeJSON(map[string]any{"steps": raw}))
	}
	columns := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(columns, "STEP\tNODE\tKIND\tSTATE\tUSD\tERROR")
	for _, row := range rows {
		problem, cost := "", row.Cost
		if row.Error != nil {
			problem = row.Error.Message
		}
		if row.TotalCost != nil {
			cost = *row.TotalCost
		}
		fmt.Fprintf(columns, "%s%s\t%s\t%s\t%s\t%s\t%s\n", strings.Repeat("  ", strings.Count(row.Path, flow.SubSeparator)), row.Path, row.Node, row.Kind, row.State, cost.USD, problem)
	}
	return columns.Flush()
}

// list returns all steps of the nodes, or those inside of one, also as the API returned them.
func (c RunSteps) list(ctx context.Context, api *client.Client, under string) (rows []stepRow, raw []any, err error) {
	query := url.Values{}
	if under != "" {
		query.Set("under", under)
		query.Set("contents", strconv.FormatBool(c.JSON))
	}
	for {
		data, err := api.Call(ctx, "GET", c.path()+"/steps?"+query.Encode(), nil)
		if err != nil {
			return nil, nil, err
		}
		var page struct {
			Steps      []stepRow `json:"steps"`
			NextCursor string    `json:"next_cursor"`
		}
		if err := json.Unmarshal(data, &page); err != nil {
			return nil, nil, err
		}
		list, err := flow.DecodeJSON(data)
		if err != nil {
			return nil, nil, err
		}
		steps, _ := value.Get(list, "steps").([]any)
		rows, raw = append(rows, page.Steps...), append(raw, steps...)
		if page.NextCursor == "" {
			return rows, raw, nil
		}
		query.Set("cursor", page.NextCursor)
	}
}

// RunWatch waits for the end of a run.
type RunWatch struct {
	runRef
	JSON bool `help:"Print the run object as JSON."`
}

// RunAPI prints the same as "flow run".
func (c RunWatch) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	if err := c.locate(ctx, api); err != nil {
		return err
	}
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
type RunCancel struct {
	runRef
	After string `help:"turn: let agents end their turns with all calls first." enum:",turn" default:"" placeholder:"turn"`
}

// RunAPI requests the cancellation of the run. It does not affect a run that has ended.
func (c RunCancel) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	if err := c.locate(ctx, api); err != nil {
		return err
	}
	var body any
	if c.After != "" {
		body = map[string]any{"after": c.After}
	}
	raw, err := api.Call(ctx, "POST", c.path()+"/cancel", body)
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
	case c.After != "":
		_, err = fmt.Fprintln(s.Out, "Stopping after the turn.")
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
	Skip     bool   `name:"skip-failed" help:"Go on without the items of a Map that failed; their results are null."`
}

// RunAPI prints the ID of the new run without waiting for its end.
func (c RunRerun) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	if err := c.locate(ctx, api); err != nil {
		return err
	}
	body := map[string]any{}
	if c.From != "" {
		body["from"] = c.From
	}
	if c.Children != "recorded" { // servers of earlier releases do not know the option
		body["children"] = c.Children
	}
	if c.Skip {
		body["skip_failed"] = true
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
