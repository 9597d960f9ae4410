package core

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/fairness"
)

// Many starts of one transaction may count against the same budget in dollars. What was
// spent of it changes only when the transaction ends, so it is read once: in a set, for all
// budgets together, in the round trip that opens it.

// spentOf identifies what a budget adds up: a key, a key with the keys that it created, or a
// flow, on a UTC day.
type spentOf struct {
	ws       flow.WorkspaceID
	subject  string // ID of a flow or key
	withMade bool
	day      string
}

// checkSpending returns an error if a budget of s is used up. Each budget is read once per
// transaction.
func checkSpending(tx *Tx, s fairness.Spending, now time.Time) error {
	return checkBudgets(s, now, func(b fairness.SpendingBudget, day string) (int64, error) {
		of := spentOf{s.WorkspaceID, b.KeyID + string(b.FlowID), b.WithMade, day}
		if used, known := tx.Batch.Counts.spent[of]; known {
			return used, nil
		}
		used, _, err := Spent(tx.Ctx, tx.Queries, s.WorkspaceID, b, day)
		if err == nil {
			tx.Batch.Counts.spent[of] = used
		}
		return used, err
	})
}

// CheckSpending returns an error if a key or a flow has used up its daily
// budget. It reads nothing for one without a limit.
func CheckSpending(ctx context.Context, q *gen.Queries, s fairness.Spending, now time.Time) error {
	return checkBudgets(s, now, func(b fairness.SpendingBudget, day string) (int64, error) {
		used, _, err := Spent(ctx, q, s.WorkspaceID, b, day)
		return used, err
	})
}

// checkBudgets returns an error if a budget is used up. spent returns what was spent of one.
func checkBudgets(s fairness.Spending, now time.Time, spent func(b fairness.SpendingBudget, day string) (int64, error)) error {
	day := DayOf(now)
	for _, b := range s.Budgets() {
		var err error
		if b.Used, err = spent(b, day); err != nil {
			return fmt.Errorf("read the cost of %s: %w", b.KeyID+string(b.FlowID), err)
		}
		if b.UsedUp() {
			return b.Refusal(now)
		}
	}
	return nil
}

// spentOfKeys and spentOfFlows are KeySpent and FlowSpent for many keys and flows, given as
// arrays of workspaces, IDs and days.
const (
	spentOfKeys = `SELECT s.ws, s.id, s.day,
	CAST((SELECT COALESCE(sum(u.cost_nano_usd), 0) FROM spent_all u WHERE u.workspace_id = s.ws AND u.day = s.day AND u.key_id = s.id) AS BIGINT)
	+ CAST((SELECT COALESCE(sum(l.nano_usd), 0) FROM lost_spending l WHERE l.workspace_id = s.ws AND l.day = s.day AND l.subject = s.id) AS BIGINT)
FROM unnest($1::text[], $2::text[], $3::text[]) AS s(ws, id, day)`
	spentOfFlows = `SELECT s.ws, s.id, s.day,
	CAST((SELECT COALESCE(sum(u.cost_nano_usd), 0) FROM spent_all u WHERE u.workspace_id = s.ws AND u.day = s.day AND u.flow_id = s.id) AS BIGINT)
	+ CAST((SELECT COALESCE(sum(b.cost_nano_usd), 0) FROM spent_below b WHERE b.workspace_id = s.ws AND b.day = s.day AND b.flow_id = s.id) AS BIGINT)
	+ CAST((SELECT COALESCE(sum(l.nano_usd), 0) FROM lost_spending l WHERE l.workspace_id = s.ws AND l.day = s.day AND l.subject = s.id) AS BIGINT)
FROM unnest($1::text[], $2::text[], $3::text[]) AS s(ws, id, day)`
)

// queueSpent adds the queries of what was spent of the budgets of the starts. Whether a flow
// has one is known only after its limits were read, so flows that recently had one are read; a
// start of another flow reads its own.
func (t *set) queueSpent(b *pgx.Batch) {
	keys, flows := map[spentOf]bool{}, map[spentOf]bool{}
	for _, m := range t.members {
		w, ok := m.set.(*StartWrite)
		if !ok {
			continue
		}
		day := DayOf(w.N.Run.CreatedAt)
		if k := w.N.Key; k != nil && k.USDPerDay > 0 && !k.MayMakeKeys() {
			keys[spentOf{w.Row.WorkspaceID, k.ID, false, day}] = true
		}
		if _, limited := t.tx.Store.Recent.limited.Get(w.Row.FlowID); limited {
			flows[spentOf{w.Row.WorkspaceID, string(w.Row.FlowID), false, day}] = true
		}
	}
	t.queueSums(b, spentOfKeys, keys)
	t.queueSums(b, spentOfFlows, flows)
}

// queueSums adds one of the queries of queueSpent.
func (t *set) queueSums(b *pgx.Batch, query string, of map[spentOf]bool) {
	if len(of) == 0 {
		return
	}
	var ws, ids, days []string
	for s := range of {
		ws, ids, days = append(ws, string(s.ws)), append(ids, s.subject), append(days, s.day)
	}
	b.Queue(query, ws, ids, days).Query(func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			var s spentOf
			var used int64
			if err := rows.Scan(&s.ws, &s.subject, &s.day, &used); err != nil {
				return err
			}
			t.tx.Batch.Counts.spent[s] = used
		}
		return rows.Err()
	})
}
