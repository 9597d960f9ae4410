package children

import (
	"cmp"
	"database/sql"
	"fmt"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow/sorting"
)

// countAndStartQuery is CountChild, TakeChildItems, DeleteChildItems and StartChildren in
// one round trip: the other ends of a set wait for it. It returns the row of the step once
// for each item that it takes, and once without one.
//
// The items are those that were visible before it waited for the lock of the row. If another
// transaction took some of them meanwhile, it takes fewer than may start; startNext takes the
// rest.
//
// Of a batch it takes as many rows as AllowRows would: $13 is how many runs all instances together may still admit; negative leaves the batch to startNext. Batches that budgets of
// starts or failures may stop are left to startNext: then its key has a limit or was made by another key, the flow has one, or the batch stops after
// some failures.
const countAndStartQuery = `
WITH old AS (
	SELECT c.running + c.succeeded - c.reused AS first, GREATEST(0, CASE
		WHEN c.stopped = 1 OR c.failed + $6 > 0 AND c.keep_errors = 0 THEN 0
		WHEN strpos(c.template, '"batch":true') = 0 THEN LEAST(c.concurrency - c.running + $4, c.pending)
		WHEN $13 < 0 OR strpos(c.template, '"max_failed":') > 0 OR c.concurrency - c.running + $4 <= 0 OR c.pending = 0 THEN 0
		ELSE LEAST(c.concurrency - c.running + $4, c.pending, (
			SELECT CASE WHEN f.runs_per_day > 0 OR k.runs_per_day > 0 OR starts_with(k.created_by, 'key_') THEN 0
				ELSE GREATEST(CASE WHEN c.running <= $4 THEN 1 ELSE 0 END, CASE
					WHEN (SELECT COALESCE(sum(q.queued), 0) FROM queue_lengths q WHERE q.workspace_id = f.workspace_id) > 0 THEN 0
					ELSE LEAST($13,
						CASE WHEN w.max_running > 0 THEN w.max_running - (SELECT count(*) FROM runs r WHERE r.place = 2 AND r.place > 0 AND r.workspace_id = f.workspace_id) END,
						CASE WHEN f.max_running > 0 THEN f.max_running - (SELECT count(*) FROM runs r WHERE r.place = 2 AND r.place > 0 AND r.workspace_id = f.workspace_id AND r.flow_id = f.id) END)
					END) END
			FROM flows f JOIN workspaces w ON w.id = f.workspace_id
			LEFT JOIN keys k ON k.workspace_id = f.workspace_id AND k.id = CAST(c.template AS json) ->> 'key_id'
			WHERE f.id = c.flow_id AND f.workspace_id = c.workspace_id)) END) AS free
	FROM children c WHERE c.run_id = $1 AND c.path = $2 AND c.round = $3 FOR UPDATE OF c),
taken AS (
	DELETE FROM child_items WHERE run_id = $1 AND path = $2 AND round = $3 AND item = ANY(ARRAY(
		SELECT i.item FROM child_items i
		WHERE i.run_id = $1 AND i.path = $2 AND i.round = $3 AND i.item >= (SELECT first FROM old) AND i.error = '' AND i.reused = ''
		ORDER BY i.item LIMIT (SELECT free FROM old)))
	RETURNING item, inputs),
counted AS (
	UPDATE children SET running = running - $4 + (SELECT count(*) FROM taken), pending = pending - (SELECT count(*) FROM taken),
		succeeded = succeeded + $5, failed = failed + $6,
		input_tokens = input_tokens + $7, output_tokens = output_tokens + $8, cached_tokens = cached_tokens + $9,
		reasoning_tokens = reasoning_tokens + $10, unpriced_steps = unpriced_steps + $11, cost_nano_usd = cost_nano_usd + $12
	WHERE run_id = $1 AND path = $2 AND round = $3
	RETURNING workspace_id, root_run_id, depth, flow_id, document_hash, template, concurrency, keep_errors, total, pending, running,
		succeeded, failed, reused, stopped, seen, input_tokens, output_tokens, cached_tokens, reasoning_tokens, unpriced_steps, cost_nano_usd)
SELECT counted.*, taken.item, taken.inputs FROM counted LEFT JOIN taken ON true`

// countAndStart is count that also starts the next items, in one round trip.
func countAndStart(tx *core.Tx, p gen.CountChildParams, usedUp bool) (*gen.Child, error) {
	spare, err := core.SpareCapacity(tx)
	if err != nil {
		return nil, fmt.Errorf("count the free slots of %s:%s: %w", p.RunID, p.Path, err)
	}
	if usedUp { // startNext stops a batch that has cost all that it may cost
		spare = -1
	}
	r := gen.Child{RunID: p.RunID, Path: p.Path, Round: p.Round}
	rows, err := tx.DBTX.QueryContext(tx.Ctx, countAndStartQuery, p.RunID, p.Path, p.Round, p.Ended, p.Succeeded, p.Failed,
		p.InputTokens, p.OutputTokens, p.CachedTokens, p.ReasoningTokens, p.UnpricedSteps, int64(p.CostNanoUsd), spare)
	var items []gen.TakeChildItemsRow
	_, err = dbconn.Collect(rows, err, func(rows *sql.Rows) (none struct{}, err error) {
		var item sql.NullInt64
		var inputs sql.NullString
		err = rows.Scan(&r.WorkspaceID, &r.RootRunID, &r.Depth, &r.FlowID, &r.DocumentHash, &r.Template, &r.Concurrency, &r.KeepErrors, &r.Total, &r.Pending, &r.Running,
			&r.Succeeded, &r.Failed, &r.Reused, &r.Stopped, &r.Seen, &r.InputTokens, &r.OutputTokens, &r.CachedTokens, &r.ReasoningTokens, &r.UnpricedSteps, &r.CostNanoUsd,
			&item, &inputs)
		if item.Valid {
			items = append(items, gen.TakeChildItemsRow{Item: item.Int64, Inputs: inputs.String})
		}
		return none, err
	})
	if err == nil && r.WorkspaceID == "" {
		err = sql.ErrNoRows
	}
	if err != nil {
		return nil, fmt.Errorf("count the children of %s:%s: %w", p.RunID, p.Path, err)
	}
	if len(items) == 0 {
		return &r, nil
	}
	sorting.By(items, func(a, b gen.TakeChildItemsRow) int { return cmp.Compare(a.Item, b.Item) })
	c, t, err := decodeChildren(&r)
	if err != nil {
		return nil, err
	}
	return &r, startItems(tx, c, &t, items)
}
