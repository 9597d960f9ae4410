package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/flow"
)

// batchCmd groups the commands for batches.
type batchCmd struct {
	Start   batchStartCmd   `cmd:"" help:"Run a flow for every row of a table."`
	List    batchListCmd    `cmd:"" help:"List the batches of a flow."`
	Show    batchShowCmd    `cmd:"" help:"Show a batch."`
	Watch   batchWatchCmd   `cmd:"" help:"Show a batch until it has ended."`
	Results batchResultsCmd `cmd:"" help:"Write the rows with their results."`
	Pause   batchPauseCmd   `cmd:"" help:"Pause a batch. Rows in progress go on."`
	Resume  batchResumeCmd  `cmd:"" help:"Let a paused batch continue."`
	Retry   batchRetryCmd   `cmd:"" help:"Run the failed rows of a batch again."`
	Cancel  batchCancelCmd  `cmd:"" help:"Cancel a batch."`
}

// batch is the JSON of a batch.
type batch struct {
	Run struct {
		RunID  flow.RunID `json:"run_id"`
		FlowID string     `json:"flow_id"`
		Status string     `json:"status"`

		WaitingFor *flow.WaitsFor `json:"waiting_for"`
	} `json:"run"`
	Paused bool `json:"paused"`
	Rows   struct {
		Total     int `json:"total"`
		Pending   int `json:"pending"`
		Running   int `json:"running"`
		Succeeded int `json:"succeeded"`
		Failed    int `json:"failed"`
	} `json:"rows"`
}

// line describes a batch.
func (b *batch) line() string {
	status := b.Run.Status
	switch {
	case b.Paused:
		status = "paused"
	case b.Run.WaitingFor != nil && *b.Run.WaitingFor == flow.WaitsForBudget:
		status = "waits for a budget"
	}
	if b.Rows.Total < 0 {
		return fmt.Sprintf("%s\t%s\treading rows\t", b.Run.RunID, status)
	}
	return fmt.Sprintf("%s\t%s\t%d of %d rows\t%d failed", b.Run.RunID, status, b.Rows.Succeeded+b.Rows.Failed, b.Rows.Total, b.Rows.Failed)
}

// ended reports whether the batch has ended.
func (b *batch) ended() bool { return flow.RunState(b.Run.Status).Ended() }

// print prints a batch.
func (b *batch) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return printJSON(out, b)
	}
	_, err := fmt.Fprintln(out, strings.ReplaceAll(strings.TrimRight(b.line(), "\t"), "\t", "  "))
	return err
}

// batchesPath returns the path of the batches of a flow.
func batchesPath(flow string) string { return "/v1/flow/" + url.PathEscape(flow) + "/batches" }

const noBatch = "there is no such batch; 'sluice batch list FLOW' lists the batches of a flow"

// batchArgs name a batch.
type batchArgs struct {
	Flow  string `arg:"" help:"ID or slug of the flow."`
	Batch string `arg:"" help:"ID of the batch, which is that of its run."`
	JSON  bool   `help:"Print as JSON."`
}

// path returns the path of the batch in the API.
func (a batchArgs) path() string { return batchesPath(a.Flow) + "/" + url.PathEscape(a.Batch) }

// runPath returns the path of the run of the batch.
func (a batchArgs) runPath() string {
	return "/v1/flow/" + url.PathEscape(a.Flow) + "/run/" + url.PathEscape(a.Batch)
}

// show prints what a request about the batch returns.
func (a batchArgs) show(ctx context.Context, api *client.Client, s *streams, method string, body any) error {
	b, err := fetch[batch](ctx, api, method, a.path(), body)
	if err != nil {
		return notFound(err, noBatch)
	}
	return b.print(s.Out, a.JSON)
}

type batchStartCmd struct {
	Flow        string    `arg:"" help:"ID or slug of the flow."`
	File        string    `arg:"" help:"The table: CSV, TSV, JSON or XLSX, or the ID of an uploaded file."`
	Body        bodyFlags `body:"StartBatch" names:"file=-,rows=-,columns=column,on_invalid=-,webhook=-"`
	SkipInvalid bool      `help:"Skip rows that do not fit, instead of starting nothing."`
	Watch       bool      `help:"Follow the batch until it has ended."`
	JSON        bool      `help:"Print as JSON."`
}

// RunAPI uploads the table and starts the batch.
func (c batchStartCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	body, err := c.Body.values()
	if err != nil {
		return err
	}
	body["file"] = c.File
	if c.SkipInvalid {
		body["on_invalid"] = "skip"
	}
	if !flow.ValidID(flow.PrefixFile, c.File) {
		file, err := api.Upload(ctx, c.File)
		if err != nil {
			return err
		}
		body["file"] = file["file"]
	}
	b, err := fetch[batch](ctx, api, http.MethodPost, batchesPath(c.Flow), body)
	if err != nil {
		return notFound(err, noFlow)
	}
	if !c.Watch {
		return b.print(s.Out, c.JSON)
	}
	return batchArgs{Flow: c.Flow, Batch: string(b.Run.RunID), JSON: c.JSON}.watch(ctx, api, s)
}

type batchListCmd struct {
	Flow string `arg:"" help:"ID or slug of the flow."`
	JSON bool   `help:"Print as JSON."`
}

// RunAPI lists the newest batches.
func (c batchListCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	list, err := fetch[struct{ Batches []batch }](ctx, api, http.MethodGet, batchesPath(c.Flow), nil)
	if err != nil {
		return notFound(err, noFlow)
	}
	return printList(s.Out, c.JSON, list.Batches, "BATCH\tSTATE\tROWS\tFAILED", (*batch).line)
}

type batchShowCmd struct{ batchArgs }

// RunAPI shows a batch.
func (c batchShowCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	return c.show(ctx, api, s, http.MethodGet, nil)
}

type batchWatchCmd struct{ batchArgs }

// watchEvery is how often a batch that is watched is read.
const watchEvery = time.Second

// RunAPI prints the batch when it has changed, until it has ended.
func (c batchWatchCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	return c.watch(ctx, api, s)
}

// watch follows a batch. It fails if the batch does.
func (a batchArgs) watch(ctx context.Context, api *client.Client, s *streams) error {
	for last := ""; ; {
		b, err := fetch[batch](ctx, api, http.MethodGet, a.path(), nil)
		if err != nil {
			return notFound(err, noBatch)
		}
		if line := b.line(); line != last && (!a.JSON || b.ended()) {
			if last = line; b.print(s.Out, a.JSON) != nil {
				return nil // no one reads it
			}
		}
		if b.ended() {
			if b.Run.Status != string(flow.RunSucceeded) {
				return fmt.Errorf("the batch is %s", b.Run.Status)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(watchEvery):
		}
	}
}

type batchResultsCmd struct {
	batchArgs
	Format string `help:"Format of the file." enum:"csv,jsonl,xlsx" default:"csv"`
	Failed bool   `help:"Only rows that failed."`
	Output string `short:"o" help:"File to write; standard output without it." placeholder:"FILE" type:"path"`
}

// RunAPI writes the results.
func (c batchResultsCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	path := c.path() + "/results?format=" + c.Format
	if c.Failed {
		path += "&only=failed"
	}
	resp, err := api.Do(ctx, http.MethodGet, path, "*/*", nil)
	if err != nil {
		return notFound(err, noBatch)
	}
	defer resp.Body.Close()
	if c.Output == "" {
		_, err = io.Copy(s.Out, resp.Body)
		return err
	}
	f, err := os.Create(c.Output)
	if err != nil {
		return err
	}
	if _, err = io.Copy(f, resp.Body); err != nil {
		_ = f.Close() // the first error counts
		return err
	}
	return f.Close()
}

type batchPauseCmd struct{ batchArgs }

// RunAPI pauses a batch.
func (c batchPauseCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	return c.show(ctx, api, s, http.MethodPatch, map[string]any{"paused": true})
}

type batchResumeCmd struct{ batchArgs }

// RunAPI lets a batch continue.
func (c batchResumeCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	return c.show(ctx, api, s, http.MethodPatch, map[string]any{"paused": false})
}

type batchRetryCmd struct{ batchArgs }

// RunAPI starts a batch that repeats the failed rows.
func (c batchRetryCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	run, err := fetch[struct {
		RunID string `json:"run_id"`
	}](ctx, api, http.MethodPost, c.runPath()+"/rerun", map[string]any{})
	if err != nil {
		return notFound(err, noBatch)
	}
	c.Batch = run.RunID
	return c.show(ctx, api, s, http.MethodGet, nil)
}

type batchCancelCmd struct{ batchArgs }

// RunAPI cancels a batch.
func (c batchCancelCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	if _, err := api.Call(ctx, http.MethodPost, c.runPath()+"/cancel", nil); err != nil {
		return notFound(err, noBatch)
	}
	return c.show(ctx, api, s, http.MethodGet, nil)
}
