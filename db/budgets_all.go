package db

import (
	"context"
	"database/sql"
	"fmt"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/flow"
)

// What flows and keys of the workspace $1 have used of their budgets on the UTC day $2.
const (
	spentByFlow = `SELECT u.flow_id, CAST(sum(u.cost_nano_usd) AS BIGINT) FROM spent_all u WHERE u.workspace_id = $1 AND u.day = $2 GROUP BY u.flow_id`
	spentByKey  = `SELECT u.key_id, CAST(sum(u.cost_nano_usd) AS BIGINT) FROM spent_all u WHERE u.workspace_id = $1 AND u.day = $2 GROUP BY u.key_id`
	spentBelow  = `SELECT b.flow_id, CAST(sum(b.cost_nano_usd) AS BIGINT) FROM spent_below b WHERE b.workspace_id = $1 AND b.day = $2 GROUP BY b.flow_id`
	lostBy      = `SELECT l.subject, CAST(sum(l.nano_usd) AS BIGINT) FROM lost_spending l WHERE l.workspace_id = $1 AND l.day = $2 GROUP BY l.subject`
	startsBy    = `SELECT d.subject, d.runs FROM day_starts d WHERE d.workspace_id = $1 AND d.day = $2`
)

// AllBudgets returns the budgets of flows and keys for this UTC day and their usage, as FlowBudgets and
// KeyBudgets do for one, with a number of reads that does not depend on theirs. keys must be all keys of
// the workspace, because the usage of a key includes that of the keys that it made; limited are those whose
// budgets are returned.
func (s *Budgets) AllBudgets(ctx context.Context, ws flow.WorkspaceID, flows []flow.Flow, keys []flow.Key, limited func(*flow.Key) bool) (list []flow.Budget, err error) {
	day := core.DayOf(s.DB.Config.Now())
	sums := map[string]map[string]int64{}
	for _, query := range []string{spentByFlow, spentByKey, spentBelow, lostBy, startsBy} {
		if sums[query], err = s.sumsOf(ctx, query, ws, day); err != nil {
			return nil, err
		}
	}
	add := func(b flow.Budget, usd, runs int64, ids []string) {
		own := ids[0]
		if usd > 0 {
			d := b
			d.Unit, d.Limit = flow.BudgetUSD, usd
			for _, id := range ids {
				d.Lost += sums[lostBy][id]
				d.Used += sums[lostBy][id]
				if b.KeyID != "" {
					d.Used += sums[spentByKey][id]
				} else {
					d.Used += sums[spentByFlow][id] + sums[spentBelow][id]
				}
			}
			list = append(list, d)
		}
		if runs > 0 {
			b.Unit, b.Limit, b.Used = flow.BudgetRuns, runs, sums[startsBy][own]
			list = append(list, b)
		}
	}
	for i := range flows {
		f := &flows[i]
		add(flow.Budget{FlowID: f.ID, Name: f.Name}, int64(f.USDPerDay), f.RunsPerDay, []string{string(f.ID)})
	}
	for i := range keys {
		k := &keys[i]
		if k.USDPerDay <= 0 && k.RunsPerDay <= 0 || !limited(k) {
			continue
		}
		ids := []string{k.ID}
		if k.MayMakeKeys() {
			for _, made := range flow.KeysMadeBy(k.ID, keys) {
				ids = append(ids, made.ID)
			}
		}
		add(flow.Budget{KeyID: k.ID, Name: k.Name}, int64(k.USDPerDay), k.RunsPerDay, ids)
	}
	return list, nil
}

// sumsOf reads sums by the ID of a flow or key.
func (s *Budgets) sumsOf(ctx context.Context, query string, ws flow.WorkspaceID, day string) (map[string]int64, error) {
	sums := map[string]int64{}
	rows, err := core.ReaderOf(s.DB).QueryContext(ctx, query, ws, day)
	_, err = dbconn.Collect(rows, err, func(rows *sql.Rows) (_ struct{}, err error) {
		var id string
		var n int64
		err = rows.Scan(&id, &n)
		sums[id] = n
		return struct{}{}, err
	})
	if err != nil {
		return nil, fmt.Errorf("read today's usage: %w", err)
	}
	return sums, nil
}
