package e2e

import (
	"net/url"
	"strings"
)

// tests provokes the responses of cases and tests.
func (k *contract) tests() {
	flow := "/v1/flow/" + k.ids["flow_id"]
	one := flow + "/cases/one"
	c := k.s.client(k.keys["all"])
	k.ask("all", "POST", flow+"/tests", object{})
	k.ask("all", "PUT", one, object{"inputs": object{"name": "Ada"}, "checks": []object{{"status": "succeeded"}}})
	k.ask("all", "PUT", one, object{"repeat": 99})
	k.ask("all", "PUT", one, []byte("x"), "Content-Type: text/plain")
	k.ask("all", "GET", one, nil)
	k.ask("all", "GET", flow+"/cases", nil)
	k.ask("all", "GET", flow+"/cases/none", nil)
	k.ask("all", "DELETE", flow+"/cases/none", nil)
	run := c.want(202, "POST", flow+"/run", object{"name": "Bob"}).object(k.t)["run_id"].(string)
	k.s.waitUntil("the run ends", func() bool {
		return c.want(200, "GET", flow+"/run/"+run, nil).object(k.t)["ended_at"] != nil
	})
	k.ask("all", "POST", flow+"/cases/from-runs", object{"runs": []string{run}, "preview": true})
	k.ask("all", "POST", flow+"/cases/from-runs", object{"sample": 0})
	k.ask("all", "POST", flow+"/cases/from-runs", object{"runs": []string{"run_01m7z26njgm1r68xj6qyhfyvty"}})
	k.ask("all", "POST", flow+"/cases/from-runs", []byte("x"), "Content-Type: text/plain")
	k.ask("run", "POST", flow+"/cases/from-runs", object{})
	k.ask("all", "POST", flow+"/cases/from-runs", object{"runs": []string{run}})
	k.ask("all", "DELETE", flow+"/run/"+run+"?cases=all", nil)
	k.ask("all", "DELETE", flow+"/run/"+run+"?cases=erase", nil)
	k.ask("all", "POST", flow+"/cases/from-runs", object{"runs": []string{run}})
	c.want(200, "PUT", flow+"/hooks/events", object{"verify": object{"scheme": "none"}})
	k.ask("all", "POST", flow+"/cases/from-event", object{"hook": "events", "event": "none"})
	k.ask("all", "POST", flow+"/cases/from-event", object{"hook": 1})
	k.ask("all", "POST", flow+"/cases/from-event", []byte("x"), "Content-Type: text/plain")
	captureEvent(c, flow, "events", "event-1", object{"name": "Carl"})
	k.ask("all", "POST", flow+"/cases/from-event", object{"hook": "events", "event": "event-1"})
	k.ask("all", "POST", flow+"/cases/labels", []byte("x"), "Content-Type: text/plain")
	k.ask("run", "POST", flow+"/cases/from-event", object{})
	k.ask("all", "POST", flow+"/cases/labels", object{"csv": "case,greeting\nnobody,Hello\n"})
	k.ask("all", "POST", flow+"/cases/labels", object{})
	k.ask("run", "POST", flow+"/cases/labels", object{"csv": "case\n"})
	k.ask("all", "PUT", flow+"/triggers/canary", object{"cron": "@daily", "test": object{"mode": "replay", "candidates": []any{object{"version": "draft"}}}})
	draft := c.want(201, "POST", "/v1/flow", greeting()).object(k.t)["flow_id"].(string)
	c.want(200, "PUT", "/v1/flow/"+draft+"/cases/one", object{"inputs": object{"name": "Ada"}})
	k.ask("all", "POST", "/v1/flow/"+draft+"/tests", object{})
	for _, body := range []any{
		object{"mode": "fast"}, object{"candidates": []object{{"version": 999}}}, object{"candidates": []object{{"document": object{"schema": "sluice.flow/v1"}}}},
	} {
		k.ask("all", "POST", flow+"/tests", body)
	}
	k.ask("all", "POST", flow+"/tests", []byte("x"), "Content-Type: text/plain")
	k.ask("run", "POST", flow+"/tests", object{"mode": "live"})
	started := k.ask("all", "POST", flow+"/tests", object{"mode": "replay", "candidates": []object{{"version": "draft"}}, "baseline": object{"version": "live"}}).object(k.t)
	test := flow + "/tests/" + started["id"].(string)
	k.s.waitUntil("the test ends", func() bool {
		status := c.want(200, "GET", test, nil).object(k.t)["status"].(string)
		return strings.Contains("succeeded failed canceled", status)
	})
	k.ask("all", "GET", test+"?case=one", nil)
	k.ask("all", "GET", test+"?format=json", nil)
	k.ask("all", "GET", test+"?format=pdf", nil)
	mark := object{"case": "one", "check": "judge", "right": true}
	k.ask("all", "POST", test+"/marks", mark)
	k.ask("all", "POST", flow+"/tests/none/marks", mark)
	k.ask("run", "POST", test+"/marks", mark)
	k.ask("all", "POST", test+"/marks", []byte("x"), "Content-Type: text/plain")
	k.ask("all", "PUT", test+"/notes", object{"notes": "The new prompt is shorter."})
	k.ask("all", "PUT", test+"/notes", object{"note": "x"})
	k.ask("all", "PUT", flow+"/tests/none/notes", object{"notes": ""})
	k.ask("run", "PUT", test+"/notes", object{"notes": ""})
	k.ask("all", "PUT", test+"/notes", []byte("x"), "Content-Type: text/plain")
	k.ask("all", "GET", flow+"/judges", nil)
	k.ask("run", "GET", flow+"/judges", nil)
	k.ask("all", "POST", test+"/expect", object{"case": "one"})
	k.ask("all", "POST", test+"/expect", object{"case": "none"})
	k.ask("all", "POST", test+"/expect", []byte("x"), "Content-Type: text/plain")
	k.ask("all", "POST", test+"/retry", nil)
	k.ask("all", "POST", test+"/retry", nil, "Idempotency-Key: "+strings.Repeat("x", 300))
	k.ask("all", "POST", flow+"/tests/none/retry", nil)
	k.ask("run", "POST", test+"/retry", nil)
	k.ask("run", "POST", test+"/expect", object{"case": "one"})
	k.ask("all", "GET", flow+"/recordings", nil)
	k.ask("all", "GET", flow+"/recordings?limit=x", nil)
	k.ask("all", "POST", flow+"/recordings", object{"recordings": []object{{"schema": "sluice.recording/v1", "node": "x", "node_hash": strings.Repeat("0", 64), "input_hash": strings.Repeat("0", 64), "outputs": object{"text": "a"}}}})
	k.ask("all", "POST", flow+"/recordings", object{"recordings": 1})
	k.ask("all", "POST", flow+"/recordings", []byte("x"), "Content-Type: text/plain")
	k.ask("run", "GET", flow+"/recordings", nil)
	k.ask("run", "POST", flow+"/recordings", object{"recordings": []object{}})
	k.ask("all", "GET", flow+"/tests/none", nil)
	k.ask("all", "POST", flow+"/tests/none/cancel", nil)
	k.ask("all", "POST", test+"/cancel", nil)
	k.ask("all", "POST", test+"/cancel", []byte("x"), "Content-Type: text/plain")
	k.ask("all", "GET", flow+"/tests", nil)
	k.ask("all", "GET", flow+"/tests?limit=x", nil)
	for _, path := range []string{flow + "/cases", one, flow + "/tests", test} {
		k.ask("run", "GET", path, nil)
		k.ask("wrong", "GET", path, nil)
	}
	k.ask("run", "PUT", one, object{})
	k.ask("run", "DELETE", one, nil)
	k.ask("all", "DELETE", one, nil)
}

// captureEvent creates a webhook that keeps requests, and sends it one.
func captureEvent(c *client, flow, hook, key string, body object) {
	c.t.Helper()
	made := c.want(200, "PUT", flow+"/hooks/"+hook, object{"verify": object{"scheme": "none"}, "once": "body.key"}).object(c.t)
	c.want(200, "POST", flow+"/hooks/"+hook+"/capture", object{"on": true})
	body["key"] = key
	sent, err := url.Parse(made["url"].(string))
	if err != nil {
		c.t.Fatal(err)
	}
	c.do("POST", sent.Path, body)
}
