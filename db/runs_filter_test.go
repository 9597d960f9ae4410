package db_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/e2e/need"
	"sluice/flow"
	"sluice/flow/value"
)

// BenchmarkListRuns reads the first page of a million runs, for different filters.
func BenchmarkListRuns(b *testing.B) {
	for name, open := range openers {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			f := fillRuns(b, s, 1_000_000)
			for what, c := range f.choices() {
				c.WorkspaceID, c.Limit = flow.WorkspaceID(or(string(c.WorkspaceID), ws)), 50
				b.Run(what, func(b *testing.B) {
					var took []time.Duration
					for b.Loop() {
						began := time.Now()
						if _, err := s.ListRunRows(b.Context(), c); err != nil {
							b.Fatal(err)
						}
						took = append(took, time.Since(began))
					}
					slices.Sort(took)
					b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
				})
			}
		})
	}
}

// choices are common filters, and filters whose matches are rare.
func (f *filled) choices() map[string]flow.RunQuery {
	states := func(s ...flow.RunState) []flow.RunState { return s }
	day := 24 * time.Hour
	return map[string]flow.RunQuery{
		"all":                  {},
		"all_older":            {Before: string(f.rows[len(f.rows)/3].ID)},
		"all_newer":            {After: string(f.rows[len(f.rows)/3].ID)},
		"flow":                 {FlowID: f.flows[3]},
		"failed":               {States: states(flow.RunFailed)},
		"waiting":              {States: states(flow.RunWaiting)},
		"open":                 {States: states(flow.RunQueued, flow.RunRunning, flow.RunWaiting)},
		"failed_of_calm_flow":  {FlowID: calmFlow, States: states(flow.RunFailed)},
		"old_key":              {KeyID: oldKey},
		"old_key_failed":       {KeyID: oldKey, States: states(flow.RunFailed)},
		"unknown_key":          {KeyID: "key_none"},
		"form":                 {Trigger: flow.TriggerForm},
		"drafts":               {Draft: true},
		"version":              {FlowID: f.flows[6], Version: 1},
		"version_key_failed":   {FlowID: f.flows[6], Version: 2, KeyID: "key_07", States: states(flow.RunFailed)},
		"first_day":            {From: f.start, Until: f.start.Add(day)},
		"failed_first_hour":    {States: states(flow.RunFailed), Until: f.start.Add(time.Hour)},
		"failed_mcp_last_week": {States: states(flow.RunFailed), Trigger: flow.TriggerMCP, From: f.end.Add(-7 * day)},
		"flow_key_trigger_day": {FlowID: f.flows[20], KeyID: "key_05", Trigger: flow.TriggerAPI, From: f.start.Add(9 * day), Until: f.start.Add(10 * day)},
		"other_workspace":      {WorkspaceID: otherWS},
		"text_in_all":          {Text: "nowhere to be found"},
	}
}

// TestListRunRows compares every list with the result of filtering all rows in memory,
// and checks the query plans.
func TestListRunRows(t *testing.T) {
	need.Time(t)
	setup(t, func(t *testing.T, w *fixture) {
		f := fillRuns(t, w.Store, 20_000)
		for what, c := range f.choices() {
			c.WorkspaceID, c.Limit = flow.WorkspaceID(or(string(c.WorkspaceID), ws)), 50
			got, err := w.ListRunRows(w.ctx, c)
			w.must(err)
			if want := f.first(&c); !slices.Equal(idsOf(got.Rows), want) {
				t.Errorf("%s: got %d runs %v, want %d %v", what, len(got.Rows), idsOf(got.Rows), len(want), want)
			}
			w.wantNoScan(what, c)
		}
	})
}

// TestListRunRows_random compares lists with random filters, most of them with few or no
// matches, with the result of filtering all rows in memory.
func TestListRunRows_random(t *testing.T) {
	need.Time(t)
	setup(t, func(t *testing.T, w *fixture) {
		f := fillRuns(t, w.Store, 6_000)
		random := rand.New(rand.NewPCG(11, 13))
		for range 150 {
			c := f.randomChoice(random)
			got, err := w.ListRunRows(w.ctx, c)
			w.must(err)
			want := f.first(&c)
			if len(want) < c.Limit && c.After != "" { // the first page instead
				c.After = ""
				want = f.first(&c)
			}
			if !slices.Equal(idsOf(got.Rows), want) {
				t.Errorf("%+v: got %d runs %v, want %d %v", c, len(got.Rows), idsOf(got.Rows), len(want), want)
			}
		}
	})
}

// randomChoice filters by each column with a probability of one third.
func (f *filled) randomChoice(random *rand.Rand) flow.RunQuery {
	maybe := func() bool { return random.IntN(3) == 0 }
	row := func() *flow.Run { return &f.rows[random.IntN(len(f.rows))] }
	c := flow.RunQuery{WorkspaceID: ws, Limit: 1 + random.IntN(60)}
	if random.IntN(5) == 0 {
		c.WorkspaceID = otherWS
	}
	if maybe() {
		c.FlowID = row().FlowID
	}
	if maybe() {
		c.KeyID = []string{row().KeyID, oldKey}[random.IntN(2)]
	}
	if maybe() {
		c.Trigger = []flow.Trigger{row().Trigger, flow.TriggerForm, flow.TriggerMCP}[random.IntN(3)]
	}
	if maybe() {
		c.Version = row().Version
		c.Draft = c.Version == 0
	}
	for _, s := range []flow.RunState{flow.RunRunning, flow.RunWaiting, flow.RunSucceeded, flow.RunFailed, flow.RunCanceled} {
		if maybe() {
			c.States = append(c.States, s)
		}
	}
	if maybe() {
		c.From = row().CreatedAt
	}
	if maybe() {
		c.Until = row().CreatedAt
	}
	switch random.IntN(4) {
	case 0:
		c.Before = string(row().ID)
	case 1:
		c.After = string(row().ID)
	}
	return c
}

func TestListRunRows_pages(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		f := fillRuns(t, w.Store, 2_000)
		c := flow.RunQuery{WorkspaceID: ws, FlowID: f.flows[2], States: []flow.RunState{flow.RunSucceeded, flow.RunFailed}, Limit: 7}
		all := c
		all.Limit = 2_000
		want := f.first(&all)
		var down, up []string
		for {
			p, err := w.ListRunRows(w.ctx, c)
			w.must(err)
			down = append(down, idsOf(p.Rows)...)
			if c.Before = p.Older; c.Before == "" {
				c.After = p.Newer
				break
			}
		}
		for c.Before = ""; c.After != ""; {
			p, err := w.ListRunRows(w.ctx, c)
			w.must(err)
			up = append(idsOf(p.Rows), up...)
			c.After = p.Newer
		}
		if !slices.Equal(down, want) {
			t.Errorf("down: got %d runs, want %d", len(down), len(want))
		}
		if len(up) == 0 || up[0] != want[0] {
			t.Errorf("up ends at %v, want %s", up[:1], want[0])
		}
	})
}

func TestListRunRows_searches_text(t *testing.T) {
	need.Time(t)
	setup(t, func(t *testing.T, w *fixture) {
		f := fillRuns(t, w.Store, 12_000)
		c := flow.RunQuery{WorkspaceID: ws, Text: "zanziBAR,", Limit: 5}
		p, err := w.ListRunRows(w.ctx, c)
		w.must(err)
		wantEqual(t, "found", len(p.Rows), 0)
		if !p.More || p.Looked > 10_000 || p.Older == "" {
			t.Fatalf("it does not say where it stopped: %+v", p)
		}
		for p.Older != "" && len(p.Rows) == 0 {
			c.Before = p.Older
			p, err = w.ListRunRows(w.ctx, c)
			w.must(err)
		}
		wantEqual(t, "found further back", flow.RunID(strings.Join(idsOf(p.Rows), " ")), f.rows[0].ID)
		quoted := w.start(func(n *flow.NewRun) { n.Run.Metadata = value.FromMap(map[string]any{"order": "7\" <b>\nÄ"}) })
		p, err = w.ListRunRows(w.ctx, flow.RunQuery{WorkspaceID: ws, Text: "7\" <B>\nä", Limit: 5})
		w.must(err)
		wantEqual(t, "found in metadata", flow.RunID(strings.Join(idsOf(p.Rows), " ")), quoted.ID)
		wantEqual(t, "gist", p.Rows[0].InputSummary, "help")
	})
}

// first returns the expected rows by filtering all rows in memory.
func (f *filled) first(c *flow.RunQuery) (ids []string) {
	for i := len(f.rows) - 1; i >= 0; i-- {
		if f.has(i, c) {
			ids = append(ids, string(f.rows[i].ID))
		}
	}
	if c.After != "" {
		return ids[max(0, len(ids)-c.Limit):]
	}
	return ids[:min(len(ids), c.Limit)]
}

func (f *filled) has(i int, c *flow.RunQuery) bool {
	r := &f.rows[i]
	return (i%1000 == 999) == (c.WorkspaceID == otherWS) && (c.FlowID == "" || c.FlowID == r.FlowID) && (c.KeyID == "" || c.KeyID == r.KeyID) &&
		(len(c.States) == 0 || slices.Contains(c.States, r.State)) && (c.Version == 0 || c.Version == r.Version) && (!c.Draft || r.Draft) &&
		(c.Trigger == "" || c.Trigger == r.Trigger) && !r.CreatedAt.Before(c.From) && (c.Until.IsZero() || r.CreatedAt.Before(c.Until)) &&
		(c.Before == "" || string(r.ID) < c.Before) && (c.After == "" || string(r.ID) > c.After) && c.Text == ""
}

func idsOf(rows []flow.Run) (ids []string) {
	for _, r := range rows {
		ids = append(ids, string(r.ID))
	}
	return ids
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// onlyIndexes are the indexes of runs that each query of a list may use.
var onlyIndexes = map[string]string{
	"glance": `runs_pkey|sqlite_autoindex_runs_1`, "open": `runs_open`, "groups": `runs_ended`, "arms": `runs_ended`, "failed": `runs_failed`,
}

// wantNoScan checks the plan of each query of a list.
func (w *fixture) wantNoScan(what string, c flow.RunQuery) {
	w.t.Helper()
	queries, err := w.ChoiceQueries(w.ctx, c)
	w.must(err)
	used := regexp.MustCompile(`(?:using|USING(?: COVERING)? INDEX) (\w+)`)
	for _, q := range queries {
		for _, line := range w.explain(q) {
			if strings.Contains(line, "Seq Scan on runs") || regexp.MustCompile(`^SCAN (runs|r|n)\b`).MatchString(line) {
				w.t.Errorf("%s: the query for %s reads the whole table: %s", what, q.Name, line)
			}
			if index := used.FindStringSubmatch(line); index != nil && !regexp.MustCompile("^("+onlyIndexes[q.Name]+"|damaged_rows_pkey|sqlite_autoindex_damaged_rows_1|sqlite_autoindex_runs_1)$").MatchString(index[1]) {
				w.t.Errorf("%s: the query for %s uses another index: %s", what, q.Name, line)
			}
		}
	}
}

func (w *fixture) explain(q db.ChoiceQuery) (lines []string) {
	w.t.Helper()
	rows, err := w.Explain(w.ctx, q)
	w.must(err)
	defer rows.Close()
	columns, err := rows.Columns()
	w.must(err)
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(string)
		}
		w.must(rows.Scan(values...))
		lines = append(lines, *values[len(values)-1].(*string))
	}
	return lines
}
