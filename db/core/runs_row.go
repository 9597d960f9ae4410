package core

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/inflight"
)

// RunRow returns the row of a new run. It is encoded before the transaction to
// keep work off the single writer of SQLite.
func (s Execution) RunRow(r *flow.Run, webhook *flow.NewDelivery, secrets map[string]string) (gen.InsertRunParams, error) {
	sealed, err := s.DB.sealWebhook(r, webhook)
	if err != nil {
		return gen.InsertRunParams{}, err
	}
	sealedInputs := []byte{}
	if len(secrets) > 0 {
		sealedInputs, err = s.DB.sealValue(secrets, r.WorkspaceID, string(r.ID), "secrets")
	}
	row := gen.InsertRunParams{
		ID: r.ID, WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, Version: r.Version, Draft: dbconn.BoolInt(r.Draft),
		DocumentHash: r.DocumentHash, State: string(r.State), RunTrigger: string(r.Trigger),
		KeyID: r.KeyID, UserID: r.UserID, ParentRunID: r.ParentRunID, RerunFrom: r.RerunFrom, ChildrenLive: int64(r.ChildVersions), SkipFailed: dbconn.BoolInt(r.SkipFailed),
		ProgressDone: int64(r.Progress.Done), ProgressTotal: int64(r.Progress.Total), Seq: r.Seq, RunSeq: r.RunSeq,
		Save: dbconn.BoolInt(r.Save), Timeout: r.Timeout.Microseconds(), CreatedAt: dbconn.Micros(r.CreatedAt), DeadlineAt: dbconn.Micros(r.DeadlineAt),
		Gist: contract.Summary(r.Inputs), Webhook: sealed, Secrets: sealedInputs, Metadata: dbconn.EncodeObject(r.Metadata), Inputs: dbconn.EncodeObject(r.Inputs),
		FlowsAbove: dbconn.EncodeIDs(r.FlowsAbove), MaxNanoUsd: r.MaxUSD, Budgets: dbconn.EncodeIDs(r.Budgets),
		TriggerID: r.TriggerID, TriggerName: r.TriggerName, ScheduledAt: dbconn.Micros(r.ScheduledAt), EventKey: r.EventKey,
		Untrusted: int64(r.Untrusted), Continues: r.Continues, ContextHash: r.ContextHash, CaseRun: encodeCaseRun(r.Case), Depth: int64(r.Depth), Traceparent: r.Traceparent,
	}
	if c := r.Caller; c != nil {
		row.CallerRunID, row.CallerPath, row.CallerRound, row.CallerItem = c.RunID, c.Path, int64(c.Round), int64(c.Item)
	}
	return row, err
}

// updateRow returns the row of a run after a write, for both ways to write it: alone
// and in a set.
func updateRow(texts *dbconn.Texts, r *flow.Run, place int64, w *flow.RunWrite) gen.UpdateRunParams {
	return gen.UpdateRunParams{
		ID: r.ID, WorkspaceID: r.WorkspaceID, Attempt: r.Attempt, State: string(r.State), Place: place,
		Outputs: texts.EncodeObject(r.Outputs), Error: dbconn.EncodeError(r.Error),
		InputTokens: r.Usage.InputTokens, OutputTokens: r.Usage.OutputTokens, CostNanoUsd: r.Usage.CostNanoUSD,
		CachedTokens: r.Usage.CachedTokens, ReasoningTokens: r.Usage.ReasoningTokens, UnpricedSteps: r.Usage.UnpricedSteps, Models: dbconn.EncodeList(r.Models),
		ProgressDone: int64(r.Progress.Done), ProgressTotal: int64(r.Progress.Total), Seq: r.Seq, RunSeq: r.RunSeq,
		StartedAt: dbconn.Micros(r.StartedAt), EndedAt: dbconn.Micros(r.EndedAt), ExpiresAt: dbconn.Micros(r.ExpiresAt),
		DeadlineAt: dbconn.Micros(r.DeadlineAt), WaitingSince: dbconn.Micros(r.WaitingSince), KeepCrashes: dbconn.BoolInt(!w.Progressed), KeepTrial: dbconn.BoolInt(!w.Progressed && place == PlaceWorker),
		Untrusted: int64(r.Untrusted), Busy: dbconn.BoolInt(w.Busy), Writes: r.Writes, CancelAllowed: dbconn.BoolInt(!w.End || r.State == flow.RunCanceled),
	}
}

// RunOf converts a row. If some content cannot be read, it returns the rest and
// an error.
func RunOf(r *gen.Run) (*flow.Run, error) {
	run := &flow.Run{
		ID: r.ID, WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, Version: r.Version, Draft: r.Draft != 0,
		DocumentHash: r.DocumentHash, State: flow.RunState(r.State), Attempt: r.Attempt,
		Trigger: flow.Trigger(r.RunTrigger), KeyID: r.KeyID, UserID: r.UserID,
		ParentRunID: r.ParentRunID, RerunFrom: r.RerunFrom, ChildVersions: flow.ChildVersions(r.ChildrenLive), SkipFailed: r.SkipFailed != 0, Caller: callerOf(r.CallerRunID, r.CallerPath, r.CallerRound, r.CallerItem),
		FlowsAbove: dbconn.DecodeIDs[flow.FlowID](r.FlowsAbove), MaxUSD: r.MaxNanoUsd, Budgets: dbconn.DecodeIDs[flow.RunBudgetID](r.Budgets), Depth: int(r.Depth),
		TriggerID: r.TriggerID, TriggerName: r.TriggerName, ScheduledAt: dbconn.TimeOf(r.ScheduledAt), EventKey: r.EventKey,
		Usage:    UsageOf(r.InputTokens, r.OutputTokens, r.CachedTokens, r.ReasoningTokens, r.UnpricedSteps, r.CostNanoUsd),
		Progress: flow.Progress{Done: int(r.ProgressDone), Total: int(r.ProgressTotal)},
		Seq:      r.Seq, RunSeq: r.RunSeq, Writes: r.Writes, Save: r.Save != 0, Timeout: DurationOf(r.Timeout),
		Untrusted: flow.Untrusted(r.Untrusted), Continues: r.Continues, ContextHash: r.ContextHash, Traceparent: r.Traceparent,
		CancelRequested: r.CancelRequested != 0, StopRequested: r.StopRequested != 0, Crashes: int(r.Crashes),
		CreatedAt: dbconn.TimeOf(r.CreatedAt), StartedAt: dbconn.TimeOf(r.StartedAt), EndedAt: dbconn.TimeOf(r.EndedAt),
		ExpiresAt: dbconn.TimeOf(r.ExpiresAt), DeadlineAt: dbconn.TimeOf(r.DeadlineAt), WaitingSince: dbconn.TimeOf(r.WaitingSince),
		Erased: flow.Code(r.Erased), InputSummary: r.Gist,
	}
	var failed, err error
	if run.Error, err = dbconn.Decode[*flow.Error](r.Error); err != nil {
		failed = fmt.Errorf("error of %s: %w", r.ID, err)
	}
	if run.Models, err = dbconn.Decode[[]string](r.Models); err != nil {
		failed = errors.Join(failed, fmt.Errorf("models of %s: %w", r.ID, err))
	}
	if run.Case, err = dbconn.Decode[*flow.CaseRun](r.CaseRun); err != nil {
		failed = errors.Join(failed, fmt.Errorf("case of %s: %w", r.ID, err))
	}
	for _, f := range []struct {
		to   **flow.Object
		text string
	}{{&run.Inputs, r.Inputs}, {&run.Outputs, r.Outputs}, {&run.Metadata, r.Metadata}} {
		if *f.to, err = dbconn.Decode[*flow.Object](f.text); err != nil {
			failed = errors.Join(failed, fmt.Errorf("content of %s: %w", r.ID, err))
		}
	}
	return run, failed
}

// encodeCaseRun returns "" for a run that belongs to no test.
func encodeCaseRun(c *flow.CaseRun) string {
	if c == nil {
		return ""
	}
	return dbconn.EncodeAny(c)
}

// leftOut is what a headReader returns instead of large content. It is not JSON.
const leftOut = "large"

// contentColumns are the columns of runs that can be megabytes, as generated queries select them.
const contentColumns = "runs.metadata, runs.inputs, runs.outputs"

var lightColumns = func() string {
	names := strings.Split(contentColumns, ", ")
	for i, name := range names {
		names[i] = fmt.Sprintf("CASE WHEN octet_length(%s) < %d THEN %s ELSE '%s' END", strings.Join(strings.Split(contentColumns, ", "), ") + octet_length("), inflight.Small/4, name, leftOut)
	}
	return strings.Join(names, ", ")
}()

// headReader executes generated queries of one run so that large content is left out.
type headReader struct{ gen.DBTX }

// QueryRowContext runs a query.
func (r headReader) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return r.DBTX.QueryRowContext(ctx, strings.Replace(query, contentColumns, lightColumns, 1), args...)
}

// RunHeadColumns selects the row of a run without its content, which can be megabytes, and
// its secrets.
var RunHeadColumns = func() string {
	list := strings.Split(runColumns, ", ")
	for i, name := range list {
		switch name {
		case "inputs", "outputs", "metadata", "webhook", "secrets":
			list[i] = "''"
		}
	}
	return strings.Join(list, ", ")
}()

// ScanRunHead reads a row of RunHeadColumns.
func ScanRunHead(rows *sql.Rows) (flow.Run, error) {
	var r gen.Run
	fields := reflect.ValueOf(&r).Elem()
	to := make([]any, fields.NumField())
	for i := range to {
		to[i] = fields.Field(i).Addr().Interface()
	}
	if err := rows.Scan(to...); err != nil {
		return flow.Run{}, err
	}
	run, err := RunOf(&r)
	return *run, err
}
