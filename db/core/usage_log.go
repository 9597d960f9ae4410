package core

import (
	"sluice/flow"
	"sluice/flow/sorting"
)

// usageColumns are the columns of usage_log. An entry with an hour belongs to
// flow_hours, and one without to usage_daily.
var usageColumns = []column{
	{"workspace_id", text}, {"day", text}, {"key_id", text}, {"flow_id", text}, {"model", text}, {"bucket", integer},
	{"runs", integer}, {"succeeded", integer}, {"failed", integer}, {"canceled", integer}, {"steps", integer},
	{"input_tokens", integer}, {"output_tokens", integer}, {"cost_nano_usd", integer}, {"duration", integer}, {"hour", integer},
	{"cached_tokens", integer}, {"reasoning_tokens", integer}, {"unpriced_steps", integer},
}

// insertUsage appends any number of entries to the log of usage, which is summed into
// days later. Appending needs no lock on a row that all runs of a workspace would
// share.
var insertUsage = "INSERT INTO usage_log (" + names("", usageColumns) + ") SELECT " + names("u.", usageColumns) + " FROM " + source(usageColumns)

// logUsage appends the usage of all members to the usage log on PostgreSQL.
// Appending avoids that transactions wait for each other, as they would to update
// the row of a day. FoldUsage aggregates the log.
func (tx *Tx) logUsage() error {
	var rows [][]any
	add := func(e *UsageEntry, cost flow.NanoUSD, hour int64) {
		rows = append(rows, []any{
			string(e.ws), e.Day, e.KeyID, string(e.FlowID), e.Model, int64(e.Bucket), e.Runs, e.Succeeded, e.Failed, e.Canceled, e.Steps,
			e.Usage.InputTokens, e.Usage.OutputTokens, int64(cost), e.Duration.Microseconds(), hour,
			e.Usage.CachedTokens, e.Usage.ReasoningTokens, e.Usage.UnpricedSteps,
		})
	}
	for _, e := range mergeEqual(tx.Batch.usage, CompareUsage, func(sum, e *UsageEntry) { sum.Add(&e.UsageDay) }) {
		add(&e, e.Usage.CostNanoUSD, 0)
	}
	for _, e := range mergeEqual(tx.Batch.hours, compareHours, (*hourEntry).add) {
		add(&e.UsageEntry, e.cost, e.hour)
	}
	if len(rows) == 0 {
		return nil
	}
	tx.Store.UsageLogged.Store(true)
	_, err := tx.DBTX.ExecContext(tx.Ctx, insertUsage, arrays(usageColumns, rows)...)
	return err
}

// mergeEqual sorts entries and merges those that compare equal.
func mergeEqual[E any](list []E, compare func(a, b E) int, add func(sum, e *E)) (out []E) {
	sorting.By(list, compare)
	for i := range list {
		if n := len(out); n > 0 && compare(out[n-1], list[i]) == 0 {
			add(&out[n-1], &list[i])
		} else {
			out = append(out, list[i])
		}
	}
	return out
}
