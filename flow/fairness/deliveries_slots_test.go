package fairness

import (
	"fmt"
	"testing"
	"time"

	"sluice/flow"
)

func endpointsOf(ws flow.WorkspaceID, n int, set func(*EndpointLoad)) (list []EndpointLoad) {
	for i := range n {
		e := EndpointLoad{WorkspaceID: ws, EndpointID: fmt.Sprintf("%s-%d", ws, i)}
		set(&e)
		list = append(list, e)
	}
	return list
}

func quick(e *EndpointLoad)   { e.Proven = true }
func unknown(e *EndpointLoad) {}
func failing(e *EndpointLoad) { e.Proven, e.Failures = true, failingAfter }

func sum(got map[string]int) (n int) {
	for _, v := range got {
		n += v
	}
	return n
}

func TestDeliveryShares(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	for _, c := range []struct {
		name    string
		waiting [][]EndpointLoad
		total   int
		most    int // of one endpoint
	}{
		{"an endpoint gets five", [][]EndpointLoad{endpointsOf("a", 1, quick)}, 5, 5},
		{"a failing endpoint gets one", [][]EndpointLoad{endpointsOf("a", 1, failing)}, 1, 1},
		{"a paused endpoint gets none", [][]EndpointLoad{endpointsOf("a", 1, func(e *EndpointLoad) { e.PausedUntil = now.Add(time.Second) })}, 0, 0},
		{"a pause that is over does not count", [][]EndpointLoad{endpointsOf("a", 1, func(e *EndpointLoad) { e.PausedUntil = now })}, 5, 5},
		{"a workspace gets a quarter", [][]EndpointLoad{endpointsOf("a", 100, quick)}, DeliverySlots / 4, 1},
		{"unknown endpoints of a workspace get a sixteenth", [][]EndpointLoad{endpointsOf("a", 100, unknown)}, DeliverySlots / 16, 1},
		{"slow endpoints of a workspace get a sixteenth", [][]EndpointLoad{endpointsOf("a", 100, func(e *EndpointLoad) { e.Proven, e.Slow = true, true })}, DeliverySlots / 16, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := NewDeliveryShares(now, DeliverySlots, nil).Share(c.waiting)
			most := 0
			for _, n := range got {
				most = max(most, n)
			}
			if sum(got) != c.total || most != c.most {
				t.Errorf("got %d slots, %d for one endpoint, wanted %d and %d", sum(got), most, c.total, c.most)
			}
		})
	}
}

// TestDeliveryShares_of_many_workspaces has so many workspaces with unknown
// endpoints that all of their shares together are more than there is: half of
// the slots are left for a receiver that is known to answer.
func TestDeliveryShares_of_many_workspaces(t *testing.T) {
	t.Parallel()
	var waiting [][]EndpointLoad
	for i := range 100 {
		waiting = append(waiting, endpointsOf(flow.WorkspaceID(fmt.Sprint("ws", i)), 100, unknown))
	}
	waiting = append(waiting, endpointsOf("good", 1, quick))
	s := NewDeliveryShares(time.Time{}, DeliverySlots, nil)
	got := s.Share(waiting)
	if got["good-0"] != EndpointSlots || sum(got) != DeliverySlots/2+EndpointSlots {
		t.Errorf("the good endpoint got %d of %d", got["good-0"], sum(got))
	}
}

// TestDeliveryShares_count_what_is_under_way gives the next slot to the
// workspace that has the fewest.
func TestDeliveryShares_count_what_is_under_way(t *testing.T) {
	t.Parallel()
	busy := EndpointLoad{WorkspaceID: "a", EndpointID: "a-0", InFlight: 4, Proven: true}
	s := NewDeliveryShares(time.Time{}, 6, []EndpointLoad{busy})
	got := s.Share([][]EndpointLoad{{busy}, endpointsOf("b", 1, quick)})
	if got["a-0"] != 0 || got["b-0"] != 2 {
		t.Errorf("got %v", got)
	}
	s = NewDeliveryShares(time.Time{}, 100, []EndpointLoad{busy})
	if got = s.Share([][]EndpointLoad{{busy}}); got["a-0"] != 1 {
		t.Errorf("an endpoint with 4 attempts under way got %v", got)
	}
}

func TestEndpointPause(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int64]time.Duration{0: 0, 5: 0, 6: time.Second, 7: 2 * time.Second, 11: 30 * time.Second, 1_000_000: 30 * time.Second} {
		if got := EndpointPause(failures); got != want {
			t.Errorf("after %d failures: %v, wanted %v", failures, got, want)
		}
	}
}

func TestDeliveryID(t *testing.T) {
	t.Parallel()
	run := flow.NewIDs().NewRun()
	id := flow.DeliveryID(run, "hook", 0)
	if !flow.ValidID(flow.PrefixDelivery, id) || id != flow.DeliveryID(run, "hook", 0) {
		t.Errorf("%s is not an ID, or another one each time", id)
	}
	if id[len(flow.PrefixDelivery):][:10] != string(run[len(flow.PrefixRun):][:10]) {
		t.Errorf("%s has another time than %s", id, run)
	}
	for _, other := range []string{flow.DeliveryID(run, "hook", 1), flow.DeliveryID(run, "", 0), flow.DeliveryID(run, "hook2", 0), flow.DeliveryID(flow.NewIDs().NewRun(), "hook", 0)} {
		if other == id {
			t.Error("two messages have the same ID")
		}
	}
	if odd := flow.DeliveryID("run_odd", "hook", 0); !flow.ValidID(flow.PrefixDelivery, odd) {
		t.Errorf("%s is not an ID", odd)
	}
}

// hang gives an endpoint its slots and keeps them: its receiver does not respond.
func (s *DeliveryShares) hang(list []EndpointLoad) {
	for i := range list {
		for s.take(&list[i]) {
		}
	}
}

// TestDeliveryShares_of_one_host has paths that hang, and others on the same host.
func TestDeliveryShares_of_one_host(t *testing.T) {
	t.Parallel()
	at := func(host string, n int, set func(*EndpointLoad)) []EndpointLoad {
		list := endpointsOf("a", n, set)
		for i := range list {
			list[i].Host, list[i].EndpointID = host, fmt.Sprint(host, set != nil, list[i].EndpointID)
		}
		return list
	}
	for _, dead := range []int{1, 2} {
		s := NewDeliveryShares(time.Time{}, DeliverySlots, nil)
		s.hang(at("h", dead, unknown))
		if got := sum(s.Share([][]EndpointLoad{at("h", 1, func(e *EndpointLoad) { e.EndpointID = "new" })})); got == 0 {
			t.Errorf("beside %d hanging paths a new one got no slot", dead)
		}
		if got := sum(s.Share([][]EndpointLoad{at("h", 1, quick)})); got != EndpointSlots {
			t.Errorf("beside %d hanging paths one that works got %d slots, wanted %d", dead, got, EndpointSlots)
		}
	}
	s := NewDeliveryShares(time.Time{}, DeliverySlots, nil)
	if got := sum(s.Share([][]EndpointLoad{at("h", 10, quick)})); got != HostSlots {
		t.Errorf("a host got %d slots, wanted %d", got, HostSlots)
	}
	if got := sum(s.Share([][]EndpointLoad{at("other", 1, quick)})); got != EndpointSlots {
		t.Errorf("another host got %d slots, wanted %d", got, EndpointSlots)
	}
}

// TestDeliveryShares_tries_failing_endpoints_last keeps one slot for them, so that they
// are tried at all while new endpoints come without end.
func TestDeliveryShares_tries_failing_endpoints_last(t *testing.T) {
	t.Parallel()
	waiting := endpointsOf("a", 20, failing)
	waiting = append(waiting, EndpointLoad{WorkspaceID: "a", EndpointID: "new", Host: "h"})
	paused := EndpointLoad{WorkspaceID: "a", EndpointID: "paused", Failures: 1, PausedUntil: time.Unix(1, 0)}
	waiting = append([]EndpointLoad{paused}, waiting...)
	s := NewDeliveryShares(time.Time{}, DeliverySlots, nil)
	var order []*EndpointLoad
	for i := range waiting {
		order = append(order, &waiting[i])
	}
	s.order(order)
	if order[0].EndpointID != "a-0" || order[1].EndpointID != "new" {
		t.Errorf("the first are %s and %s, wanted one that fails and the new one", order[0].EndpointID, order[1].EndpointID)
	}
	s.take(order[0])
	s.order(order)
	if order[0].EndpointID != "new" {
		t.Errorf("the first is %s, wanted the new one while another is tried", order[0].EndpointID)
	}
}
