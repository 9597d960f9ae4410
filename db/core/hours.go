package core

import (
	"cmp"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// hourEntry is one addition to a row of flow_hours: a run that has ended.
type hourEntry struct {
	hour int64
	cost flow.NanoUSD // of the whole run
	UsageEntry
}

// HourOf returns the number of hours since 1970.
func HourOf(t time.Time) int64 { return t.Unix() / 3600 }

// compareHours orders the rows of hours. All transactions update rows in this order, so
// they cannot deadlock.
func compareHours(a, b hourEntry) int {
	return cmp.Or(dbconn.CompareTexts(string(a.ws), string(b.ws), string(a.FlowID), string(b.FlowID)), cmp.Compare(a.hour, b.hour), cmp.Compare(a.Bucket, b.Bucket))
}

// flushHours adds the runs that ended in this transaction to the hourly
// statistics of their flows.
func (tx *Tx) flushHours() error {
	if tx.Store.IsPostgres() {
		return nil // logUsage does it
	}
	for _, sum := range mergeEqual(tx.Batch.hours, compareHours, (*hourEntry).add) {
		if err := tx.addHour(&sum); err != nil {
			return err
		}
	}
	return nil
}

// add adds another entry of the same row to e.
func (e *hourEntry) add(other *hourEntry) {
	e.UsageDay.Add(&other.UsageDay)
	e.cost += other.cost
}

// addHour adds an entry to its row in the database.
func (tx *Tx) addHour(e *hourEntry) error {
	return tx.Queries.AddFlowHour(tx.Ctx, gen.AddFlowHourParams{
		WorkspaceID: e.ws, FlowID: e.FlowID, Hour: e.hour, Bucket: int64(e.Bucket),
		Succeeded: e.Succeeded, Failed: e.Failed, Canceled: e.Canceled, CostNanoUsd: e.cost,
	})
}
