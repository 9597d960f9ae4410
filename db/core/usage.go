package core

import (
	"cmp"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/histogram"
)

// UsageEntry is one addition to a row of usage_daily.
type UsageEntry struct {
	ws flow.WorkspaceID
	flow.UsageDay
}

// addEnded counts a run that has ended.
func (b *batch) addEnded(r *flow.Run) {
	e := UsageEntry{r.WorkspaceID, flow.UsageDay{Day: DayOf(r.EndedAt), KeyID: r.KeyID, FlowID: r.FlowID, Steps: int64(r.Progress.Done)}}
	if r.Caller == nil && r.Trigger.Work() == "" { // child runs and work runs add usage, but do not count as runs
		e.Runs = 1
		e.Succeeded, e.Failed = dbconn.BoolInt(r.State == flow.RunSucceeded), dbconn.BoolInt(r.State == flow.RunFailed)
		e.Canceled = dbconn.BoolInt(r.State == flow.RunCanceled)
		if !r.StartedAt.IsZero() {
			e.Duration = max(0, r.EndedAt.Sub(r.StartedAt))
			e.Bucket = histogram.Bucket(e.Duration)
		}
	}
	b.usage = append(b.usage, e)
	b.hours = append(b.hours, hourEntry{HourOf(r.EndedAt), r.Usage.CostNanoUSD, e})
}

// addConsumed counts what the steps of a write have used since their last write, under
// the requested model.
func (b *batch) addConsumed(r *flow.Run, steps []flow.Step, now time.Time) {
	for i := range steps {
		st := &steps[i]
		if st.Spent == (flow.Usage{}) {
			continue
		}
		model, _ := st.Input["model"].(string)
		b.usage = append(b.usage, UsageEntry{r.WorkspaceID, flow.UsageDay{
			Day: DayOf(now), KeyID: r.KeyID, FlowID: r.FlowID, Model: dbconn.ValidText(model), Usage: st.Spent,
		}})
		b.addSpentBelow(r, st.Spent.CostNanoUSD, now)
		b.addLost(r.WorkspaceID, r.FlowID, r.FlowsAbove, r.KeyID, st.Spent.LostNanoUSD, now)
		b.addRunSpending(r, st, st.Spent.CostNanoUSD, st.Spent.LostNanoUSD)
	}
}

// DayOf returns the UTC day of a time as YYYY-MM-DD.
func DayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// CompareUsage orders entries by the primary key of usage_daily.
func CompareUsage(a, b UsageEntry) int {
	texts := dbconn.CompareTexts(string(a.ws), string(b.ws), a.Day, b.Day, a.KeyID, b.KeyID, string(a.FlowID), string(b.FlowID), a.Model, b.Model)
	return cmp.Or(texts, cmp.Compare(a.Bucket, b.Bucket))
}

// flushUsage sums the entries of all members and stores each row once, in a fixed
// order so that transactions cannot deadlock.
func (tx *Tx) flushUsage() error {
	if tx.Store.IsPostgres() {
		return tx.logUsage()
	}
	for _, sum := range mergeEqual(tx.Batch.usage, CompareUsage, func(sum, e *UsageEntry) { sum.Add(&e.UsageDay) }) {
		if err := tx.addUsage(&sum); err != nil {
			return err
		}
	}
	return nil
}

// addUsage adds an entry to the row of its day. The duration is stored in microseconds.
func (tx *Tx) addUsage(e *UsageEntry) error {
	return tx.Queries.AddUsage(tx.Ctx, gen.AddUsageParams{
		WorkspaceID: e.ws, Day: e.Day, KeyID: e.KeyID, FlowID: e.FlowID, Model: e.Model, Bucket: int64(e.Bucket),
		Runs: e.Runs, Succeeded: e.Succeeded, Failed: e.Failed, Canceled: e.Canceled, Steps: e.Steps,
		InputTokens: e.Usage.InputTokens, OutputTokens: e.Usage.OutputTokens, CostNanoUsd: e.Usage.CostNanoUSD,
		Duration: e.Duration.Microseconds(), CachedTokens: e.Usage.CachedTokens, ReasoningTokens: e.Usage.ReasoningTokens, UnpricedSteps: e.Usage.UnpricedSteps,
	})
}
