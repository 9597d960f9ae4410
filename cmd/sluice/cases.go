package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"sluice/cmd/sluice/client"
	"sluice/flow"
)

// caseCmd groups the commands for test cases.
type caseCmd struct {
	List    caseListCmd    `cmd:"" help:"List the test cases of a flow."`
	Add     caseAddCmd     `cmd:"" help:"Add a test case to a flow, or replace it."`
	FromRun caseFromRunCmd `cmd:"" help:"Make a test case of a run: its inputs, its outputs as expected ones, and recorded results."`
	Remove  caseRemoveCmd  `cmd:"" help:"Remove a test case from a flow."`
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
