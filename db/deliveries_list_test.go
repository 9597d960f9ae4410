package db_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/e2e/need"
	"sluice/flow"
)

// choices are common filters, and filters whose matches are rare.
func (f *sent) choices() map[string]flow.DeliveryQuery {
	states := func(s ...flow.DeliveryState) []flow.DeliveryState { return s }
	day := 24 * time.Hour
	return map[string]flow.DeliveryQuery{
		"all":                      {},
		"older":                    {Before: f.rows[len(f.rows)/3].Position},
		"newer":                    {After: f.rows[len(f.rows)/3].Position},
		"flow":                     {FlowID: "flow_09"},
		"failed":                   {States: states(flow.DeliveryFailed)},
		"failed_of_a_flow":         {FlowID: "flow_07", States: states(flow.DeliveryFailed)},
		"never_failed":             {EndpointID: "end_00", States: states(flow.DeliveryFailed)},
		"pending_and_failed":       {States: states(flow.DeliveryPending, flow.DeliveryFailed), FlowID: "flow_03"},
		"endpoint":                 {EndpointID: "end_27"},
		"host":                     {Host: "h6.test"},
		"host_failed_first_day":    {Host: "h6.test", States: states(flow.DeliveryFailed), Until: f.start.Add(day)},
		"unknown_host":             {Host: "nowhere.test"},
		"a_day":                    {From: f.start.Add(3 * day), Until: f.start.Add(4 * day)},
		"other_workspace":          {WorkspaceID: otherWS},
		"endpoint_of_another":      {EndpointID: "end_29"},
		"url":                      {Host: "h3.test", URL: "https://h3.test/in/4"},
		"failed_url_before_a_time": {Host: "h3.test", URL: "https://h3.test/in/4", States: states(flow.DeliveryFailed), Until: f.start.Add(20 * day)},
	}
}

// TestListDeliveryRows compares every list with the result of filtering all rows in
// memory, and checks the query plans.
func TestListDeliveryRows(t *testing.T) {
	need.Time(t)
	setup(t, func(t *testing.T, w *fixture) {
		f := fillDeliveries(t, w.Store, 8_000)
		for what, c := range f.choices() {
			c.WorkspaceID, c.Limit = flow.WorkspaceID(or(string(c.WorkspaceID), ws)), 50
			got, err := w.ListDeliveryRows(w.ctx, c)
			w.must(err)
			if want := f.first(&c); !slices.Equal(deliveryIDs(got.Rows), want) {
				t.Errorf("%s: got %d deliveries %v, want %d %v", what, len(got.Rows), deliveryIDs(got.Rows), len(want), want)
			}
			w.wantIndexes(what, c)
		}
	})
}

func TestListDeliveryRows_pages(t *testing.T) {
	need.Time(t)
	setup(t, func(t *testing.T, w *fixture) {
		f := fillDeliveries(t, w.Store, 2_000)
		for _, url := range []string{"", "https://h2.test/in/1"} {
			c := flow.DeliveryQuery{WorkspaceID: ws, Host: "h2.test", URL: url, Limit: 7}
			all := c
			all.Limit = 2_000
			want := f.first(&all)
			var down []string
			var last flow.DeliveryPage
			for {
				p, err := w.ListDeliveryRows(w.ctx, c)
				w.must(err)
				down, last = append(down, deliveryIDs(p.Rows)...), p
				if c.Before = p.Older; c.Before == "" {
					break
				}
			}
			if !slices.Equal(down, want) {
				t.Errorf("%q down: got %d deliveries, want %d", url, len(down), len(want))
			}
			c.After = last.Newer
			p, err := w.ListDeliveryRows(w.ctx, c)
			w.must(err)
			if len(p.Rows) != 7 || p.Rows[6].Position <= last.Newer {
				t.Errorf("%q up from %s: %v", url, last.Newer, deliveryIDs(p.Rows))
			}
		}
	})
}

func TestListDeliveryRows_has_the_last_attempt(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		_, id := w.withDelivery()
		p, err := w.ListDeliveryRows(w.ctx, flow.DeliveryQuery{WorkspaceID: ws, Limit: 5})
		w.must(err)
		if p.Rows[0].Last != nil {
			t.Errorf("an attempt before the first: %+v", p.Rows[0].Last)
		}
		w.deliver(id, flow.DeliveryPending)
		p, err = w.ListDeliveryRows(w.ctx, flow.DeliveryQuery{WorkspaceID: ws, Limit: 5})
		w.must(err)
		r := p.Rows[0]
		if r.ID != id || r.Tries != 1 || r.Last == nil || r.Last.Status != 500 || r.Last.Latency != time.Second || !r.NextAt.Equal(w.clock.Now().Add(time.Minute)) {
			t.Errorf("the row is %+v with %+v", r, r.Last)
		}
	})
}

// BenchmarkListDeliveryRows reads the first page of a million deliveries.
func BenchmarkListDeliveryRows(b *testing.B) {
	for name, open := range openers {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			f := fillDeliveries(b, s, 1_000_000)
			for what, c := range f.choices() {
				c.WorkspaceID, c.Limit = flow.WorkspaceID(or(string(c.WorkspaceID), ws)), 50
				b.Run(what, func(b *testing.B) {
					for b.Loop() {
						if _, err := s.ListDeliveryRows(b.Context(), c); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
			b.Run("endpoints", func(b *testing.B) {
				for b.Loop() {
					if _, err := s.ListEndpoints(b.Context(), ws, "", false, 50); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// first returns the expected rows by filtering all rows in memory.
func (f *sent) first(c *flow.DeliveryQuery) (ids []string) {
	for i := len(f.rows) - 1; i >= 0; i-- {
		r := &f.rows[i]
		if (r.EndpointID == "end_29") == (c.WorkspaceID == otherWS) && (c.FlowID == "" || c.FlowID == r.FlowID) && (c.EndpointID == "" || c.EndpointID == r.EndpointID) &&
			(c.Host == "" || c.Host == f.hosts[i]) && strings.HasPrefix(r.URL, c.URL) && (len(c.States) == 0 || slices.Contains(c.States, r.State)) &&
			!r.CreatedAt.Before(c.From) && (c.Until.IsZero() || r.CreatedAt.Before(c.Until)) && (c.Before == "" || r.Position < c.Before) && (c.After == "" || r.Position > c.After) {
			ids = append(ids, r.ID)
		}
	}
	if c.After != "" {
		return ids[max(0, len(ids)-c.Limit):]
	}
	return ids[:min(len(ids), c.Limit)]
}

func deliveryIDs(rows []flow.DeliveryRow) (ids []string) {
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

var wholeTable = regexp.MustCompile(`Seq Scan on (deliveries|delivery_attempts)|^SCAN (deliveries|d|a)\b`)

func (w *fixture) wantIndexes(what string, c flow.DeliveryQuery) {
	w.t.Helper()
	queries, err := w.DeliveryQueries(w.ctx, c)
	w.must(err)
	for _, q := range queries {
		for _, line := range w.explain(db.ChoiceQuery(q)) {
			if wholeTable.MatchString(line) {
				w.t.Errorf("%s: the query for %s reads a whole table: %s", what, q.Name, line)
			}
		}
	}
}
