package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// burstSchedules is how many schedules of the row schedules are due in one second: as many triggers as a workspace may have.
// flowSchedules is how many of them each flow has.
const burstSchedules, flowSchedules = 1_000, 100

// onTriggers returns a row that is measured on a new server for each platform with one instance.
func onTriggers(measure func(b *benchmark, s *server, on platform)) func(*benchmark) {
	return onEach(func(b *benchmark, on platform) {
		var env []string
		if on.postgres {
			env = []string{"DATABASE_URL=" + b.database(), "SLUICE_MASTER_KEY=" + masterKey}
		}
		s := must(b.newServer(env...))
		defer s.kill()
		measure(b, s, on)
	})
}

// api sends a request to the API of a server and decodes the response.
func (s *server) api(key, method, path string, body, into any) {
	r := must(http.NewRequest(method, "http://"+s.addr+path, bytes.NewReader(must(json.Marshal(body)))))
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	answer := must(http.DefaultClient.Do(r))
	defer answer.Body.Close()
	data := must(io.ReadAll(answer.Body))
	if answer.StatusCode/100 != 2 {
		check(unexpected(answer.StatusCode, data, nil))
	}
	if into != nil {
		check(json.Unmarshal(data, into))
	}
}

// hooksOn compares a webhook without limits with the route that starts runs, in turn.
func (b *benchmark) hooksOn(s *server, on platform) {
	id := must(s.publish(greeting()))
	key := must(s.command(nil, "key", "create", "--name", "triggers", "--scope", "run,read,edit"))
	var hook struct{ URL string }
	s.api(key, "PUT", "/v1/flow/"+id+"/hooks/bench", object{"verify": object{"scheme": "none"}, "once": "never", "per_minute": 0, "per_day": 0}, &hook)
	_, token, _ := strings.Cut(hook.URL, "/h/")
	start := func(head []byte, status int) call {
		return func(w *httpConn, caller, n int) error {
			got, body, err := w.post(head, fmt.Appendf(nil, `{"name":"c%d-%d"}`, caller, n))
			if err != nil || got != status || !bytes.Contains(body, []byte(`"run_id"`)) {
				return unexpected(got, body, err)
			}
			return nil
		}
	}
	byRoute, byHook := start(head("POST", "/v1/flow/"+id+"/run", key), 202), start(head("POST", "/h/"+token, ""), 200)
	must(requireCorrect(drive([]string{s.addr}, parallel, warmUp, 0, byRoute)))
	var rates [2]float64
	var ratios []float64
	for range b.rounds {
		var round [2]float64
		for i, do := range []call{byRoute, byHook} {
			measure := func() { round[i] = must(requireCorrect(drive([]string{s.addr}, parallel, 0, b.items, do))).rate() }
			if i == 0 {
				measure()
				continue
			}
			b.profiling(s, measure)
		}
		rates[0], rates[1] = rates[0]+round[0]/float64(b.rounds), rates[1]+round[1]/float64(b.rounds)
		ratios = append(ratios, 100*round[1]/round[0])
	}
	slices.Sort(ratios)
	b.add(fmt.Sprintf("events accepted by a webhook, %d callers, %s", parallel, on.title()),
		fmt.Sprintf("%s/s beside %s runs/s accepted by the route: %.0f %% (%.0f–%.0f %%)", count(rates[1]), count(rates[0]), ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1]), "≥ 85 %", "")
}

// schedulesOn measures how long after their time schedules that are due at once have started.
func (b *benchmark) schedulesOn(s *server, on platform) {
	key := must(s.command(nil, "key", "create", "--name", "schedules", "--scope", "run,read,edit"))
	var flows []string
	at := time.Now().Add(2 * time.Minute).Truncate(time.Minute)
	for n := range burstSchedules / flowSchedules {
		flows = append(flows, must(s.publish(greeting())))
		for i := range flowSchedules {
			s.api(key, "PUT", fmt.Sprintf("/v1/flow/%s/triggers/t%d", flows[n], i), object{"at": at.UTC().Format("2006-01-02T15:04"), "timezone": "UTC", "inputs": object{"name": "Ada"}}, nil)
		}
		if left := time.Until(at); left < 30*time.Second { // all of them have the same time
			check(fmt.Errorf("only %d of %d schedules were created within 90 s", (n+1)*flowSchedules, burstSchedules))
		}
	}
	time.Sleep(time.Until(at))
	var late time.Duration
	for _, id := range flows {
		for started := 0; started < flowSchedules; {
			var page struct {
				Runs []struct {
					CreatedAt time.Time `json:"created_at"`
				}
			}
			s.api(key, "GET", "/v1/flow/"+id+"/runs?limit=100&trigger=schedule", nil, &page)
			if started = len(page.Runs); started == flowSchedules {
				for _, r := range page.Runs {
					late = max(late, r.CreatedAt.Sub(at))
				}
			} else {
				time.Sleep(50 * time.Millisecond)
			}
		}
	}
	b.add(fmt.Sprintf("%s schedules of one second, %s", count(burstSchedules), on.title()), "all accepted within "+ms(late), "5,000: ≤ 5 s (SQLite), ≤ 10 s (3 instances)", "")
}
