package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/cmd/sluice/remote"
	"sluice/flow"
	"sluice/flow/cases"
)

// testCmd groups the commands for tests.
type testCmd struct {
	Run   testRunCmd   `cmd:"" default:"withargs" help:"Run the cases of flow files in a temporary database, as 'sluice test FILE...' for short. Needs no server and no key: results come from SLUG.tests."`
	Show  testShowCmd  `cmd:"" help:"Show the report of a test."`
	Watch testWatchCmd `cmd:"" help:"Wait for the end of a test, and show its report."`
}

// errStale is the error of tests without failures whose cases lack recorded results. The report has been printed.
var errStale = errors.New("some cases are stale")

// testOutput are the flags for reports of tests.
type testOutput struct {
	JUnit    string `name:"junit" help:"Write the report as JUnit XML to this file, for CI servers." placeholder:"FILE" type:"path"`
	Markdown string `help:"Write the report as Markdown to this file, for a comment on a pull request." placeholder:"FILE" type:"path"`
	JSON     bool   `help:"Print the report as JSON."`
}

// testResult is what commands read of the report of a test.
type testResult struct {
	ID      string      `json:"id"`
	FlowID  string      `json:"flow_id"`
	Status  string      `json:"status"`
	State   cases.State `json:"state"`
	Summary string      `json:"summary"`
	Mode    string      `json:"mode"`
	Runs    int         `json:"runs"`
	Done    int         `json:"runs_done"`

	Estimate *struct {
		Steps    int      `json:"steps"`
		Recorded int      `json:"recorded"`
		Calls    int      `json:"calls"`
		USD      *float64 `json:"usd"`
	} `json:"estimate"`
	Baseline   *int `json:"baseline"`
	Candidates []struct {
		Label string `json:"label"`
	} `json:"candidates"`
	Cases []struct {
		ID      string `json:"id"`
		Results []struct {
			State   cases.State `json:"state"`
			Message string      `json:"message"`
		} `json:"results"`
	} `json:"cases"`
}

// ended reports whether the run of the test has ended.
func (r *testResult) ended() bool { return flow.RunState(r.Status).Ended() }

// testsPath returns the path of the tests of a flow.
func testsPath(flowID string) string { return "/v1/flow/" + url.PathEscape(flowID) + "/tests" }

// outcome returns the error with which a command ends for the worst state of tests; the report has been printed.
func outcome(states ...cases.State) error {
	stale := false
	for _, s := range states {
		switch s {
		case cases.Passed:
		case cases.Stale:
			stale = true
		default:
			return remote.ErrReported
		}
	}
	if stale {
		return errStale
	}
	return nil
}

// watchTest follows a test until it has ended, and returns its report.
func watchTest(ctx context.Context, api *client.Client, s *streams, flowID, id string) (r testResult, raw []byte, err error) {
	path, shown := testsPath(flowID)+"/"+url.PathEscape(id), -1
	for {
		if raw, err = api.Call(ctx, http.MethodGet, path, nil); err != nil {
			return r, nil, notFound(err, noTest)
		}
		r = testResult{}
		if err := json.Unmarshal(raw, &r); err != nil {
			return r, nil, fmt.Errorf("the server at %s is not Sluice or has another version; check the address", api.Base)
		}
		if r.ended() {
			return r, raw, nil
		}
		if r.Done != shown && isTerminal(s.Err) {
			shown = r.Done
			fmt.Fprintf(s.Err, "%d of %d runs\n", r.Done, r.Runs)
		}
		select {
		case <-ctx.Done():
			return r, nil, ctx.Err()
		case <-time.After(watchTestEvery):
		}
	}
}

// watchTestEvery is how often a test is read.
const watchTestEvery = 200 * time.Millisecond

const noTest = "there is no such test; GET /v1/flow/FLOW/tests lists the tests of a flow"

// print prints a report: its first line, and the cases that do not pass.
func (r *testResult) print(s *streams, name string) {
	fmt.Fprintf(s.Out, "%s: %s\n", name, oneLine(r.Summary))
	if r.Status != string(flow.RunSucceeded) && r.ended() {
		fmt.Fprintf(s.Out, "  The test is %s; its run says why.\n", r.Status)
	}
	for _, c := range r.Cases {
		for k, result := range c.Results {
			if result.State == cases.Passed || r.Baseline != nil && *r.Baseline == k && len(r.Candidates) > 1 {
				continue
			}
			of := ""
			if len(r.Candidates) > 1 {
				of = " (" + r.Candidates[k].Label + ")"
			}
			fmt.Fprintf(s.Out, "  %s%s: %s. %s\n", c.ID, oneLine(of), result.State, oneLine(result.Message))
		}
	}
}

// printEstimate says on standard error what a test that may call services will do.
func (r *testResult) printEstimate(s *streams) {
	e := r.Estimate
	if e == nil || r.Mode == string(flow.CaseReplay) {
		return
	}
	cost := "a model has no price, so the cost is unknown; --max-usd limits it"
	if e.USD != nil {
		cost = "at most $" + flow.FormatNumber(*e.USD)
	}
	fmt.Fprintf(s.Err, "Up to %s of models and services; up to %d of %d results are recorded; %s.\n", flow.Count(e.Calls, "call"), e.Recorded, e.Steps, cost)
}

// write prints the report of a test that has ended, and writes its files.
func (o testOutput) write(ctx context.Context, api *client.Client, s *streams, name string, r *testResult, raw []byte) error {
	if o.JSON {
		if err := remote.PrintRaw(s.Out, raw); err != nil {
			return err
		}
	} else {
		r.print(s, name)
	}
	for format, path := range map[string]string{"junit": o.JUnit, "markdown": o.Markdown} {
		if path == "" {
			continue
		}
		data, err := reportAs(ctx, api, r, format)
		if err == nil {
			err = os.WriteFile(path, data, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return outcome(r.State)
}

// reportAs returns the report of a test in a format.
func reportAs(ctx context.Context, api *client.Client, r *testResult, format string) ([]byte, error) {
	return api.Call(ctx, http.MethodGet, testsPath(r.FlowID)+"/"+r.ID+"?format="+format, nil)
}

// testOptions are the flags of a test.
type testOptions struct {
	Mode string    `help:"replay: only recorded results, free. fill: what is not recorded is called, and recorded. live: models and reads are called." enum:"replay,fill,live" default:"replay"`
	Body bodyFlags `body:"StartTest" names:"candidates=-,baseline=-,mode=-,cases=-"`
	Case []string  `help:"Only these cases." placeholder:"ID"`
}

// body returns the options as the body of a start.
func (o testOptions) body() (map[string]any, error) {
	body, err := o.Body.values()
	if err != nil {
		return nil, err
	}
	if body["mode"] = o.Mode; len(o.Case) > 0 {
		body["cases"] = o.Case
	}
	return body, nil
}

// flowTestCmd tests a flow of the server.
type flowTestCmd struct {
	Flow      string   `arg:"" help:"ID or slug of the flow."`
	Candidate []string `help:"What is tested: draft, live or the number of a version, and values of fields after spaces. Repeatable." placeholder:"\"VERSION NODE.FIELD=VALUE\"" sep:"none"`
	Baseline  string   `help:"What the candidates are compared with." placeholder:"VERSION"`
	Start     bool     `help:"Only start the test, and print its ID for 'sluice test watch'."`
	testOptions
	testOutput
}

// need implements the interface that executeAPI knows: the test waits for runs.
func (flowTestCmd) need() databaseNeed { return needRuns }

// RunAPI runs the test, and prints its report.
func (c flowTestCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	var list []any
	for _, text := range c.Candidate {
		candidate, err := parseCandidate(text)
		if err != nil {
			return err
		}
		list = append(list, candidate)
	}
	if len(list) > 0 {
		body["candidates"] = list
	}
	if c.Baseline != "" {
		candidate, err := parseCandidate(c.Baseline)
		if err != nil {
			return err
		}
		body["baseline"] = candidate
	}
	started, err := fetch[testResult](ctx, api, http.MethodPost, testsPath(c.Flow), body)
	if err != nil {
		return notFound(err, noFlow)
	}
	started.printEstimate(s)
	if c.Start {
		_, err := fmt.Fprintln(s.Out, started.ID)
		return err
	}
	r, raw, err := watchTest(ctx, api, s, c.Flow, started.ID)
	if err != nil {
		return err
	}
	return c.write(ctx, api, s, c.Flow, &r, raw)
}

// parseCandidate reads a candidate: a version, and values of fields after spaces.
func parseCandidate(text string) (map[string]any, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, usageError("--candidate: name draft, live or the number of a version")
	}
	candidate := map[string]any{"version": words[0]}
	if n, err := strconv.ParseInt(words[0], 10, 64); err == nil {
		candidate["version"] = n
	}
	set := map[string]any{}
	_, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	for _, word := range strings.Fields(rest) {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return nil, usageError(fmt.Sprintf("--candidate %q: write VERSION NODE.FIELD=VALUE", text))
		}
		set[name] = valueOrText(value)
	}
	if len(set) > 0 {
		candidate["set"] = set
	}
	return candidate, nil
}

// valueOrText returns a text as the JSON that it is, or as text.
func valueOrText(text string) any {
	if v, err := flow.DecodeJSON([]byte(text)); err == nil {
		return v
	}
	return text
}

// testArgs name a test.
type testArgs struct {
	Flow string `arg:"" help:"ID or slug of the flow."`
	Test string `arg:"" help:"ID of the test."`
	testOutput
}

type testShowCmd struct{ testArgs }

// RunAPI prints the report as it is now.
func (c testShowCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	raw, err := api.Call(ctx, http.MethodGet, testsPath(c.Flow)+"/"+url.PathEscape(c.Test), nil)
	if err != nil {
		return notFound(err, noTest)
	}
	var r testResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	return c.write(ctx, api, s, c.Flow, &r, raw)
}

type testWatchCmd struct{ testArgs }

// need implements the interface that executeAPI knows: the command waits for runs.
func (testWatchCmd) need() databaseNeed { return needRuns }

// RunAPI waits for the end of the test.
func (c testWatchCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	r, raw, err := watchTest(ctx, api, s, c.Flow, c.Test)
	if err != nil {
		return err
	}
	return c.write(ctx, api, s, c.Flow, &r, raw)
}
