package db

import (
	"context"
	"fmt"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// On PostgreSQL transactions append their usage to the table usage_log, and FoldUsage
// aggregates it into usage_daily and flow_hours. The views that reports read combine
// both. On SQLite, with its single writer, transactions update usage_daily directly.

// Usage returns the usage of the UTC days from one time to another, inclusive.
func (s *UsageLog) Usage(ctx context.Context, ws flow.WorkspaceID, from, to time.Time) ([]flow.UsageDay, error) {
	rows, err := core.FromReplica(ctx, s.DB, func(ctx context.Context) ([]gen.UsageFull, error) {
		return s.DB.Reads.ListUsage(ctx, gen.ListUsageParams{WorkspaceID: ws, FromDay: core.DayOf(from), ToDay: core.DayOf(to)})
	})
	var days []flow.UsageDay
	for _, d := range dbconn.MapRows(rows, usageDayOf) {
		if n := len(days); n > 0 && sameUsage(&days[n-1], &d) {
			days[n-1].Add(&d)
		} else {
			days = append(days, d)
		}
	}
	return days, err
}

// sameUsage reports whether two entries belong to one row of the report. Their numbers are
// not compared.
func sameUsage(a, b *flow.UsageDay) bool {
	return core.CompareUsage(core.UsageEntry{UsageDay: *a}, core.UsageEntry{UsageDay: *b}) == 0
}

func usageDayOf(r gen.UsageFull) flow.UsageDay {
	return flow.UsageDay{
		Day: r.Day, KeyID: r.KeyID, FlowID: r.FlowID, Model: r.Model, Bucket: int(r.Bucket),
		Runs: r.Runs, Succeeded: r.Succeeded, Failed: r.Failed, Canceled: r.Canceled, Steps: r.Steps,
		Usage:    core.UsageOf(r.InputTokens, r.OutputTokens, r.CachedTokens, r.ReasoningTokens, r.UnpricedSteps, r.CostNanoUsd),
		Duration: time.Duration(r.Duration) * time.Microsecond,
	}
}

// FoldUsage aggregates the usage log, unless another instance is doing so or this
// instance has logged nothing since the last time. The results of Usage do not
// change, because it reads the log too.
func (s *UsageLog) FoldUsage(ctx context.Context) error {
	if !s.DB.IsPostgres() || !s.DB.UsageLogged.Swap(false) {
		return nil
	}
	locked := false
	var err error
	for moved := int64(foldBatch); err == nil && moved == foldBatch; {
		err = s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
			if err := tx.DBTX.QueryRowContext(tx.Ctx, "SELECT pg_try_advisory_xact_lock($1)", int64(usageLock)).Scan(&locked); err != nil || !locked {
				moved = 0
				return err
			}
			return tx.DBTX.QueryRowContext(tx.Ctx, foldUsage, foldBatch).Scan(&moved)
		})
	}
	if err != nil || !locked {
		s.DB.UsageLogged.Store(true)
	}
	if err != nil {
		return fmt.Errorf("aggregate the usage log: %w", err)
	}
	return nil
}

// foldBatch bounds the entries that one transaction moves, so that a long log, such as after an
// outage, is shortened step by step.
const foldBatch = 20_000

// foldUsage moves the first entries of the log of usage into days and hours with one statement, so
// that no entry is counted twice or lost. It returns how many it has moved.
const foldUsage = `WITH entries AS (DELETE FROM usage_log WHERE ctid = ANY(ARRAY(SELECT ctid FROM usage_log LIMIT $1)) RETURNING *), days AS (
	INSERT INTO usage_daily (workspace_id, day, key_id, flow_id, model, bucket, runs, succeeded, failed, canceled, steps,
		input_tokens, output_tokens, cost_nano_usd, duration,
		cached_tokens, reasoning_tokens, unpriced_steps)
	SELECT workspace_id, day, key_id, flow_id, model, bucket, sum(runs), sum(succeeded), sum(failed), sum(canceled), sum(steps),
		sum(input_tokens), sum(output_tokens), sum(cost_nano_usd), sum(duration),
		sum(cached_tokens), sum(reasoning_tokens), sum(unpriced_steps)
	FROM entries WHERE hour = 0 GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
	ON CONFLICT (workspace_id, day, key_id, flow_id, model, bucket) DO UPDATE
	SET runs = usage_daily.runs + excluded.runs, succeeded = usage_daily.succeeded + excluded.succeeded,
		failed = usage_daily.failed + excluded.failed, canceled = usage_daily.canceled + excluded.canceled,
		steps = usage_daily.steps + excluded.steps, input_tokens = usage_daily.input_tokens + excluded.input_tokens,
		output_tokens = usage_daily.output_tokens + excluded.output_tokens,
		cost_nano_usd = usage_daily.cost_nano_usd + excluded.cost_nano_usd, duration = usage_daily.duration + excluded.duration,
		cached_tokens = usage_daily.cached_tokens + excluded.cached_tokens, reasoning_tokens = usage_daily.reasoning_tokens + excluded.reasoning_tokens,
		unpriced_steps = usage_daily.unpriced_steps + excluded.unpriced_steps),
hours AS (INSERT INTO flow_hours (workspace_id, flow_id, hour, bucket, succeeded, failed, canceled, cost_nano_usd)
SELECT workspace_id, flow_id, hour, bucket, sum(succeeded), sum(failed), sum(canceled), sum(cost_nano_usd)
FROM entries WHERE hour > 0 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
ON CONFLICT (workspace_id, flow_id, hour, bucket) DO UPDATE
SET succeeded = flow_hours.succeeded + excluded.succeeded, failed = flow_hours.failed + excluded.failed,
	canceled = flow_hours.canceled + excluded.canceled, cost_nano_usd = flow_hours.cost_nano_usd + excluded.cost_nano_usd)
SELECT count(*) FROM entries`

// usageLock is the advisory lock of the transaction that aggregates the usage log.
const usageLock = 0x536c756c
