package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// Sizes of the lists that TestCrashMaps maps in each round.
const (
	crashItems = 60
	crashAsked = 15
)

// mapLoad starts maps whose items call the ledger: at once, or after a person has
// approved them.
type mapLoad struct {
	t      *testing.T
	ledger *ledger
	c      *client // may start, read and cancel
	person *client // may approve
	flows  [2]string

	mu      sync.Mutex
	runs    []*run
	answers int
}

func newMapLoad(t *testing.T, s *server) *mapLoad {
	l := &mapLoad{t: t, ledger: newLedger(t), c: s.client(s.key()), person: s.client(s.key("--scope", "approve"))}
	contract := object{"inputs": []object{{"name": "n", "type": "text", "required": true}}, "outputs": []object{{"name": "got", "type": "any"}}}
	over := func(name, child string) string {
		return s.publish(documentOf(name, []object{
			node("list", "input", object{"name": "list", "type": "list"}),
			node("each", "map", object{"flow": child, "over": []string{"n"}, "concurrency": 8, "contract": contract}), output("got"),
		}, "list.value > each.input.n", "each.got > out_got.value"))
	}
	l.flows[0] = over("Map", s.publish(documentOf("Item", []object{input("n"), post("a", l.ledger.URL), node("say", "template", object{"template": "{{n}} {{key}}"}), output("got")},
		"n.value > a.n", "n.value > say.n", "a.body > say.key", "say.text > out_got.value")))
	l.flows[1] = over("Map with questions", s.publish(documentOf("Asked item", []object{
		input("n"), node("ask", "approval", object{"title": "Send it?", "message": "Send it?", "values": []string{"n"}}), post("a", l.ledger.URL),
		node("say", "template", object{"template": "{{n}} {{key}}"}), output("got"),
	}, "n.value > ask.n", "ask.n > a.n", "ask.n > say.n", "a.body > say.key", "say.text > out_got.value")))
	return l
}

// begin starts one map of each kind.
func (l *mapLoad) begin() {
	l.t.Helper()
	a, b := l.c.start(l.flows[0], object{"list": numbers(crashItems)}), l.c.start(l.flows[1], object{"list": numbers(crashAsked)})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs = append(l.runs, a, b)
}

// childItem is an item as the API returns it.
type childItem struct {
	Item    int
	RunID   string `json:"run_id"`
	FlowID  string `json:"flow_id"`
	Status  string
	Outputs object
}

// children lists items of a run; false while the server is down.
func (l *mapLoad) children(r *run, query string) (list []childItem, ok bool) {
	for cursor := ""; ; {
		a, err := l.c.try("GET", r.path()+"/children?limit=100"+query+cursor, nil)
		if err != nil || a.status != http.StatusOK {
			return nil, false
		}
		var page struct {
			Children []childItem
			Next     *string `json:"next_cursor"`
		}
		if json.Unmarshal(a.body, &page) != nil {
			return nil, false
		}
		list = append(list, page.Children...)
		if page.Next == nil {
			return list, true
		}
		cursor = "&cursor=" + *page.Next
	}
}

// answer approves waiting items until ctx ends. It retries answers that a crash interrupted.
func (l *mapLoad) answer(ctx context.Context) {
	for ctx.Err() == nil {
		l.mu.Lock()
		runs := slices.Clone(l.runs)
		l.mu.Unlock()
		for _, r := range runs {
			if r.FlowID != l.flows[1] {
				continue
			}
			waiting, _ := l.children(r, "&status=waiting")
			for _, item := range waiting {
				if a, err := l.person.try("POST", runPath(item.FlowID, item.RunID)+"/approvals/ask", object{"decision": "approved"}); err == nil && a.status == http.StatusOK {
					l.mu.Lock()
					l.answers++
					l.mu.Unlock()
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// look tells the ledger which results are recorded, so that it reports later calls.
func (l *mapLoad) look() {
	for _, r := range l.runs {
		ended, _ := l.children(r, "&status=succeeded")
		for _, item := range ended {
			l.ledger.observe(item.RunID + ":a")
		}
	}
}

// check fails the test unless every map succeeded with one result for each item, in order,
// each from the only run of its item.
func (l *mapLoad) check() {
	items := map[string]bool{} // execution keys of steps that call the ledger
	for _, r := range l.runs {
		n := crashItems
		if r.FlowID == l.flows[1] {
			n = crashAsked
		}
		end := l.c.await(r)
		results, _ := end.Outputs["got"].([]any)
		list, _ := l.children(r, "")
		if end.Status != "succeeded" || len(results) != n || len(list) != n {
			l.t.Errorf("run %s is %s: %+v, with %d results of %d items, wanted %d", r.ID, end.Status, end.Error, len(results), len(list), n)
			continue
		}
		for i, item := range list {
			key := item.RunID + ":a"
			if want := fmt.Sprintf(`%d {"key":"%s"}`, i, key); results[i] != want || item.Item != i || item.Status != "succeeded" || items[key] {
				l.t.Errorf("item %d of %s is %+v with %v, wanted %s", i, r.ID, item, results[i], want)
			}
			items[key] = true
		}
	}
	repeats := l.ledger.check(l.t)
	if keys := slices.Collect(maps.Keys(l.ledger.calls)); len(keys) != len(items) {
		l.t.Errorf("%d steps called the ledger for %d items", len(keys), len(items))
	}
	l.t.Logf("%d maps with %d items, %d answers; %d calls, %d of them repeats", len(l.runs), len(items), l.answers, l.ledger.seen(), repeats)
}

// TestCrashMaps kills the server in the middle of maps, also while their items wait for
// people: every item has one run with one recorded end, and the results are in order.
func TestCrashMaps(t *testing.T) {
	t.Parallel()
	from := loggedSeed(t)
	for _, on := range []string{"SQLite", "PostgreSQL"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			if on == "PostgreSQL" {
				s.stop()
				s, _ = twoServers(t)
			}
			crashMaps(t, s, rand.New(rand.NewPCG(from, 1<<33)))
		})
	}
}

func crashMaps(t *testing.T, s *server, random *rand.Rand) {
	l := newMapLoad(t, s)
	ctx, stop := context.WithCancel(t.Context())
	var answering sync.WaitGroup
	answering.Go(func() { l.answer(ctx) })
	defer answering.Wait()
	defer stop()
	for range *rounds {
		l.begin()
		time.Sleep(time.Duration(50+random.IntN(700)) * time.Millisecond) // the random moment itself
		s.kill()
		(&load{t: t, ledger: l.ledger}).awaitSilence()
		l.ledger.killed()
		s.start()
		l.look()
	}
	l.check()
}
