package core

import (
	"github.com/jackc/pgx/v5"

	"sluice/flow"
	"sluice/flow/sorting"
)

// isHook reports whether the start is for a request to a webhook that leaves nothing but its event, so that a set can write it.
func (w *StartWrite) isHook() bool {
	o := w.N.Occurrence
	return o != nil && w.N.Run.Trigger == flow.TriggerHook && o.Rev == 0 && o.Overlap && o.Request == ""
}

// findUnusual returns which of some events were recorded before, or have lost their trigger.
const findUnusual = `SELECT u.trigger_id, u.event_key FROM unnest($1::text[], $2::text[]) AS u(trigger_id, event_key)
WHERE EXISTS (SELECT FROM events e WHERE e.trigger_id = u.trigger_id AND e.event_key = u.event_key)
	OR NOT EXISTS (SELECT FROM triggers t WHERE t.id = u.trigger_id)`

// queueEvents adds the query of the webhooks that a set cannot start: those whose event was recorded before, which started nothing but
// has a request that counts as stored, and those whose trigger was deleted since.
func (t *set) queueEvents(b *pgx.Batch) {
	var ids, keys []string
	hooks := map[[2]string]*StartWrite{}
	for _, m := range t.members {
		if w, ok := m.set.(*StartWrite); ok && w.N.Occurrence != nil {
			o := w.N.Occurrence
			ids, keys = append(ids, o.TriggerID), append(keys, o.Key)
			hooks[[2]string{o.TriggerID, o.Key}] = w
		}
	}
	if len(ids) == 0 {
		return
	}
	t.unusual = map[*StartWrite]bool{}
	b.Queue(findUnusual, ids, keys).Query(func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			var event [2]string
			if err := rows.Scan(&event[0], &event[1]); err != nil {
				return err
			}
			t.unusual[hooks[event]] = true
		}
		return rows.Err()
	})
}

// recordEvents adds the statements that record the events of accepted starts, and the last run of each trigger.
func (t *set) recordEvents(b *pgx.Batch) {
	var events [][]any
	last := map[string][]any{} // of the triggers, by ID
	for _, m := range t.starts {
		if w := m.set.(*StartWrite); w.N.Occurrence != nil {
			e := w.eventRow()
			e.CreatedAt = t.tx.Store.NowMicros()
			events = append(events, saveEvents.row(e))
			last[e.TriggerID] = setLastRuns.row(w.lastRunRow())
		}
	}
	if len(events) == 0 {
		return
	}
	var rows [][]any
	for _, id := range sorting.Keys(last) { // in one order in all transactions, so that they cannot wait for each other
		rows = append(rows, last[id])
	}
	b.Queue(setLastRuns.sql, setLastRuns.args(rows)...)
	b.Queue(saveEvents.sql, saveEvents.args(events)...)
}
