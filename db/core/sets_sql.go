package core

import (
	"fmt"
	"strings"

	"sluice/db/gen"
)

// column is a column of rows that one statement writes. The statement gets one
// array per column, which unnest turns back into rows, so it is parsed and planned
// once for any number of rows.
type column struct{ name, typ string }

const (
	text    = "text"
	integer = "bigint"
	blob    = "bytea"
)

// source returns the FROM item u that turns the arrays in $1, $2, … into rows.
func source(columns []column) string {
	var arrays, names []string
	for i, c := range columns {
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+1, c.typ))
		names = append(names, c.name)
	}
	return "unnest(" + strings.Join(arrays, ", ") + ") AS u(" + strings.Join(names, ", ") + ")"
}

// names returns the names of columns, each with a prefix, separated by commas.
func names(prefix string, columns []column) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = prefix + c.name
	}
	return strings.Join(list, ", ")
}

// arrays converts rows to the arguments of a statement over source.
func arrays(columns []column, rows [][]any) []any {
	args := make([]any, len(columns))
	for i, c := range columns {
		switch c.typ {
		case text:
			args[i] = columnOf[string](rows, i)
		case integer:
			args[i] = columnOf[int64](rows, i)
		default:
			args[i] = columnOf[[]byte](rows, i)
		}
	}
	return args
}

// columnOf returns column i of rows, as the parameter for an array. It panics if a value is
// not of type T.
func columnOf[T any](rows [][]any, i int) []T {
	list := make([]T, len(rows))
	for n, row := range rows {
		list[n] = row[i].(T)
	}
	return list
}

// startColumns are the columns of a new run in the order of startRow. All other
// columns are zero, as in InsertRun.
var startColumns = []column{
	{"id", text}, {"workspace_id", text}, {"flow_id", text}, {"version", integer}, {"draft", integer}, {"document_hash", text},
	{"state", text}, {"place", integer}, {"attempt", integer}, {"instance_id", text}, {"run_trigger", text}, {"key_id", text},
	{"user_id", text}, {"parent_run_id", text}, {"rerun_from", text}, {"progress_done", integer}, {"progress_total", integer},
	{"seq", integer}, {"run_seq", integer}, {"save", integer}, {"timeout", integer}, {"created_at", integer}, {"deadline_at", integer},
	{"gist", text}, {"webhook", blob}, {"secrets", blob}, {"metadata", text}, {"inputs", text}, {"busy", integer}, {"children_live", integer},
	{"caller_run_id", text}, {"caller_path", text}, {"caller_round", integer}, {"caller_item", integer}, {"flows_above", text},
}

// startRow returns a new run as a row of startColumns. bytea arrays cannot contain nil
// for "no value", so it becomes empty.
func startRow(r *gen.InsertRunParams) []any {
	webhook := r.Webhook
	if webhook == nil {
		webhook = []byte{}
	}
	secrets := r.Secrets
	if secrets == nil {
		secrets = []byte{}
	}
	return []any{
		string(r.ID), string(r.WorkspaceID), string(r.FlowID), r.Version, r.Draft, r.DocumentHash,
		r.State, r.Place, r.Attempt, r.InstanceID, r.RunTrigger, r.KeyID,
		r.UserID, string(r.ParentRunID), r.RerunFrom, r.ProgressDone, r.ProgressTotal,
		r.Seq, r.RunSeq, r.Save, r.Timeout, r.CreatedAt, r.DeadlineAt,
		r.Gist, webhook, secrets, r.Metadata, r.Inputs, r.Busy, r.ChildrenLive,
		string(r.CallerRunID), r.CallerPath, r.CallerRound, r.CallerItem, r.FlowsAbove,
	}
}

// insertRuns inserts any number of runs with one statement. Columns that are always
// zero at the start are constants instead of arrays.
var insertRuns = "INSERT INTO runs (" + names("", startColumns) + `, input_tokens, output_tokens, cost_nano_usd, writes,
	cancel_requested, crashes, started_at, ended_at, expires_at, waiting_since, erased, error, outputs)
SELECT ` + names("u.", startColumns) + `, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '', '', '' FROM ` + source(startColumns)

// progressColumns are the columns of UpdateRun in the order of progressRow.
var progressColumns = []column{
	{"id", text}, {"workspace_id", text}, {"attempt", integer}, {"state", text}, {"place", integer}, {"outputs", text}, {"error", text},
	{"input_tokens", integer}, {"output_tokens", integer}, {"cost_nano_usd", integer},
	{"cached_tokens", integer}, {"reasoning_tokens", integer}, {"unpriced_steps", integer}, {"models", text}, {"progress_done", integer}, {"progress_total", integer},
	{"seq", integer}, {"run_seq", integer}, {"started_at", integer}, {"ended_at", integer}, {"expires_at", integer}, {"deadline_at", integer},
	{"waiting_since", integer}, {"busy", integer}, {"keep_crashes", integer}, {"keep_trial", integer}, {"writes", integer}, {"cancel_allowed", integer},
}

// progressRow returns the write of a run as a row of progressColumns.
func progressRow(r *gen.UpdateRunParams) []any {
	return []any{
		string(r.ID), string(r.WorkspaceID), r.Attempt, r.State, r.Place, r.Outputs, r.Error,
		r.InputTokens, r.OutputTokens, int64(r.CostNanoUsd), r.CachedTokens, r.ReasoningTokens, r.UnpricedSteps, r.Models, r.ProgressDone, r.ProgressTotal,
		r.Seq, r.RunSeq, r.StartedAt, r.EndedAt, r.ExpiresAt, r.DeadlineAt,
		r.WaitingSince, r.Busy, r.KeepCrashes, r.KeepTrial, r.Writes, r.CancelAllowed,
	}
}

// updateRuns is UpdateRun and FindReleased for many runs.
var updateRuns = `UPDATE runs AS r SET state = u.state, place = u.place, outputs = u.outputs, error = u.error,
	input_tokens = u.input_tokens, output_tokens = u.output_tokens, cost_nano_usd = u.cost_nano_usd,
	cached_tokens = u.cached_tokens, reasoning_tokens = u.reasoning_tokens, unpriced_steps = u.unpriced_steps, models = u.models,
	progress_done = u.progress_done, progress_total = u.progress_total, seq = u.seq, run_seq = u.run_seq,
	started_at = u.started_at, ended_at = u.ended_at, expires_at = u.expires_at, deadline_at = u.deadline_at,
	waiting_since = u.waiting_since, busy = u.busy,
	crashes = r.crashes * u.keep_crashes, busy_crashes = r.busy_crashes * u.keep_crashes, guilt = r.guilt * u.keep_crashes,
	trial_size = r.trial_size * u.keep_trial,
	writes = CASE WHEN u.writes = 0 THEN r.writes ELSE u.writes END
FROM ` + source(progressColumns) + `
WHERE r.id = u.id AND r.workspace_id = u.workspace_id AND r.attempt = u.attempt AND r.place > 0 AND (u.writes = 0 OR r.writes = u.writes - 1)
	AND r.cancel_requested <= u.cancel_allowed
RETURNING r.id, r.cancel_requested, r.webhook`

// stepSetColumns are stepColumns with their types.
var stepSetColumns = func() (list []column) {
	for i, name := range stepColumns {
		typ := integer
		if i < 6 || i == 8 || i == 9 || i >= stepContent {
			typ = text
		}
		list = append(list, column{name, typ})
	}
	return list
}()

// upsertSteps writes any number of steps. A step that exists is replaced, except for
// its key. endReservation releases its budget reservation.
var upsertSteps = "INSERT INTO steps (" + names("", stepSetColumns) + ") SELECT " + names("u.", stepSetColumns) + " FROM " + source(stepSetColumns) +
	" ON CONFLICT (run_id, path) DO UPDATE SET " + assignExcluded(stepSetColumns[3:]) + endReservation

// assignExcluded returns the assignments of an ON CONFLICT clause that replaces columns by
// the new values.
func assignExcluded(columns []column) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.name + " = excluded." + c.name
	}
	return strings.Join(list, ", ")
}

// claimColumns are the columns of ClaimIdempotency. The argument after them is the
// time before which a claim has expired.
var claimColumns = []column{{"workspace_id", text}, {"name", text}, {"fingerprint", text}, {"run_id", text}, {"created_at", integer}}

var (
	// claimIdempotency stores the idempotency keys of a set and returns the runs whose
	// claim succeeded. An existing key is replaced only when it has expired.
	claimIdempotency = "INSERT INTO idempotency (" + names("", claimColumns) + ") SELECT " + names("u.", claimColumns) + " FROM " + source(claimColumns) + `
	ON CONFLICT (workspace_id, name) DO UPDATE
	SET fingerprint = excluded.fingerprint, run_id = excluded.run_id, created_at = excluded.created_at
	WHERE idempotency.created_at <= ` + fmt.Sprintf("$%d", len(claimColumns)+1) + ` RETURNING run_id`
	dropClaims = "DELETE FROM idempotency AS i USING unnest($1::text[], $2::text[], $3::text[]) AS u(workspace_id, name, run_id) WHERE i.workspace_id = u.workspace_id AND i.name = u.name AND i.run_id = u.run_id"
)
