package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"sluice/e2e/need"
)

// hookLoad sends events to an incoming webhook while its servers are killed. Like a real sender, it sends an event again until it gets an
// answer that is final.
type hookLoad struct {
	*hookSender
	servers []*server
	pause   time.Duration // between the events of a sender
	stop    chan struct{}
	wg      sync.WaitGroup
	mu      sync.Mutex
	answers map[string]map[string]bool // by event: final answers, as status and run ID
	tries   int
}

// newHookLoad starts senders, for about as long as the test lasts.
func newHookLoad(t *testing.T, servers []*server, source *rand.Rand, lasts time.Duration) *hookLoad {
	t.Helper()
	const senders, most = 4, 8_000 // the log keeps 10,000 events
	l := &hookLoad{hookSender: newHookSender(t, servers[0]), servers: servers, pause: lasts / (most / senders), stop: make(chan struct{}), answers: map[string]map[string]bool{}}
	l.take(l.c.want(200, "PUT", "/v1/flow/"+l.flow+"/hooks/load", object{
		"verify": object{"scheme": "github", "secrets": []string{"github-hook"}}, "per_minute": 0, "when": "body.kind != 'ignored'"}))
	for i := range senders {
		own := rand.New(rand.NewPCG(source.Uint64(), uint64(i)))
		l.wg.Go(func() { l.sendAll(i, own) })
	}
	return l
}

// sendAll sends events one after the other until the test ends.
func (l *hookLoad) sendAll(sender int, source *rand.Rand) {
	for n := 0; ; n++ {
		select {
		case <-l.stop:
			return
		default:
		}
		body := fmt.Sprintf(`{"title":"event %d of %d","kind":"started"}`, n, sender)
		switch source.IntN(10) {
		case 0:
			body = `{"title":"nothing","kind":"ignored"}`
		case 1:
			body = `{"title":["not a text"],"kind":"rejected"}`
		}
		id := fmt.Sprintf("s%d-e%d", sender, n)
		l.sendEvent(id, body, source)
		if source.IntN(5) == 0 { // senders repeat events that were answered
			l.sendEvent(id, body, source)
		}
		time.Sleep(l.pause) // bounds the number of events
	}
}

// sendEvent sends an event to random servers until one gives a final answer.
func (l *hookLoad) sendEvent(id, body string, source *rand.Rand) {
	for {
		status, answer := l.try(l.servers[source.IntN(len(l.servers))].base(), id, body)
		l.mu.Lock()
		l.tries++
		if status == http.StatusOK || status == http.StatusUnprocessableEntity {
			var o struct {
				RunID string `json:"run_id"`
			}
			if status == http.StatusOK && json.Unmarshal(answer, &o) != nil {
				l.t.Errorf("%s is answered with %s", id, answer)
			}
			if l.answers[id] == nil {
				l.answers[id] = map[string]bool{}
			}
			l.answers[id][fmt.Sprint(status, " ", o.RunID)] = true
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		if status != 0 && status != http.StatusServiceUnavailable {
			l.t.Errorf("%s is answered with %d %s", id, status, answer)
			return
		}
		time.Sleep(20 * time.Millisecond) // as senders wait between their tries
	}
}

// try sends an event once. The status is 0 if there was no answer.
func (l *hookLoad) try(base, id, body string) (int, []byte) {
	r, err := http.NewRequest(http.MethodPost, base+l.path, bytes.NewReader([]byte(body)))
	if err != nil {
		l.t.Error(err)
		return 0, nil
	}
	l.sign(r, id, body)
	res, err := plain.Do(r)
	if err != nil {
		return 0, nil
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, nil
	}
	return res.StatusCode, data
}

// check ends the senders, and fails the test unless each event has one row in the log, and one run or a reason.
func (l *hookLoad) check() {
	l.t.Helper()
	close(l.stop)
	l.wg.Wait()
	events := map[string][]plannedEvent{}
	for _, e := range listAll[plannedEvent](l.t, l.c, "/v1/flow/"+l.flow+"/triggers/load/events", "events") {
		events[e.Key] = append(events[e.Key], e)
	}
	var runs map[string][]string
	waitUntil(l.t, "all runs of events succeed", func() bool {
		runs = map[string][]string{}
		ended := true
		for _, r := range listAll[hookRun](l.t, l.c, "/v1/flow/"+l.flow+"/runs", "runs") {
			runs[r.EventKey] = append(runs[r.EventKey], r.RunID)
			ended = ended && r.Status == "succeeded"
		}
		return ended
	})
	var wrong []string
	states := map[string]int{}
	for id, answers := range l.answers {
		if len(answers) != 1 || len(events[id]) != 1 {
			wrong = append(wrong, fmt.Sprintf("%s has the answers %v and the events %+v", id, answers, events[id]))
			continue
		}
		e := events[id][0]
		states[e.State]++
		switch {
		case e.State == "started" && (len(runs[id]) != 1 || runs[id][0] != e.RunID || !answers["200 "+e.RunID]):
			wrong = append(wrong, fmt.Sprintf("%s started %v; its event is %+v, its answers %v", id, runs[id], e, answers))
		case e.State == "rejected" && (e.Code == "" || !answers["422 "]), e.State == "ignored" && !answers["200 "], e.State != "started" && len(runs[id]) > 0:
			wrong = append(wrong, fmt.Sprintf("%s is %+v, its answers %v, its runs %v", id, e, answers, runs[id]))
		}
	}
	for id := range runs {
		if l.answers[id] == nil {
			wrong = append(wrong, "a run of "+id+", which was never answered")
		}
	}
	reportSome(l.t, wrong)
	l.t.Logf("%d events in %d requests, by state: %v", len(l.answers), l.tries, states)
	if states["started"] == 0 || states["rejected"] == 0 || states["ignored"] == 0 {
		l.t.Error("not all states were tested")
	}
}

// hookRun is a run of a webhook as the API returns it.
type hookRun struct {
	RunID    string `json:"run_id"`
	EventKey string `json:"event_key"`
	Status   string
}

// crashHooks kills servers at random moments while events arrive.
func crashHooks(t *testing.T, servers []*server, kills int) {
	t.Helper()
	source := random(t)
	l := newHookLoad(t, servers, source, time.Duration(kills)*2*time.Second)
	for range kills {
		time.Sleep(time.Duration(200+source.IntN(1300)) * time.Millisecond) // the random moment itself
		one := servers[source.IntN(len(servers))]
		one.kill()
		one.start()
	}
	l.check()
}

// TestCrashHooks_start_each_event_once kills one server three times while a service sends events.
func TestCrashHooks_start_each_event_once(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.faulty = true
	crashHooks(t, []*server{s}, 3)
}

// TestFleetHooks_start_each_event_once kills servers at more moments, on both databases.
func TestFleetHooks_start_each_event_once(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	kills := max(10, *rounds)
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		s := newServer(t)
		s.faulty = true
		crashHooks(t, []*server{s}, kills)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		crashHooks(t, newFleet(t, fleetConfig{}).servers, kills)
	})
}
