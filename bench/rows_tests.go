package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	testCases      = 1_000
	testCandidates = 5
	testPages      = 20 // requests of the page of a report
	testLimit      = 5 * time.Second
	pageLimit      = 200 * time.Millisecond
	pageSize       = 300 << 10
)

// looking returns a flow of three requests, one after the other.
func looking(url string) []byte {
	nodes, edges, from := []object{nameInput(), textOutput()}, []string{}, "name.value"
	for i := range 3 {
		id := fmt.Sprintf("get%d", i)
		nodes = append(nodes, node(id, "http_request", object{"method": "GET", "url": fmt.Sprintf("%sget%d?name={{name}}", url, i)}))
		edges = append(edges, from, id+".name")
		from = id + ".status"
	}
	return document("Look", nodes, append(edges, from, "out.value")...)
}

// testsRow measures tests: replays of many cases whose results are recorded, and the page of a report with several candidates.
func (b *benchmark) testsRow() {
	for _, on := range b.on {
		if on.instances > 1 {
			continue
		}
		env := []string{allowLoopback}
		if on.postgres {
			env = append(env, "DATABASE_URL="+b.database(), "SLUICE_MASTER_KEY="+masterKey)
		}
		s := must(b.newServer(env...))
		func() {
			defer s.kill()
			b.testsOn(s, on)
		}()
	}
}

func (b *benchmark) testsOn(s *server, on platform) {
	service := must(newEchoService(0))
	defer service.Close()
	must(s.command([]byte("bench pass phrase\n"), "user", "add", "--email", "owner@example.com", "--password-stdin"))
	cookie := s.signIn("owner@example.com", "bench pass phrase")
	id, _ := s.prepare(looking(service.url()))
	m := &manager{s, strings.TrimSpace(must(s.command(nil, "key", "create", "--name", "tests", "--scope", "run,edit,read,manage")))}
	list := make([]object, testCases)
	for i := range list {
		list[i] = object{"id": fmt.Sprintf("case-%04d", i), "inputs": object{"name": fmt.Sprintf("m%d", i)}, "checks": []object{{"output": "text", "equals": 200}}}
	}
	path := "/v1/flow/" + id
	_, tag, _ := m.call(http.MethodGet, path+"/companions/tests", nil, "")
	_, _, added := m.call(http.MethodPut, path+"/companions/tests", must(json.Marshal(object{"schema": "sluice.tests/v1", "cases": list})), tag)
	_, filled := s.runTest(m.key, path, object{"mode": "fill", "concurrency": 100})
	replayed := make([]time.Duration, 3)
	b.profiling(s, func() {
		for i := range replayed {
			_, replayed[i] = s.runTest(m.key, path, object{"mode": "replay", "concurrency": 100})
		}
	})
	slices.Sort(replayed)
	b.add(fmt.Sprintf("%s replayed cases of a flow of three requests, %s", count(testCases), on.title()),
		fmt.Sprintf("%s (%s to %s); %s to record them, %s to add the cases", ms(replayed[1]), ms(replayed[0]), ms(replayed[2]), ms(filled), ms(added)), "≤ "+ms(testLimit), "")

	candidates := make([]object, testCandidates)
	for i := range candidates {
		candidates[i] = object{"version": "live"}
	}
	test, _ := s.runTest(m.key, path, object{"mode": "replay", "concurrency": 100, "candidates": candidates})
	request := []byte("GET /flows/" + id + "/tests/reports/" + test + " HTTP/1.1\r\nHost: " + s.addr + "\r\nCookie: " + cookie + "\r\n")
	size := 0
	call := func(w *httpConn, _, _ int) error {
		status, body, err := w.get(request)
		if size = len(body); err != nil || status != http.StatusOK || !strings.Contains(string(body), "case-0000") {
			return errors.Join(err, fmt.Errorf("status %d, %d bytes", status, len(body)))
		}
		return nil
	}
	must(requireCorrect(drive([]string{s.addr}, 1, 0, 1, call)))
	before := s.cpuTime()
	l := must(requireCorrect(drive([]string{s.addr}, 1, 0, testPages, call)))
	b.add(fmt.Sprintf("the page of a report of %s cases and %d candidates, %s", count(testCases), testCandidates, on.title()),
		fmt.Sprintf("p50 %s, p95 %s, %d KiB", ms(l.percentile(.5)), ms(l.percentile(.95)), size>>10), fmt.Sprintf("≤ %s, ≤ %d KiB", ms(pageLimit), pageSize>>10), before.since(s, testPages))
}

// runTest runs a test to its end. It returns its ID and how long that took from the request.
func (s *server) runTest(key, path string, body object) (id string, took time.Duration) {
	call := func(method, path string, body io.Reader, v any) {
		r := must(http.NewRequest(method, "http://"+s.addr+path, body))
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		answer := must(http.DefaultClient.Do(r))
		defer answer.Body.Close()
		data := must(io.ReadAll(answer.Body))
		if answer.StatusCode/100 != 2 {
			check(unexpected(answer.StatusCode, data, nil))
		}
		check(json.Unmarshal(data, v))
	}
	start := time.Now()
	var test struct {
		ID, Status, State string
		RunID             string `json:"run_id"`
	}
	call(http.MethodPost, path+"/tests", strings.NewReader(string(must(json.Marshal(body)))), &test)
	var run struct{ Status string }
	for run.Status != "succeeded" {
		call(http.MethodGet, path+"/run/"+test.RunID+"?wait=60", nil, &run)
	}
	took = time.Since(start)
	if call(http.MethodGet, path+"/tests/"+test.ID, nil, &test); test.State != "passed" {
		check(fmt.Errorf("the test %s: %s", test.ID, test.State))
	}
	return test.ID, took
}
