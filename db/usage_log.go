package db

import (
	"context"
	"fmt"
	"slices"
)

// usageLock is held by the PostgreSQL transaction that adds up the usage log.
const usageLock = 0x536c756c

var usageColumns = []column{
	{"workspace_id", text}, {"day", text}, {"key_id", text}, {"flow_id", text}, {"model", text}, {"bucket", integer},
	{"runs", integer}, {"succeeded", integer}, {"failed", integer}, {"canceled", integer}, {"steps", integer},
	{"input_tokens", integer}, {"output_tokens", integer}, {"cost_nano_usd", integer}, {"duration", integer}, {"hour", integer},
}

var insertUsage = "INSERT INTO usage_log (" + names("", usageColumns) + ") SELECT " + names("u.", usageColumns) + " FROM " + source(usageColumns)

// logUsage adds the numbers of all members to the usage log of PostgreSQL, in
// which transactions do not wait for each other as they would for the row of a
// day.
func (tx *Tx) logUsage() error {
	var rows [][]any
	add := func(e *usageEntry, cost, hour int64) {
		rows = append(rows, []any{
			e.ws, e.Day, e.KeyID, e.FlowID, e.Model, int64(e.Bucket), e.Runs, e.Succeeded, e.Failed, e.Canceled, e.Steps,
			e.Usage.InputTokens, e.Usage.OutputTokens, cost, e.Duration.Microseconds(), hour,
		})
	}
	for _, e := range sums(tx.batch.usage, compareUsage, func(sum, e *usageEntry) { sum.Add(&e.UsageDay) }) {
		add(&e, e.Usage.CostNanoUSD, 0)
	}
	for _, e := range sums(tx.batch.hours, compareHours, (*hourEntry).add) {
		add(&e.usageEntry, e.cost, e.hour)
	}
	if len(rows) == 0 {
		return nil
	}
	tx.s.logged.Store(true)
	_, err := tx.db.ExecContext(tx.ctx, insertUsage, arrays(usageColumns, rows)...)
	return err
}

// sums sorts entries and adds up those that are equal.
func sums[E any](list []E, compare func(a, b E) int, add func(sum, e *E)) (out []E) {
	slices.SortStableFunc(list, compare)
	for i := range list {
		if n := len(out); n > 0 && compare(out[n-1], list[i]) == 0 {
			add(&out[n-1], &list[i])
		} else {
			out = append(out, list[i])
		}
	}
	return out
}

const foldUsage = `WITH entries AS (DELETE FROM usage_log RETURNING *), days AS (
	INSERT INTO usage_daily (workspace_id, day, key_id, flow_id, model, bucket, runs, succeeded, failed, canceled, steps,
		input_tokens, output_tokens, cost_nano_usd, duration)
	SELECT workspace_id, day, key_id, flow_id, model, bucket, sum(runs), sum(succeeded), sum(failed), sum(canceled), sum(steps),
		sum(input_tokens), sum(output_tokens), sum(cost_nano_usd), sum(duration)
	FROM entries WHERE hour = 0 GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
	ON CONFLICT (workspace_id, day, key_id, flow_id, model, bucket) DO UPDATE
	SET runs = usage_daily.runs + excluded.runs, succeeded = usage_daily.succeeded + excluded.succeeded,
		failed = usage_daily.failed + excluded.failed, canceled = usage_daily.canceled + excluded.canceled,
		steps = usage_daily.steps + excluded.steps, input_tokens = usage_daily.input_tokens + excluded.input_tokens,
		output_tokens = usage_daily.output_tokens + excluded.output_tokens,
		cost_nano_usd = usage_daily.cost_nano_usd + excluded.cost_nano_usd, duration = usage_daily.duration + excluded.duration)
INSERT INTO flow_hours (workspace_id, flow_id, hour, bucket, succeeded, failed, canceled, cost_nano_usd)
SELECT workspace_id, flow_id, hour, bucket, sum(succeeded), sum(failed), sum(canceled), sum(cost_nano_usd)
FROM entries WHERE hour > 0 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
ON CONFLICT (workspace_id, flow_id, hour, bucket) DO UPDATE
SET succeeded = flow_hours.succeeded + excluded.succeeded, failed = flow_hours.failed + excluded.failed,
	canceled = flow_hours.canceled + excluded.canceled, cost_nano_usd = flow_hours.cost_nano_usd + excluded.cost_nano_usd`

// FoldUsage adds the usage log up, unless another instance does, or this one has
// logged nothing since. It changes nothing that can be seen: all who read usage
// read the log too.
func (s UsageLog) FoldUsage(ctx context.Context) error {
	if s.pool == nil || !s.logged.Swap(false) {
		return nil
	}
	mine := false
	err := s.write(ctx, relaxed, func(tx *Tx) error {
		if err := tx.db.QueryRowContext(tx.ctx, "SELECT pg_try_advisory_xact_lock($1)", int64(usageLock)).Scan(&mine); err != nil || !mine {
			return err
		}
		_, err := tx.db.ExecContext(tx.ctx, foldUsage)
		return err
	})
	if err != nil || !mine {
		s.logged.Store(true)
	}
	if err != nil {
		return fmt.Errorf("add up the usage log: %w", err)
	}
	return nil
}
