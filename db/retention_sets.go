package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"sluice/db/cases"
	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/flow"
)

// Retention erases as many runs as callers start, so it cannot afford statements for each run: a
// batch of runs shares one statement per table. On PostgreSQL each instance locks the rows of its
// batch and passes over those of others, so that several instances erase different runs.
//
// A row that cannot be read or changed would stop its whole batch. Then the batch is repeated run by
// run, which finds the row and marks it.

// endedRun is a run whose content is to be erased, or that is to be deleted.
type endedRun struct {
	id        flow.RunID
	ws        flow.WorkspaceID
	failure   string
	bytes     int64 // of its own row that count toward the quota
	byHook    bool  // a trigger started it, perhaps with a request that is stored
	continues bool  // it began with a conversation of an earlier run
}

// The lists of runs that clean-up works on. $1 is a time, or an ID in oneRun, and $2 the most rows. A
// child run is erased after its caller. The subqueries are evaluated for each row in the order of the
// index, never joined to whole tables.
const (
	endedColumns = `SELECT r.id, r.workspace_id, r.error,
	CAST(octet_length(r.gist) + octet_length(r.error) + octet_length(r.metadata) + octet_length(r.inputs) + octet_length(r.outputs) AS BIGINT), r.trigger_id, r.context_hash
FROM runs r WHERE `
	undamagedRuns = ` AND r.id NOT IN (SELECT m.id FROM damaged_rows m WHERE m.table_name = 'runs')`
	erasableRuns  = undamagedRuns + ` AND r.place = 0
	AND (r.caller_run_id = '' OR COALESCE((SELECT 1 FROM runs c WHERE c.id = r.caller_run_id AND c.erased = ''), 0) = 0)
	AND COALESCE((SELECT 1 FROM deliveries d WHERE d.run_id = r.id AND d.ended_at = 0 LIMIT 1), 0) = 0`
	expiredRuns = endedColumns + `r.expires_at > 0 AND r.erased = '' AND r.expires_at <= $1` + erasableRuns + ` ORDER BY r.expires_at LIMIT $2`
	// Visitors of forms still look at the result for a while.
	unsavedRuns = endedColumns + `r.save = 0 AND r.place = 0 AND r.erased = '' AND (r.run_trigger <> 'form' OR r.ended_at <= $1)` + erasableRuns + ` ORDER BY r.id LIMIT $2`
	tombstones  = endedColumns + `r.erased <> '' AND r.ended_at < $1` + undamagedRuns + ` ORDER BY r.ended_at LIMIT $2`
	oneRun      = endedColumns + `r.id = $1 LIMIT $2`
)

// listEnded reads up to most runs of a list and, on PostgreSQL, locks those that no other
// transaction has.
func listEnded(tx *core.Tx, query string, from any, most int) ([]endedRun, error) {
	switch {
	case core.ReadsAround(tx): // rows cannot be locked around damaged pages
		if err := tx.Lock(erasureLock); err != nil {
			return nil, err
		}
	case tx.Store.IsPostgres():
		query += " FOR UPDATE OF r SKIP LOCKED"
	}
	return readEnded(tx, query, from, most)
}

// erasureLock is held by a transaction that erases runs around damaged pages, so that only one does.
const erasureLock = 0x536c6572

// readEnded reads the runs of a list.
func readEnded(tx *core.Tx, query string, args ...any) ([]endedRun, error) {
	rows, err := tx.DBTX.QueryContext(tx.Ctx, query, args...)
	return dbconn.Collect(rows, err, func(rows *sql.Rows) (r endedRun, err error) {
		var trigger, context string
		err = rows.Scan(&r.id, &r.ws, &r.failure, &r.bytes, &trigger, &context)
		r.byHook, r.continues = trigger != "", context != ""
		return r, err
	})
}

// eraseListed erases the first runs of a list. It begins no transaction if the list
// is empty.
func (s *Retention) eraseListed(ctx context.Context, query string, from any, limit int, code flow.Code) (n int, err error) {
	var found bool
	err = core.ReaderOf(s.DB).QueryRowContext(ctx, "SELECT EXISTS ("+query+")", from, 1).Scan(&found)
	if err != nil && !core.IsDamage(err) || err == nil && !found {
		return 0, err
	}
	return s.eachRun(ctx, core.Durable, "erase", limit, func(tx *core.Tx, most int) ([]endedRun, error) {
		return listEnded(tx, query, from, most)
	}, func(tx *core.Tx, list []endedRun) error { return eraseRuns(tx, list, code) })
}

// eachRun calls do for the runs that list returns, all together, or one by one if that fails
// because of a damaged row. It returns their number.
func (s *Retention) eachRun(ctx context.Context, d core.Durability, task string, limit int, list func(tx *core.Tx, most int) ([]endedRun, error), do func(tx *core.Tx, list []endedRun) error) (n int, err error) {
	err = s.DB.Write(ctx, d, func(tx *core.Tx) error {
		runs, err := list(tx, limit)
		if n = len(runs); err != nil || n == 0 {
			return err
		}
		return do(tx, runs)
	})
	if !core.IsDamage(err) {
		return n, err
	}
	err = s.DB.WriteRows(ctx, d, "runs", func(tx *core.Tx) error {
		runs, err := list(tx, limit)
		if n = len(runs); err != nil {
			return err
		}
		idOf := func(r endedRun) flow.RunID { return r.id }
		return core.Each(tx, "runs", task, runs, idOf, func(r endedRun) error { return do(tx, []endedRun{r}) })
	})
	return n, err
}

// Statements about the rows of the runs $1. {{RUNS}} stands for their IDs.
const (
	sizeSteps = `SELECT s.workspace_id, CAST(sum(octet_length(s.error) + octet_length(s.saved) + octet_length(s.input) + octet_length(s.outputs) + octet_length(s.attempts)) AS BIGINT)
FROM steps s WHERE s.run_id IN ({{RUNS}}) GROUP BY s.workspace_id`
	sizeParts = `SELECT r.workspace_id, CAST(sum(octet_length(p.content)) AS BIGINT)
FROM step_parts p JOIN runs r ON r.id = p.run_id WHERE p.run_id IN ({{RUNS}}) GROUP BY r.workspace_id`
	sizeDeliveries = `SELECT d.workspace_id, CAST(sum(octet_length(d.body)) AS BIGINT)
FROM deliveries d WHERE d.run_id IN ({{RUNS}}) GROUP BY d.workspace_id`
	sizeRequests = `SELECT r.workspace_id, CAST(sum(e.request_bytes) AS BIGINT)
FROM runs r JOIN events e ON e.trigger_id = r.trigger_id AND e.event_key = r.event_key AND e.run_id = r.id
WHERE r.id IN ({{RUNS}}) AND r.trigger_id <> '' GROUP BY r.workspace_id`
	eraseRequests = `UPDATE events SET request = '', request_bytes = 0
WHERE request_bytes > 0 AND run_id IN ({{RUNS}}) AND (trigger_id, event_key) IN (SELECT r.trigger_id, r.event_key FROM runs r WHERE r.id IN ({{RUNS}}) AND r.trigger_id <> '')`
	eraseRows = `UPDATE runs SET erased = $2, error = $3, webhook = $4, secrets = $4, gist = '', metadata = '', inputs = '', outputs = ''
WHERE id IN ({{RUNS}}) AND place = 0`
	expireChildren    = `UPDATE runs SET expires_at = $2 WHERE caller_run_id IN ({{RUNS}}) AND caller_run_id <> '' AND erased = ''`
	dropPendingTries  = `DELETE FROM delivery_attempts WHERE delivery_id IN (SELECT d.id FROM deliveries d WHERE d.run_id IN ({{RUNS}}) AND d.ended_at = 0)`
	dropPending       = `DELETE FROM deliveries WHERE run_id IN ({{RUNS}}) AND ended_at = 0`
	eraseTries        = `UPDATE delivery_attempts SET response = '' WHERE delivery_id IN (SELECT d.id FROM deliveries d WHERE d.run_id IN ({{RUNS}}))`
	eraseDeliveries   = `UPDATE deliveries SET erased = $2, body = '', secret = $3, signature = $3 WHERE run_id IN ({{RUNS}})`
	dropDeliveryTries = `DELETE FROM delivery_attempts WHERE delivery_id IN (SELECT d.id FROM deliveries d WHERE d.run_id IN ({{RUNS}}))`
	countDeliveries   = `SELECT count(*) FROM deliveries WHERE run_id IN ({{RUNS}})`
	countFiles        = `SELECT count(*) FROM run_files WHERE run_id IN ({{RUNS}})`
	holdFiles         = `UPDATE files SET kept = kept WHERE erased_at = 0 AND id IN (SELECT l.file_id FROM run_files l WHERE l.run_id IN ({{RUNS}}))`
	eraseFilesOfRuns  = `UPDATE files SET erased_at = $2, name = ''
WHERE erased_at = 0 AND kept = 0 AND id IN (SELECT l.file_id FROM run_files l WHERE l.run_id IN ({{RUNS}}))
	AND NOT EXISTS (SELECT 1 FROM run_files o WHERE o.file_id = files.id AND o.run_id NOT IN ({{RUNS}}))
RETURNING workspace_id, size`
	eraseVerdicts   = `UPDATE verdicts SET checks = '', message = '' WHERE run_id IN ({{RUNS}})`
	dropRecordings  = `DELETE FROM recordings WHERE run_id IN ({{RUNS}}) RETURNING workspace_id, CAST(octet_length(input) + octet_length(outputs) AS BIGINT)`
	backtestsOfRuns = `SELECT b.workspace_id, b.set_hash, b.run_id FROM backtest_runs b WHERE b.run_id IN ({{RUNS}})`
	contextsOfRuns  = `WHERE (workspace_id, hash) IN (SELECT r.workspace_id, r.context_hash FROM runs r WHERE r.id IN ({{RUNS}}) AND r.context_hash <> '')`
	holdRunContexts = `UPDATE run_contexts SET hash = hash ` + contextsOfRuns
	dropRunContexts = `DELETE FROM run_contexts ` + contextsOfRuns + `
	AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.context_hash = run_contexts.hash AND o.context_hash <> '' AND o.workspace_id = run_contexts.workspace_id AND o.erased = '')
RETURNING workspace_id, CAST(octet_length(content) AS BIGINT)`
)

// runSet are the runs of a batch, as an argument of the statements above.
type runSet struct {
	tx  *core.Tx
	ids any    // $1
	sub string // replaces {{RUNS}}
}

// newRunSet returns the set of some runs.
func newRunSet(tx *core.Tx, list []endedRun) (*runSet, error) {
	ids := dbconn.MapRows(list, func(r endedRun) string { return string(r.id) })
	if tx.Store.IsPostgres() {
		return &runSet{tx, ids, "SELECT unnest($1::text[])"}, nil
	}
	text, err := json.Marshal(ids)
	return &runSet{tx, string(text), "SELECT value FROM json_each($1)"}, err
}

// exec returns a step that executes a statement.
func (s *runSet) exec(statement string, args ...any) func() error {
	return func() error {
		_, err := s.tx.DBTX.ExecContext(s.tx.Ctx, strings.ReplaceAll(statement, "{{RUNS}}", s.sub), append([]any{s.ids}, args...)...)
		return err
	}
}

// free returns a step that executes a query of bytes by workspace, and counts them as freed. With
// item each row is also an item of the quota.
func (s *runSet) free(query string, item int64, args ...any) func() error {
	return func() error {
		rows, err := s.tx.DBTX.QueryContext(s.tx.Ctx, strings.ReplaceAll(query, "{{RUNS}}", s.sub), append([]any{s.ids}, args...)...)
		_, err = dbconn.Collect(rows, err, func(rows *sql.Rows) (_ struct{}, err error) {
			var ws flow.WorkspaceID
			var bytes int64
			if err = rows.Scan(&ws, &bytes); err == nil {
				s.tx.TrackBytes(ws, -bytes-item)
			}
			return struct{}{}, err
		})
		return err
	}
}

// eraseBacktests removes the runs from the versions of cases that backtests made of them.
func (s *runSet) eraseBacktests() error {
	rows, err := s.tx.DBTX.QueryContext(s.tx.Ctx, strings.ReplaceAll(backtestsOfRuns, "{{RUNS}}", s.sub), s.ids)
	list, err := dbconn.Collect(rows, err, func(rows *sql.Rows) (r cases.SetOfRun, err error) {
		err = rows.Scan(&r.WorkspaceID, &r.Hash, &r.RunID)
		return r, err
	})
	if err != nil || len(list) == 0 {
		return err
	}
	if err := cases.EraseFromSets(s.tx, list); err != nil {
		return err
	}
	return s.exec("DELETE FROM backtest_runs WHERE run_id IN ({{RUNS}})")()
}

// none reports whether a count is 0.
func (s *runSet) none(count string) (bool, error) {
	var n int64
	err := s.tx.DBTX.QueryRowContext(s.tx.Ctx, strings.ReplaceAll(count, "{{RUNS}}", s.sub), s.ids).Scan(&n)
	return n == 0, err
}

// steps calls all steps in order until one fails.
func steps(list ...func() error) func() error {
	return func() error { return dbconn.FirstError(list...) }
}

// unless returns a step that does the others unless a count is 0.
func (s *runSet) unless(count string, do ...func() error) func() error {
	return func() error {
		none, err := s.none(count)
		if err != nil || none {
			return err
		}
		return dbconn.FirstError(do...)
	}
}

// eraseRuns removes the inputs, outputs, steps and messages of ended runs, which the transaction
// has locked. IDs, state, times, error code, usage and cost stay.
func eraseRuns(tx *core.Tx, list []endedRun, code flow.Code) error {
	all, err := newRunSet(tx, list)
	if err != nil || len(list) == 0 {
		return err
	}
	byHook, continues := false, false
	for _, r := range list {
		tx.TrackStorage(r.ws, flow.Storage{Bytes: -r.bytes - flow.StorageItem, Runs: -1})
		byHook, continues = byHook || r.byHook, continues || r.continues
	}
	requests := func() error { return nil }
	if byHook {
		requests = steps(all.free(sizeRequests, 0), all.exec(eraseRequests))
	}
	contexts := func() error { return nil }
	if continues { // held first, like files: a run may be started that begins with one of them
		contexts = steps(all.exec(holdRunContexts), all.free(dropRunContexts, 0))
	}
	recordings := func() error { return nil }
	if code != flow.CodeRunExpired { // tests need them for longer than the runs that made them
		recordings = all.free(dropRecordings, 0)
	}
	now := tx.Store.NowMicros()
	return dbconn.FirstError(
		all.free(sizeSteps, 0), all.free(sizeParts, 0),
		requests,
		func() error { return eraseRunRows(tx, list, code) },
		all.exec("DELETE FROM steps WHERE run_id IN ({{RUNS}})"),
		all.exec("DELETE FROM step_parts WHERE run_id IN ({{RUNS}})"),
		all.exec("DELETE FROM approvals WHERE run_id IN ({{RUNS}})"),
		all.exec("DELETE FROM child_items WHERE run_id IN ({{RUNS}})"),
		all.exec("DELETE FROM knowledge_quotes WHERE run_id IN ({{RUNS}})"),
		all.exec(expireChildren, now),
		all.unless(countDeliveries, all.free(sizeDeliveries, 0), all.exec(dropPendingTries), all.exec(dropPending),
			all.exec(eraseTries), all.exec(eraseDeliveries, string(code), []byte{})),
		contexts, recordings, all.exec(eraseVerdicts), all.eraseBacktests,
		// Files are locked first: a single statement would not see a run that is being started with one of them.
		all.unless(countFiles, all.exec(holdFiles), all.free(eraseFilesOfRuns, flow.StorageItem, now), all.exec("DELETE FROM run_files WHERE run_id IN ({{RUNS}})")),
	)
}

// eraseRunRows clears the rows of runs. Of an error only the code stays, so there are few different
// ones, each with a statement of its own.
func eraseRunRows(tx *core.Tx, list []endedRun, code flow.Code) error {
	byFailure := map[string][]endedRun{}
	for _, r := range list {
		reason, err := dbconn.Decode[*flow.Error](r.failure)
		if err != nil { // it is erased now
			reason = flow.Errorf(flow.CodeInternal, "")
		}
		if reason != nil {
			reason = &flow.Error{Code: reason.Code, Retryable: reason.Retryable}
		}
		text := dbconn.EncodeError(reason)
		byFailure[text] = append(byFailure[text], r)
	}
	for text, list := range byFailure {
		same, err := newRunSet(tx, list)
		if err == nil {
			err = same.exec(eraseRows, string(code), text, []byte{})()
		}
		if err != nil {
			return fmt.Errorf("erase %d runs: %w", len(list), err)
		}
	}
	return nil
}

// dropRuns deletes runs with all rows that belong to them, once their content was erased long ago.
func dropRuns(tx *core.Tx, list []endedRun) error {
	all, err := newRunSet(tx, list)
	if err != nil || len(list) == 0 {
		return err
	}
	return dbconn.FirstError(
		all.exec(dropDeliveryTries),
		all.exec("DELETE FROM deliveries WHERE run_id IN ({{RUNS}})"),
		all.exec("DELETE FROM children WHERE run_id IN ({{RUNS}})"),
		all.exec("DELETE FROM run_budgets WHERE run_id IN ({{RUNS}})"),
		all.exec("DELETE FROM runs WHERE id IN ({{RUNS}})"),
	)
}
