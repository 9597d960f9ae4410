package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"unicode/utf8"

	"sluice/cmd/sluice/client"
	"sluice/flow"
)

// caseCmd groups the commands for test cases.
type caseCmd struct {
	List      caseListCmd      `cmd:"" help:"List the test cases of a flow."`
	Add       caseAddCmd       `cmd:"" help:"Add a test case to a flow, or replace it."`
	FromRun   caseFromRunCmd   `cmd:"" help:"Make a test case of a run: its inputs, its outputs as expected ones, and recorded results."`
	FromEvent caseFromEventCmd `cmd:"" help:"Make a test case of a request to an incoming webhook, which was kept."`
	Label     caseLabelCmd     `cmd:"" help:"Set the expected outputs of test cases from a CSV file."`
	Remove    caseRemoveCmd    `cmd:"" help:"Remove a test case from a flow."`
}

// testCase has the members of a case that commands print.
type testCase struct {
	ID     string   `json:"id"`
	Name   string   `json:"name"`
	Tags   []string `json:"tags"`
	Checks []any    `json:"checks"`
}

// casesPath returns the path of the cases of a flow.
func casesPath(flowID string) string { return "/v1/flow/" + url.PathEscape(flowID) + "/cases" }

type caseListCmd struct {
	Flow string `arg:"" help:"ID or slug of the flow."`
	JSON bool   `help:"Print as JSON."`
}

// RunAPI lists the cases by ID.
func (c caseListCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	if c.JSON {
		list, err := fetch[struct{ Cases []any }](ctx, api, http.MethodGet, casesPath(c.Flow), nil)
		if err != nil {
			return notFound(err, noFlow)
		}
		return printJSON(s.Out, append([]any{}, list.Cases...))
	}
	list, err := fetch[struct{ Cases []testCase }](ctx, api, http.MethodGet, casesPath(c.Flow), nil)
	if err != nil {
		return notFound(err, noFlow)
	}
	return printList(s.Out, false, list.Cases, "CASE\tCHECKS\tTAGS\tNAME", func(t *testCase) string {
		return fmt.Sprintf("%s\t%d\t%s\t%s", t.ID, len(t.Checks), strings.Join(t.Tags, " "), t.Name)
	})
}

const noFlow = "there is no such flow; 'sluice flow list' lists the flows"

type caseAddCmd struct {
	Flow   string   `arg:"" help:"ID or slug of the flow."`
	ID     string   `arg:"" name:"id" help:"ID of the case: lower-case letters, digits, hyphens and underscores."`
	File   string   `help:"A file with the case as JSON, to which the other flags add." placeholder:"FILE" type:"path"`
	Input  []string `short:"i" sep:"none" help:"Value of an input; for a file, @ and its path." placeholder:"NAME=VALUE"`
	Expect []string `sep:"none" help:"Value that an output must have, as JSON or text." placeholder:"OUTPUT=VALUE"`
	Tag    []string `help:"Tags of the case." placeholder:"TAG"`
	Name   string   `help:"Name of the case for people."`
}

// RunAPI stores the case.
func (c caseAddCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	o := &flow.Object{}
	if c.File != "" {
		data, err := os.ReadFile(c.File)
		if err != nil {
			return err
		}
		v, err := flow.DecodeJSON(data)
		if err != nil {
			return fmt.Errorf("%s: %w", c.File, err)
		}
		ok := false
		if o, ok = flow.AsObject(v); !ok {
			return usageError(c.File + " is not a JSON object with a case")
		}
	}
	if len(c.Input) > 0 {
		given, err := flowRunCmd{Input: c.Input}.inputs(ctx, api, c.Flow)
		if err != nil {
			return notFound(err, noFlow)
		}
		o.Set("inputs", given)
	}
	checks, _ := o.Get("checks").([]any)
	for _, pair := range c.Expect {
		name, text, ok := strings.Cut(pair, "=")
		if !ok {
			return usageError(fmt.Sprintf("--expect %q: write OUTPUT=VALUE", pair))
		}
		checks = append(checks, map[string]any{"output": name, "equals": valueOrText(text)})
	}
	if len(checks) > 0 {
		o.Set("checks", checks)
	}
	if len(c.Tag) > 0 {
		o.Set("tags", c.Tag)
	}
	if c.Name != "" {
		o.Set("name", c.Name)
	}
	saved, err := fetch[struct {
		ID      string
		Created bool
	}](ctx, api, http.MethodPut, casesPath(c.Flow)+"/"+url.PathEscape(c.ID), o)
	if err != nil {
		return notFound(err, noFlow)
	}
	done := "saved"
	if saved.Created {
		done = "added"
	}
	_, err = fmt.Fprintf(s.Out, "The case %s is %s.\n", saved.ID, done)
	return err
}

type caseFromRunCmd struct {
	Flow string    `arg:"" help:"ID or slug of the flow."`
	Runs []string  `arg:"" name:"run" help:"IDs of runs that have ended."`
	Body bodyFlags `body:"CasesFromRuns" names:"runs=-,filter=-,sample=-,spread=-,tags=tag"`
}

// RunAPI makes the cases, and prints the ID of each. It fails if a run gives none.
func (c caseFromRunCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	body, err := c.Body.values()
	if err != nil {
		return err
	}
	body["runs"] = c.Runs
	preview := body["preview"] == true
	made, err := fetch[struct {
		Cases []struct {
			ID      *string `json:"id"`
			RunID   string  `json:"run_id"`
			Skipped string  `json:"skipped"`
			Case    any     `json:"case"`

			Unrecorded []string `json:"unrecorded"`
		}
	}](ctx, api, http.MethodPost, casesPath(c.Flow)+"/from-runs", body)
	if err != nil {
		return notFound(err, "there is no such flow or run; 'sluice run list FLOW' lists the runs of a flow")
	}
	var shown []any
	skipped := 0
	for _, m := range made.Cases {
		switch {
		case m.ID == nil:
			skipped++
			fmt.Fprintf(s.Err, "%s: no case. %s\n", m.RunID, m.Skipped)
		case preview:
			shown = append(shown, m.Case)
		default:
			fmt.Fprintln(s.Out, *m.ID)
		}
		if len(m.Unrecorded) > 0 {
			fmt.Fprintf(s.Err, "%s: without recorded results of %s; 'sluice flow test --mode fill' records them.\n", m.RunID, strings.Join(m.Unrecorded, ", "))
		}
	}
	if preview {
		if err := printJSON(s.Out, append([]any{}, shown...)); err != nil {
			return err
		}
	}
	if skipped > 0 {
		return fmt.Errorf("%s without a case", flow.Count(skipped, "run"))
	}
	return nil
}

type caseFromEventCmd struct {
	Flow    string   `arg:"" help:"ID or slug of the flow."`
	Hook    string   `arg:"" name:"webhook" help:"Name or ID of the incoming webhook."`
	Event   string   `arg:"" name:"event" help:"Key of the event; 'sluice trigger events FLOW WEBHOOK' lists them."`
	Tag     []string `help:"Tags of the case." placeholder:"TAG"`
	Preview bool     `help:"Only print the case as JSON; stores nothing."`
}

// RunAPI makes the case, and prints its ID.
func (c caseFromEventCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	body := map[string]any{"hook": c.Hook, "event": c.Event, "preview": c.Preview}
	if len(c.Tag) > 0 {
		body["tags"] = c.Tag
	}
	made, err := fetch[struct {
		ID      *string  `json:"id"`
		Skipped string   `json:"skipped"`
		LeftOut []string `json:"left_out"`
		Case    any      `json:"case"`
	}](ctx, api, http.MethodPost, casesPath(c.Flow)+"/from-event", body)
	if err != nil {
		return notFound(err, "there is no such flow, webhook or event, or its request was not kept; 'sluice trigger events FLOW WEBHOOK' lists the events")
	}
	if made.ID == nil {
		return fmt.Errorf("no case: %s", made.Skipped)
	}
	if len(made.LeftOut) > 0 {
		fmt.Fprintf(s.Err, "Without %s, which come from headers of the request. Add values to the case.\n", strings.Join(made.LeftOut, ", "))
	}
	if c.Preview {
		return printJSON(s.Out, made.Case)
	}
	_, err = fmt.Fprintln(s.Out, *made.ID)
	return err
}

type caseLabelCmd struct {
	Flow        string `arg:"" help:"ID or slug of the flow."`
	File        string `arg:"" help:"A CSV file in UTF-8: the column case has IDs or names of cases, each other column an output; - for standard input." type:"path"`
	SkipInvalid bool   `help:"Store the rows that are right, also if others are wrong."`
	Preview     bool   `help:"Only check the file; stores nothing."`
}

// RunAPI labels the cases. It fails if a row is wrong.
func (c caseLabelCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	text, err := readTable(c.File, s)
	if err != nil {
		return err
	}
	body := map[string]any{"csv": text, "preview": c.Preview}
	if c.SkipInvalid {
		body["on_invalid"] = "skip"
	}
	done, err := fetch[struct {
		Labeled, Changed int
		Problems         []struct {
			Row            int
			Column, Detail string
		}
	}](ctx, api, http.MethodPost, casesPath(c.Flow)+"/labels", body)
	if err != nil {
		return notFound(err, noFlow)
	}
	for _, p := range done.Problems {
		fmt.Fprintln(s.Err, strings.ReplaceAll(fmt.Sprintf("row %d, %s: %s", p.Row, p.Column, p.Detail), ", :", ":"))
	}
	switch {
	case len(done.Problems) > 0 && !c.SkipInvalid:
		return fmt.Errorf("%s; nothing is stored", flow.Count(len(done.Problems), "problem"))
	case c.Preview:
		_, err = fmt.Fprintf(s.Out, "%s would change.\n", flow.Count(done.Changed, "case"))
	default:
		_, err = fmt.Fprintf(s.Out, "%s labeled, %d of them changed.\n", flow.Count(done.Labeled, "case"), done.Changed)
	}
	if err == nil && len(done.Problems) > 0 {
		err = fmt.Errorf("%s left out", flow.Count(len(done.Problems), "problem"))
	}
	return err
}

// readTable reads a file, or standard input for -, as UTF-8.
func readTable(path string, s *streams) (string, error) {
	var data []byte
	var err error
	if path == "-" || strings.HasSuffix(path, "/-") {
		data, err = io.ReadAll(s.In)
	} else {
		data, err = os.ReadFile(path)
	}
	if err == nil && !utf8.Valid(data) {
		err = usageError(path + " is not in UTF-8; save it as “CSV UTF-8”")
	}
	return string(data), err
}

type caseRemoveCmd struct {
	Flow string `arg:"" help:"ID or slug of the flow."`
	ID   string `arg:"" name:"id" help:"ID of the case."`
}

// RunAPI deletes the case.
func (c caseRemoveCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	if _, err := api.Call(ctx, http.MethodDelete, casesPath(c.Flow)+"/"+url.PathEscape(c.ID), nil); err != nil {
		return notFound(err, "there is no such case; 'sluice case list FLOW' lists the cases of a flow")
	}
	_, err := fmt.Fprintf(s.Out, "The case %s is removed.\n", c.ID)
	return err
}
