package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// failing is a flow that calls an address where no server listens.
const failing = `{"schema": "sluice.flow/v1", "name": "Ask the warehouse", "description": "Asks a service that does not answer.", "nodes": [
	{"id": "order", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "order", "type": "text", "example": "4711"}},
	{"id": "ask", "kind": "http_request", "label": "Ask the warehouse", "position": {"x": 280, "y": 0}, "retry": {"attempts": 2, "backoff_s": 0.1}, "config": {"url": "http://127.0.0.1:1/orders/{{order}}"}},
	{"id": "answer", "kind": "output", "position": {"x": 560, "y": 0}, "config": {"name": "answer"}}],
	"edges": [{"from": "order.value", "to": "ask.order"}, {"from": "ask.body", "to": "answer.value"}]}`

var tickets = []string{
	"I was charged twice for October and need the second payment back.", "The app shows a blank page after I sign in.",
	"How do I change the address on my invoice?", "Your delivery arrived broken. Who replaces it?", "Please delete my account and all data.",
}

// seeded is a dashboard with runs and other data.
type seeded struct {
	*dashboard
	flow, broken     string // IDs of flows
	run, failed, key string // IDs of runs, and the secret of a key
	delivery         string // ID of a delivery that no receiver accepts
	batched          string // ID of a batch that has ended; see batch
	planned, hooked  string // paths of a schedule and of a webhook with a rejected request; see triggers
	kb               string // path of a knowledge base; see knowledge
	document         string // path of a document of it, with a long name
	searched         string // path of the run of a search
	asks             string // ID of a flow with a model
	tested, report   string // paths of a flow with a gate and of the report of a test; see tests
}

// seed creates runs that succeed and runs that fail.
func (d *dashboard) seed() *seeded {
	d.t.Helper()
	s := &seeded{dashboard: d, flow: d.publishStarter(), broken: d.publish([]byte(failing))}
	d.openForm(s.flow)
	s.key = d.must("key", "create", "--name", "production", "--scope", "run,read,manage")
	c := d.client(s.key)
	for _, ticket := range tickets {
		s.run = s.start(c, s.flow, object{"ticket": ticket})
	}
	for i := range 2 {
		s.failed = s.start(c, s.broken, object{"order": fmt.Sprint(4711 + i)})
	}
	s.start(c, s.flow, object{"ticket": tickets[0], "run_options": object{"webhook": object{"url": "http://127.0.0.1:1/sluice"}}})
	var log struct {
		Deliveries []struct {
			ID string `json:"delivery_id"`
		}
	}
	a := c.want(http.StatusOK, http.MethodGet, "/v1/flow/"+s.flow+"/deliveries", nil)
	if err := json.Unmarshal(a.body, &log); err != nil || len(log.Deliveries) != 1 {
		d.t.Fatalf("%v, deliveries: %s", err, a.body)
	}
	s.delivery = log.Deliveries[0].ID
	return s
}

// batch runs the flow for a few rows of a table and returns the path of the batch.
func (s *seeded) batch() string {
	s.t.Helper()
	c := s.client(s.key)
	if s.batched == "" {
		rows := []object{{"ticket": tickets[0]}, {"ticket": tickets[1]}, {"ticket": 5}}
		s.batched = fmt.Sprint(c.want(http.StatusAccepted, http.MethodPost, "/v1/flow/"+s.flow+"/batches", object{"rows": rows, "on_invalid": "skip"}).object(s.t)["run"].(object)["run_id"])
		s.waitUntil("the batch ends", func() bool {
			return c.want(http.StatusOK, http.MethodGet, "/v1/flow/"+s.flow+"/batches/"+s.batched, nil).object(s.t)["run"].(object)["ended_at"] != nil
		})
	}
	return "/flows/" + s.flow + "/batches/" + s.batched
}

// triggers returns the paths of a schedule and of an incoming webhook with a rejected request, beside which an alarm looks at failures.
func (s *seeded) triggers() (schedule, hook string) {
	s.t.Helper()
	if s.planned == "" {
		c := s.client(s.must("key", "create", "--name", "automation", "--scope", "edit,read,run"))
		path := "/v1/flow/" + s.flow
		list := "/flows/" + s.flow + "/triggers/"
		s.planned = list + fmt.Sprint(c.want(http.StatusOK, http.MethodPut, path+"/triggers/digest", object{"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin", "inputs": object{"ticket": tickets[0]}}).object(s.t)["id"])
		o := c.want(http.StatusOK, http.MethodPut, path+"/hooks/tickets", object{"verify": object{"scheme": "none"}}).object(s.t)
		s.hooked = list + fmt.Sprint(o["id"])
		_, token, _ := strings.Cut(fmt.Sprint(o["url"]), "/h/")
		r, err := plain.Post(s.base()+"/h/"+token, "application/json", strings.NewReader(`{"ticket": ["not a text"], "more": {"members": [1, 2]}}`))
		if err != nil {
			s.t.Fatal(err)
		}
		r.Body.Close()
		c.want(http.StatusOK, http.MethodPut, "/v1/alarms/many-fail", object{"flow": s.flow, "kind": "failed", "count": 3})
	}
	return s.planned, s.hooked
}

// openForm shares a flow as a form.
func (d *dashboard) openForm(flow string) {
	d.t.Helper()
	v := url.Values{"on": {"on"}, "per_minute": {"60"}, "per_day": {"500"}, "max_file": {"5"}}
	r, err := http.NewRequest(http.MethodPost, d.base()+"/flows/"+flow+"/form", strings.NewReader(v.Encode()))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Cookie", d.cookies())
	resp, err := plain.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusSeeOther {
		d.t.Fatalf("the form was not opened: %s", resp.Status)
	}
}

// start starts a run and waits for its end.
func (s *seeded) start(c *client, flow string, body object) string {
	s.t.Helper()
	a := c.want(http.StatusOK, http.MethodPost, "/v1/flow/"+flow+"/run", body, "Prefer: wait=30")
	return a.run(s.t).ID
}

// place is a page with a name for screenshots and findings.
type place struct{ name, path string }

// open returns the pages that need no session; private returns the others.
func (s *seeded) open() []place {
	return []place{
		{"sign-in", "/sign-in"}, {"not-found", "/nothing"}, {"form", "/f/" + s.flow},
		{"docs", "/docs"}, {"docs-nodes", "/docs/nodes"}, {"docs-none", "/docs?q=xyzzy"},
	}
}

func (s *seeded) private() []place {
	schedule, hook := s.triggers()
	base := s.knowledge()
	tested, report := s.tests()
	return []place{
		{"schedule", schedule}, {"backfill", schedule + "/backfill?from=2026-11-02&until=2026-11-06"}, {"hook", hook},
		{"alarms", "/alarms"}, {"alarm", "/alarms/many-fail"}, {"alarm-new", "/alarms/new/slow?flow=" + s.flow},
		{"flows", "/flows"}, {"flows-table", "/flows?view=table"}, {"templates", "/flows/templates"}, {"import", "/flows/import"},
		{"builder", "/flows/" + s.flow}, {"builder-run", "/flows/" + s.flow + "?run=" + s.run}, {"publish", "/flows/" + s.broken + "/publish"}, {"flow-settings", "/flows/" + s.flow + "/settings"}, {"flow-runs", "/runs?flow=" + s.flow},
		{"api", "/flows/" + s.flow + "/api"}, {"api-stream", "/flows/" + s.broken + "/api?lang=typescript&manner=stream"},
		{"form-settings", "/flows/" + s.flow + "/form"}, {"versions", "/flows/" + s.flow + "/versions"}, {"compare", "/flows/" + s.flow + "/compare?from=1&to=draft"},
		{"runs", "/runs"}, {"runs-custom", "/runs?time=custom"}, {"usage-custom", "/usage?range=custom"}, {"run", "/runs/" + s.run}, {"run-failed", "/runs/" + s.failed}, {"usage", "/usage"},
		{"run-input", "/runs/" + s.run + "?step=team&tab=input"}, {"run-log", "/runs/" + s.run + "?step=team&tab=log"}, {"run-attempts", "/runs/" + s.failed + "?step=ask&tab=attempts"}, {"approvals", "/approvals"},
		{"triggers", "/triggers"}, {"flow-triggers", "/flows/" + s.flow + "/triggers"}, {"schedule-new", "/flows/" + s.flow + "/triggers/schedule"}, {"hook-new", "/flows/" + s.flow + "/triggers/webhook"}, {"flow-limits", "/flows/" + s.flow + "/limits"},
		{"batches", "/flows/" + s.flow + "/batches"}, {"batch", s.batch()},
		{"knowledge", "/knowledge"}, {"knowledge-new", "/knowledge/+new"}, {"base", base + "?q=refund&expect=refund"}, {"base-settings", base + "/settings"}, {"base-document", s.document}, {"run-search", s.searched},
		{"cases", tested + "/tests"}, {"case-open", tested + "/tests?case=ada"}, {"case", tested + "/tests/cases/ada"}, {"case-new", tested + "/tests/new"}, {"case-from-run", "/flows/" + s.flow + "/tests/new?run=" + s.run},
		{"case-grid", tested + "/tests/grid"}, {"case-compare", tested + "/tests/compare"}, {"case-report", report + "?case=ada"}, {"publish-gate", tested + "/publish"},
		{"keys", "/keys"}, {"key-new", "/keys/new"}, {"key", "/keys/" + s.keyID()}, {"flow-keys", "/flows/" + s.flow + "/keys"}, {"credentials", "/credentials"}, {"credential-choose", "/credentials?add="}, {"credential-new", "/credentials?add=openai"}, {"models", "/models"}, {"models-speech", "/models?category=text-to-speech"}, {"model", "/models/black-forest-labs/flux-schnell"},
		{"deliveries", "/deliveries"}, {"delivery", "/deliveries/" + s.delivery}, {"endpoints", "/deliveries/endpoints"}, {"deliveries-again", "/deliveries/again"}, {"webhooks", "/flows/" + s.flow + "/webhooks"},
		{"workspace", "/settings/workspace"}, {"members", "/settings/members"}, {"sessions", "/settings/sessions"}, {"two-step", "/settings/two-step"}, {"audit", "/settings/audit"}, {"password", "/password"},
		{"docs-webhooks", "/docs/webhooks"}, {"docs-api", "/docs/api"}, {"docs-errors", "/docs/errors"}, {"docs-search", "/docs?q=idempotency"},
	}
}

// guarded is a flow with cases and a gate. Its draft says something else than what is live.
const guarded = `{"schema": "sluice.flow/v1", "name": "Greet guests", "nodes": [
	{"id": "who", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "who", "type": "text", "example": "Ada"}},
	{"id": "words", "kind": "template", "position": {"x": 280, "y": 0}, "config": {"template": "Hello {{who}}"}},
	{"id": "send", "kind": "webhook", "position": {"x": 280, "y": 160}, "config": {"url": "https://example.com/guests"}},
	{"id": "out", "kind": "output", "position": {"x": 560, "y": 0}, "config": {"name": "text"}}],
	"edges": [{"from": "who.value", "to": "words.who"}, {"from": "words.text", "to": "out.value"}]}`

// tests returns the paths of the cases of a flow with a gate, and of a report in which one got worse. Names are long, and in several scripts.
func (s *seeded) tests() (flow, report string) {
	s.t.Helper()
	if s.report == "" {
		dir := s.t.TempDir()
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				s.t.Fatal(err)
			}
		}
		write("guests.flow.json", guarded)
		s.must("flow", "apply", dir, "--publish")
		long := strings.Repeat("Ein sehr langer Name ", 4) + "שם ארוך 😀" + strings.Repeat("x", 20)
		file, err := json.Marshal(object{"schema": "sluice.tests/v1", "gate": object{"tags": []string{"must"}}, "cases": []object{
			{"id": "ada", "name": long, "inputs": object{"who": "Ada"}, "tags": []string{"must", strings.Repeat("w", 110)}, "checks": []object{{"output": "text", "equals": "Hello Ada"}, {"expression": "outputs.text != ''", "watch": true}}},
			{"id": "parcel", "inputs": object{"who": "דנה 📦"}},
		}})
		if err != nil {
			s.t.Fatal(err)
		}
		write("guests.tests.json", string(file))
		write("guests.flow.json", strings.Replace(guarded, "Hello {{who}}", "Bye {{who}}", 1))
		s.must("flow", "apply", dir)
		var flows []struct {
			ID   string `json:"flow_id"`
			Name string
		}
		if err := json.Unmarshal([]byte(s.must("flow", "list", "--json")), &flows); err != nil {
			s.t.Fatal(err)
		}
		for _, f := range flows {
			if f.Name == "Greet guests" {
				s.tested = "/flows/" + f.ID
			}
		}
		c := s.client(s.must("key", "create", "--name", "tests", "--scope", "edit,read,run,manage"))
		o := c.want(http.StatusAccepted, http.MethodPost, "/v1"+strings.Replace(s.tested, "/flows/", "/flow/", 1)+"/tests", object{"candidates": []object{{"version": "draft"}}, "baseline": object{"version": "live"}, "mode": "replay"}, "Prefer: wait=60").object(s.t)
		s.report = s.tested + "/tests/reports/" + fmt.Sprint(o["id"])
	}
	return s.tested, s.report
}

// knowledge returns the path of a base with a document.
func (s *seeded) knowledge() string {
	s.t.Helper()
	if s.kb == "" {
		s.kb = "/knowledge/help-center"
		path := filepath.Join(s.t.TempDir(), "refunds.md")
		if err := os.WriteFile(path, []byte("# Refunds\n\nA refund takes five working days.\n"), 0o600); err != nil {
			s.t.Fatal(err)
		}
		s.must("knowledge", "create", "help-center")
		long := filepath.Join(s.t.TempDir(), "refunds-and-returns-of-customers-of-the-european-union-"+strings.Repeat("x", 120)+".md")
		if err := os.WriteFile(long, []byte("# "+strings.Repeat("Refunds and returns of customers of the European Union ", 4)+"\n\nA refund in the EU takes fourteen days.\n"), 0o600); err != nil {
			s.t.Fatal(err)
		}
		s.must("knowledge", "add", "help-center", path, long)
		c := s.client(s.key)
		for _, d := range c.want(http.StatusOK, http.MethodGet, "/v1/knowledge/help-center/documents", nil).object(s.t)["documents"].([]any) {
			s.document = s.kb + "/documents/" + fmt.Sprint(d.(object)["id"])
		}
		id := s.publish(documentOf("Search", []object{input("q"), node("search", "knowledge_search", object{"knowledge": "help-center"}), output("context")}, "q.value > search.query", "search.context > out_context.value"))
		s.searched = "/runs/" + s.start(c, id, object{"q": "How long does a refund take?"}) + "?step=search"
	}
	return s.kb
}

// keyID returns the ID of the only key.
func (s *seeded) keyID() string {
	s.t.Helper()
	var keys []struct{ ID string }
	if err := json.Unmarshal([]byte(s.must("key", "list", "--json")), &keys); err != nil || len(keys) == 0 {
		s.t.Fatalf("%d keys: %v", len(keys), err)
	}
	return keys[0].ID
}
