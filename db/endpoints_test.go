package db_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/e2e/need"
	"sluice/flow"
)

// addTests queues test messages of one node to URLs and returns their IDs.
func (w *fixture) addTests(urls ...string) (ids []string) {
	w.t.Helper()
	for _, url := range urls {
		w.clock.move(time.Millisecond)
		d, err := w.AddTest(w.ctx, ws, w.flow.ID, &flow.NewDelivery{Node: "hook", URL: url, Body: []byte(`{}`)})
		w.must(err)
		ids = append(ids, d.ID)
	}
	return ids
}

func TestEndpoints_are_told_apart_by_URL(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.addTests("https://a.test/1", "https://a.test/2", "https://A.test/1?k=v", "https://a.test/1", "http://b.test")
		list, err := w.ListEndpoints(w.ctx, ws, "", false, 50)
		w.must(err)
		var got []string
		for _, e := range list {
			found, err := w.FindEndpoint(w.ctx, ws, e.ID)
			w.must(err)
			wantEqual(t, "host", found.Host, e.Host)
			got = append(got, e.Host+" "+e.URL)
		}
		wantTexts(t, "endpoints", got, "b.test http://b.test", "a.test https://a.test/1", "a.test https://A.test/1?k=v", "a.test https://a.test/2")
		hosts, err := w.ListHosts(w.ctx, ws, 10)
		w.must(err)
		wantTexts(t, "hosts", hosts, "a.test", "b.test")
		rows, err := w.ListDeliveryRows(w.ctx, flow.DeliveryQuery{WorkspaceID: ws, Host: "a.test", Limit: 10})
		w.must(err)
		wantEqual(t, "deliveries to the host", len(rows.Rows), 4)
	})
}

// TestEndpoints_are_bounded sends each message to a URL of its own.
func TestEndpoints_are_bounded(t *testing.T) {
	need.Time(t)
	setup(t, func(t *testing.T, w *fixture) {
		for i := range 300 {
			w.addTests(fmt.Sprint("https://a.test/callback/", i))
		}
		w.addTests("https://a.test/callback/0", "https://b.test/")
		list, err := w.ListEndpoints(w.ctx, ws, "", false, 1000)
		w.must(err)
		hosts := map[string]int{}
		for _, e := range list {
			hosts[e.Host]++
		}
		if n := hosts["a.test"]; n <= 100 || n > 116 {
			t.Errorf("%d endpoints, wanted 100 and at most 16 that are shared", n)
		}
		wantEqual(t, "of another host", hosts["b.test"], 1)
	})
}

// TestEndpoints_of_an_earlier_release are one for each host. Their waiting messages are
// sent, and new messages have endpoints of their own.
func TestEndpoints_of_an_earlier_release(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		old := w.addTests("https://a.test/1")[0]
		w.exec("UPDATE endpoints SET host = 'a.test', hostname = ''")
		w.addTests("https://a.test/1")
		list, err := w.ListEndpoints(w.ctx, ws, "", false, 50)
		w.must(err)
		wantEqual(t, "endpoints", len(list), 2)
		wantEqual(t, "old host", list[1].Host, "a.test")
		hosts, err := w.ListHosts(w.ctx, ws, 10)
		w.must(err)
		wantTexts(t, "hosts", hosts, "a.test")
		rows, err := w.ListDeliveryRows(w.ctx, flow.DeliveryQuery{WorkspaceID: ws, Host: "a.test", Limit: 10})
		w.must(err)
		wantEqual(t, "deliveries to the host", len(rows.Rows), 2)
		w.handDue()
		if !strings.Contains(strings.Join(w.handed(), " "), old) {
			t.Errorf("only %v were handed out", w.handed())
		}
	})
}

// TestDueDeliveries_hands_out_the_fewest_tries_first has a message that failed before and
// a later one that was never tried, and one slot.
func TestDueDeliveries_hands_out_the_fewest_tries_first(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start().ID)
		w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Durable: true, Deliveries: []flow.NewDelivery{{Node: "hook", URL: "https://a.test", Body: []byte(`{}`)}}}))
		old := w.handed()[0]
		w.deliver(old, flow.DeliveryPending)
		w.exec("UPDATE endpoints SET failures = 100") // one slot
		w.clock.move(time.Hour)
		fresh := w.addTests("https://a.test")[0]
		w.exec("UPDATE deliveries SET endpoint_id = (SELECT max(endpoint_id) FROM deliveries)")
		n, _, err := w.DueDeliveries(w.ctx, w.clock.Now(), 10)
		w.must(err)
		wantEqual(t, "handed out", n, 1)
		ids := w.handed()
		wantEqual(t, "the last one", ids[len(ids)-1], fresh)
	})
}
