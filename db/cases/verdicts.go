package cases

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/db/lists"
	"sluice/flow"
	"sluice/flow/cases"
)

const (
	verdictColumns = "test_id, candidate, item, workspace_id, case_id, n, state, score, message, checks, cost_nano_usd, spent_nano_usd, tokens, ms, recorded, run_id, judge_nano_usd, judge_spent_nano_usd"
	verdictsAtOnce = 100
)

// SaveVerdicts stores the verdicts on the runs of a candidate, whose items begin at first. Those that are stored already stay.
func (s *Cases) SaveVerdicts(ctx context.Context, t *cases.Test, first int, list []cases.Verdict) error {
	n := strings.Count(verdictColumns, ",") + 1
	rows := make([]any, 0, n*len(list))
	for i := range list {
		v := &list[i]
		checks, err := json.Marshal(v.Checks)
		if err != nil {
			return fmt.Errorf("encode a verdict: %w", err)
		}
		rows = append(rows, t.ID, int64(v.Candidate), int64(first+i), string(t.WorkspaceID), v.Case, int64(v.Repeat), string(v.State), flow.FormatNumber(v.Score), dbconn.ValidText(v.Message), dbconn.ValidText(string(checks)),
			int64(v.USD), int64(v.Spent), v.Tokens, v.MS, dbconn.BoolInt(v.Recorded), string(v.RunID), int64(v.JudgeUSD), int64(v.JudgeSpent))
	}
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		for len(rows) > 0 {
			chunk := rows[:min(len(rows), n*verdictsAtOnce)]
			rows = rows[len(chunk):]
			if _, err := tx.DBTX.ExecContext(tx.Ctx, "INSERT INTO verdicts ("+verdictColumns+") VALUES "+dbconn.Placeholders(len(chunk)/n, n)+" ON CONFLICT DO NOTHING", chunk...); err != nil {
				return fmt.Errorf("store verdicts of %s: %w", t.ID, err)
			}
		}
		return nil
	})
}

// ListVerdicts returns the verdicts of a test, by candidate and item. They have the outcomes of checks only where a report counts these: most
// pages show those of a few verdicts, which AddChecks reads.
func (s *Cases) ListVerdicts(ctx context.Context, p *cases.Plan) ([]cases.Verdict, error) {
	rows, err := s.DB.Reads.ListVerdicts(ctx, gen.ListVerdictsParams{TestID: p.ID, WorkspaceID: p.WorkspaceID})
	if err != nil {
		return nil, fmt.Errorf("list the verdicts of %s: %w", p.ID, err)
	}
	list, counted := make([]cases.Verdict, len(rows)), p.Counted()
	var whole []*cases.Verdict
	for i := range rows {
		r := &rows[i]
		list[i] = cases.Verdict{
			Candidate: int(r.Candidate), Item: int(r.Item), Case: r.CaseID, Repeat: int(r.N), State: cases.State(r.State), Message: r.Message, Checks: []cases.Outcome{}, USD: r.CostNanoUsd, Spent: r.SpentNanoUsd, Tokens: r.Tokens, MS: r.Ms, Recorded: r.Recorded != 0, RunID: r.RunID, JudgeUSD: r.JudgeNanoUsd, JudgeSpent: r.JudgeSpentNanoUsd,
		}
		list[i].Score, _ = flow.Float(json.Number(r.Score))
		if counted[r.CaseID] {
			whole = append(whole, &list[i])
		}
	}
	return list, s.AddChecks(ctx, p.Test, whole)
}

// checksAtOnce is of how many verdicts the outcomes are read together.
const checksAtOnce = 500

// AddChecks reads the outcomes of checks of some verdicts of a test. Those whose content was erased have none.
func (s *Cases) AddChecks(ctx context.Context, t *cases.Test, list []*cases.Verdict) error {
	byCandidate := map[int][]*cases.Verdict{}
	for _, v := range list {
		byCandidate[v.Candidate] = append(byCandidate[v.Candidate], v)
	}
	read := map[string][]cases.Outcome{} // by their JSON: most verdicts on a case say the same
	for candidate, all := range byCandidate {
		for chunk := range slices.Chunk(all, checksAtOnce) {
			if err := s.addChecks(ctx, t, candidate, chunk, read); err != nil {
				return fmt.Errorf("read the checks of %s: %w", t.ID, err)
			}
		}
	}
	return nil
}

func (s *Cases) addChecks(ctx context.Context, t *cases.Test, candidate int, list []*cases.Verdict, read map[string][]cases.Outcome) error {
	q, at := &lists.Query{}, make(map[int]*cases.Verdict, len(list))
	items := make([]string, len(list))
	for i, v := range list {
		at[v.Item], items[i] = v, q.Arg(int64(v.Item))
	}
	q.Add("SELECT item, checks FROM verdicts WHERE test_id = ", q.Arg(t.ID), " AND workspace_id = ", q.Arg(string(t.WorkspaceID)), " AND candidate = ", q.Arg(int64(candidate)), " AND item IN (", strings.Join(items, ", "), ")")
	_, err := lists.Collect(ctx, s.DB, q, func(rows *sql.Rows) (none struct{}, err error) {
		var item int
		var text string
		if err := rows.Scan(&item, &text); err != nil || text == "" {
			return none, err
		}
		checks, known := read[text]
		if !known {
			if err := json.Unmarshal([]byte(text), &checks); err != nil {
				return none, dbconn.Unreadable(err, "test", t.ID)
			}
			read[text] = checks
		}
		at[item].Checks = checks
		return none, nil
	})
	return err
}

// CountFlaky counts the runs of cases that passed at some times and failed at others, in columns of one workspace. The result has the cases of
// each column, by their IDs; cases whose runs all ended in one way are left out.
func (s *Cases) CountFlaky(ctx context.Context, columns []cases.Column) ([]map[string]cases.Rate, error) {
	rates := make([]map[string]cases.Rate, len(columns))
	if len(columns) == 0 {
		return rates, nil
	}
	at := map[string]int{}
	for i, k := range columns {
		at[fmt.Sprint(k.Test.ID, k.Candidate)] = i
	}
	q := &lists.Query{} // most cases never fail, and grouping the others is cheap
	q.Add("WITH failing AS MATERIALIZED (SELECT DISTINCT case_id FROM verdicts WHERE state = 'failed' AND ", inColumns(q, columns), ")\n",
		"SELECT test_id, candidate, case_id, sum(CASE state WHEN 'passed' THEN 1 ELSE 0 END), count(*) FROM verdicts\n",
		"WHERE state IN ('passed', 'failed') AND case_id IN (SELECT case_id FROM failing) AND ", inColumns(q, columns), " GROUP BY test_id, candidate, case_id")
	total := map[string]cases.Rate{}
	_, err := lists.Collect(ctx, s.DB, q, func(rows *sql.Rows) (none struct{}, err error) {
		var test, id string
		var candidate int
		var r cases.Rate
		if err := rows.Scan(&test, &candidate, &id, &r.Passed, &r.Runs); err != nil {
			return none, err
		}
		i := at[fmt.Sprint(test, candidate)]
		if rates[i] == nil {
			rates[i] = map[string]cases.Rate{}
		}
		rates[i][id] = r
		total[id] = cases.Rate{Passed: total[id].Passed + r.Passed, Runs: total[id].Runs + r.Runs}
		return none, nil
	})
	if err != nil {
		return nil, fmt.Errorf("count verdicts: %w", err)
	}
	for i := range rates {
		maps.DeleteFunc(rates[i], func(id string, _ cases.Rate) bool { return !total[id].Flaky() })
	}
	return rates, nil
}

// inColumns returns the condition of the verdicts in columns.
func inColumns(q *lists.Query, columns []cases.Column) string {
	var tests []string
	for i := 0; i < len(columns); {
		test, candidates := columns[i].Test, []string{}
		for ; i < len(columns) && columns[i].Test.ID == test.ID; i++ {
			candidates = append(candidates, q.Arg(int64(columns[i].Candidate)))
		}
		tests = append(tests, "test_id = "+q.Arg(test.ID)+" AND candidate IN ("+strings.Join(candidates, ", ")+")")
	}
	return "workspace_id = " + q.Arg(string(columns[0].Test.WorkspaceID)) + " AND (" + strings.Join(tests, " OR ") + ")"
}
