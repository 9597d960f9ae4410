package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"
)

const (
	// hungWebhooks is the number of webhooks to the hanging receiver.
	hungWebhooks = 400
	// healthyInterval is the time between two webhooks to the healthy receiver.
	healthyInterval = 25 * time.Millisecond
)

// notifying returns the flow input, output, webhook.
func notifying(url string) []byte {
	return document("Tell", []object{nameInput(), textOutput(), node("tell", "webhook", object{"url": url})}, "name.value", "out.value")
}

// receivers are two receivers of webhooks: one never responds, the other records when
// each message arrived. They share an address and are two endpoints anyway: an endpoint is
// a webhook node, or the webhooks of a flow's runs, on one host.
type receivers struct {
	*httptest.Server
	mu      sync.Mutex
	held    int                  // requests without a response now
	most    int                  // maximum of held
	arrived map[string]time.Time // by the text in the message
}

// newReceivers starts the receivers at /hang and /answer.
func newReceivers() *receivers {
	r := &receivers{arrived: map[string]time.Time{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		r.hold(1)
		<-req.Context().Done() // until the sender gives up
		r.hold(-1)
	})
	mux.HandleFunc("/answer", func(_ http.ResponseWriter, req *http.Request) {
		at := time.Now()
		var m struct{ Text string }
		if json.NewDecoder(req.Body).Decode(&m) == nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.arrived[m.Text] = at
		}
	})
	r.Server = httptest.NewServer(mux)
	return r
}

// hold counts a request that starts (1) or stops (-1) waiting for a response.
func (r *receivers) hold(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held += n
	r.most = max(r.most, r.held)
}

// holds reports whether any request waits.
func (r *receivers) holds() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held > 0
}

// times returns how long the webhooks took from the start of their run, and whether
// all have arrived.
func (r *receivers) times(started map[string]time.Time) (list []time.Duration, all bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for text, at := range started {
		if arrived, ok := r.arrived[text]; ok {
			list = append(list, arrived.Sub(at))
		}
	}
	return list, len(list) == len(started)
}

// webhooksRow sends webhooks to a healthy receiver while 400 are due at one that
// hangs. One slow receiver must not delay the others: each endpoint gets a few slots. The row
// lasts longer than the time limit of an attempt, so that attempts time out and start
// meanwhile. The server is killed at the end.
func (b *benchmark) webhooksRow() {
	r := newReceivers()
	defer r.Close()
	defer r.CloseClientConnections()
	s := must(b.newServer(allowLoopback))
	defer s.kill()
	hanging, key := s.prepare(notifying(r.URL + "/hang"))
	healthy := must(s.publish(notifying(r.URL + "/answer")))
	w := must(dial(s.addr))
	defer w.close()
	startRun := func(flowID, name string) {
		status, body, err := w.post(head("POST", "/v1/flow/"+flowID+"/run", key), fmt.Appendf(nil, `{"name":%q}`, name))
		if err != nil || status != 202 {
			check(unexpected(status, body, err))
		}
	}
	for i := range hungWebhooks {
		startRun(hanging, fmt.Sprint("hung", i))
	}
	for !r.holds() {
		time.Sleep(time.Millisecond)
	}
	started := map[string]time.Time{}
	for until := time.Now().Add(max(2*b.seconds, 16*time.Second)); time.Now().Before(until); time.Sleep(healthyInterval) {
		name := fmt.Sprint("n", len(started))
		started[name] = time.Now()
		startRun(healthy, name)
	}
	l := &load{}
	for late, all := time.Now().Add(time.Minute), false; !all; time.Sleep(time.Millisecond) {
		if l.times, all = r.times(started); !all && time.Now().After(late) {
			l.errors = len(started) - len(l.times)
			b.errors += l.errors
			break
		}
	}
	slices.Sort(l.times)
	b.add(fmt.Sprintf("webhooks beside a hanging receiver: %d queued to it, one each %s to another", hungWebhooks, ms(healthyInterval)),
		fmt.Sprintf("%d arrived, from the start of their run p50 %s, p95 %s, p99 %s; at most %d held at once; %d errors", len(l.times), ms(l.percentile(.5)), ms(l.percentile(.95)), ms(l.percentile(.99)), r.most, l.errors),
		"p95 ≤ 2 s, at most 5 held", "")
}
