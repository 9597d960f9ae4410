package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"sluice/providers/scripted"
)

// scrape returns the metrics of a server.
func scrape(t testing.TB, at string) string {
	t.Helper()
	response, err := http.Get("http://" + at + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%d %v: %s", response.StatusCode, err, text)
	}
	return string(text)
}

// TestMetrics_exist_from_the_start: an alert on the increase of a series that appears with the first event would miss that event.
func TestMetrics_exist_from_the_start(t *testing.T) {
	t.Parallel()
	model := httptest.NewServer(scripted.New(func(*scripted.Request) scripted.Answer { return scripted.Answer{Text: "Hi."} }))
	t.Cleanup(model.Close)
	at := "127.0.0.1:" + strconv.Itoa(freePort(t))
	s := newServer(t, "SLUICE_METRICS_ADDR="+at, "SLUICE_METRICS_LABELS=flow", "SLUICE_ALLOW_PRIVATE=127.0.0.1/32")
	fresh := scrape(t, at)
	for _, line := range []string{
		`sluice_build_info\{.*version=".+"\} 1`, `sluice_http_request_duration_seconds_count\{code="500",method="POST",route="/v1/flow/:flow_id/run"\} 0`,
		`sluice_queue_oldest_seconds 0`, `sluice_workers\{state="busy"\} 0`, `sluice_workers\{state="idle"\} [1-9]\d*`, `sluice_steps_ended_total\{code="",kind="chat",state="failed"\} 0`,
		`sluice_model_call_duration_seconds_count\{model="",provider=""\} 0`, `sluice_model_first_chunk_seconds_count\{model="",provider=""\} 0`, `sluice_model_tokens_total\{model="",provider="",type="input"\} 0`,
		`sluice_model_cost_usd_total\{model="",provider=""\} 0`, `sluice_outbound_refused_total 0`, `sluice_delivery_oldest_seconds 0`, `sluice_db_pool\{state="max"\} [1-9]\d*`,
		`sluice_db_commit_seconds_count \d+`, `sluice_storage_bytes\{what="database"\} [1-9].*`, `sluice_storage_bytes\{what="content"\} \d+`, `sluice_spans_dropped_total 0`,
		`sluice_delivery_attempts_total\{state="failed"\} 0`, `sluice_starts_refused_total\{code="queue_full"\} 0`,
	} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(fresh) {
			t.Errorf("there is no line %s", line)
		}
	}
	if r := s.commandWith("sk-test", "credential", "add", "--name", "fake", "--provider", "openai_compatible", "--base-url", model.URL+"/v1"); r.code != 0 {
		t.Fatal(r.errs)
	}
	id := s.publish(documentOf("Ask", []object{node("ask", "chat", object{"model": "fake/m", "prompt": "Hi"}), output("answer")}, "ask.text > out_answer.value"))
	blocked := s.publish(documentOf("Blocked", []object{node("call", "http_request", object{"url": "http://10.1.2.3/"}), output("got")}, "call.body > out_got.value"))
	c := s.client(s.key())
	c.succeed(id, object{})
	c.await(c.start(blocked, object{}))
	after := scrape(t, at)
	for _, line := range []string{
		`sluice_runs_ended_total\{code="",flow="ask",state="succeeded"\} 1`, `sluice_run_duration_seconds_count\{flow="ask"\} 1`, `sluice_steps_ended_total\{code="",kind="chat",state="succeeded"\} 1`,
		`sluice_model_call_duration_seconds_count\{model="m",provider="fake"\} 1`, `sluice_model_first_chunk_seconds_count\{model="m",provider="fake"\} 1`,
		`sluice_outbound_refused_total [1-9]\d*`, `sluice_http_request_duration_seconds_count\{code="202",method="POST",route="/v1/flow/:flow_id/run"\} [1-9]\d*`,
		`sluice_steps_ended_total\{code="destination_blocked",kind="http_request",state="failed"\} 1`,
	} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(after) {
			t.Errorf("there is no line %s", line)
		}
	}
}

// TestAccessLog_has_neither_queries_nor_keys reads the lines of a start with a trace, of a wrong key, and of a page with a secret
// in its path.
func TestAccessLog_has_neither_queries_nor_keys(t *testing.T) {
	t.Parallel()
	s := newServer(t, "SLUICE_ACCESS_LOG=on")
	id := s.publish(greeting())
	key := s.key()
	c := s.client(key)
	r := c.start(id, object{"name": "x"}, "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "X-Request-Id: my-request")
	c.await(r)
	c.do("GET", "/v1/flow/"+id+"/runs?limit=1&token=hidden-in-query", nil)
	s.client("").do("GET", "/approve/hidden-in-path", nil)
	s.client("").do("GET", "/v1/flow/"+key+"/runs", nil)
	log := s.process().errs.String
	s.waitUntil("the requests are logged", func() bool { return strings.Count(log(), " msg=request ") >= 5 })
	for _, secret := range []string{"hidden-in-query", "hidden-in-path", key} {
		if strings.Contains(log(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	line := regexp.MustCompile(`.*request_id=my-request.*`).FindString(log())
	for _, field := range []string{
		`msg=request`, `method=POST`, `route=/v1/flow/:flow_id/run`, `status=202`, `flow=` + id, `run_id=` + r.ID, `trace_id=4bf92f3577b34da6a3ce929d0e0e4736`,
		`key=key_\w+`, `instance=\S+`, `duration_ms=[0-9.]+`, `address=127\.0\.0\.1`, `bytes=[1-9]\d*`,
	} {
		if !regexp.MustCompile(` ` + field + `( |$)`).MatchString(line) {
			t.Errorf("%s is missing in the line %q", field, line)
		}
	}
}
