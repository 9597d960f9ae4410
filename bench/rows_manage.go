package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	manageFlows = 200                   // of one apply
	manageNodes = 20                    // templates of each flow
	manageCalls = 100                   // of each kind
	manageLimit = 20 * time.Millisecond // p95 of each
	applyLimit  = 2 * time.Second       // of all flows
)

// manager calls the management API.
type manager struct {
	*server
	key string
}

// call returns the body and the ETag of a response, and how long it took.
func (m *manager) call(method, path string, body []byte, tag string) (answer []byte, etag string, took time.Duration) {
	r := must(http.NewRequest(method, "http://"+m.addr+path, bytes.NewReader(body)))
	r.Header.Set("Authorization", "Bearer "+m.key)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if tag != "" {
		r.Header.Set("If-Match", tag)
	}
	start := time.Now()
	resp := must(http.DefaultClient.Do(r))
	defer resp.Body.Close() //nolint:errcheck // it was read
	answer = must(io.ReadAll(resp.Body))
	took = time.Since(start)
	if resp.StatusCode != http.StatusOK {
		check(unexpected(resp.StatusCode, answer, nil))
	}
	return answer, resp.Header.Get("ETag"), took
}

// apply applies and publishes all flows with a description.
func (m *manager) apply(description string) (took time.Duration) {
	documents := make([]object, manageFlows)
	for i := range documents {
		check(json.Unmarshal(chain(manageNodes), &documents[i]))
		documents[i]["slug"], documents[i]["name"], documents[i]["description"] = fmt.Sprintf("flow-%d", i), fmt.Sprintf("Flow %d", i), description
	}
	_, _, took = m.call(http.MethodPost, "/v1/apply", must(json.Marshal(object{"documents": documents, "publish": true, "source": "bench"})), "")
	return took
}

// manageRow measures the management API for a single caller: an apply of many flows when it
// creates and publishes them, when it changes all, and when nothing differs; then the calls
// about one flow, and reports the slowest.
func (b *benchmark) manageRow(s *server) {
	m := &manager{s, strings.TrimSpace(must(s.command(nil, "key", "create", "--name", "manage", "--scope", "edit,read,manage")))}
	created, again, changed := m.apply("one"), m.apply("one"), m.apply("two")
	b.add(fmt.Sprintf("apply of %d flows of %d nodes, published", manageFlows, manageNodes+2),
		fmt.Sprintf("%s to create, %s to change, %s if nothing differs", ms(created), ms(changed), ms(again)), "≤ "+ms(applyLimit), "")

	times := map[string][]time.Duration{}
	document, tag, _ := m.call(http.MethodGet, "/v1/flow/flow-7/document?version=draft", nil, "")
	for i := range manageCalls {
		timed := func(name, method, path string, body []byte, tag string) (etag string) {
			_, etag, took := m.call(method, path, body, tag)
			times[name] = append(times[name], took)
			return etag
		}
		next := bytes.Replace(document, []byte(`"two"`), fmt.Appendf(nil, `"edit %d"`, i), 1)
		timed("validate", http.MethodPost, "/v1/flow/validate", next, "")
		tag = timed("replace the draft", http.MethodPut, "/v1/flow/flow-7", next, tag)
		timed("diff", http.MethodGet, "/v1/flow/flow-7/diff", nil, "")
		timed("publish", http.MethodPost, "/v1/flow/flow-7/publish", nil, "")
		timed("document", http.MethodGet, "/v1/flow/flow-7/document?version=draft", nil, "")
		timed("versions", http.MethodGet, "/v1/flow/flow-7/versions", nil, "")
		timed("flows", http.MethodGet, "/v1/flow?limit=100", nil, "")
	}
	slowest, name := time.Duration(0), ""
	for of, list := range times {
		slices.Sort(list)
		p95 := list[len(list)*95/100]
		fmt.Fprintf(os.Stderr, "    %-20s p50 %9s  p95 %9s\n", of, ms(list[len(list)/2]), ms(p95))
		if p95 > slowest {
			slowest, name = p95, of
		}
	}
	b.add(fmt.Sprintf("%d management calls about a flow of %d nodes, slowest", len(times), manageNodes+2), name+" p95 "+ms(slowest), "p95 ≤ "+ms(manageLimit), "")
}
