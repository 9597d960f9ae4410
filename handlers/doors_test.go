package handlers_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers"
	"sluice/handlers/webtest"
)

// operatorToken stands for the token of the command line on the machine of the server.
const operatorToken = "local-token-of-the-test"

// doors are acts that programs do through the API and people through the dashboard, in an order in
// which they succeed. A path of the API begins with its method. The words in capitals stand for
// names and IDs, which differ by door.
var doors = []struct {
	action     string
	api, body  string
	page, form string
}{
	{"credential.save", "PUT /v1/credentials/NAME", `{"secret": "sk-right", "provider": "openai"}`, "/credentials", "provider=openai&name=NAME&secret=sk-right"},
	{"credential.limits", "PATCH /v1/credentials/NAME", `{"max_calls": 3}`, "/credentials/NAME/limits", "max_calls=3"},
	{"credential.test", "POST /v1/credentials/NAME/test", "", "/credentials/NAME/test", ""},
	{"credential.remove", "DELETE /v1/credentials/NAME", "", "/credentials/NAME/remove", "sure=on"},
	{"credential.save", "PUT /v1/credentials/NAME", `{"secret": "s3cret", "hosts": ["a.example.com"]}`, "/credentials", "provider=plain&name=NAME&secret=s3cret&hosts=a.example.com"},
	{"credential.hosts", "PUT /v1/local/credentials/NAME/hosts", `{"hosts": ["b.example.com"]}`, "/credentials/NAME/hosts", "hosts=b.example.com"},
	{"flow.limits", "PATCH /v1/flow/FLOW/limits", `{"max_queued": 9}`, "/flows/FLOW/limits", "max_queued=9"},
	{"flow.live", "POST /v1/flow/FLOW/publish", `{"version": 1, "allow_breaking": true}`, "/flows/FLOW/versions/1/live", ""},
	{"flow.secret.read", "GET /v1/flow/FLOW/webhooks", "", "/flows/FLOW/webhooks/secret", "node=hook&from=draft"},
	{"flow.secret.rotate", "POST /v1/flow/FLOW/webhooks/hook/rotate", `{"overlap_s": 86400}`, "/flows/FLOW/webhooks/rotate", "node=hook&from=draft&overlap=24h"},
	{"flow.archive", "POST /v1/flow/FLOW/archive", "", "/flows/FLOW/archive", ""},
	{"flow.restore", "POST /v1/flow/FLOW/restore", "", "/flows/FLOW/restore", ""},
	{"trigger.create", "PUT /v1/flow/FLOW/triggers/NAME", `{"cron": "0 9 * * 1-5"}`, "/flows/FLOW/triggers/schedule", "name=NAME&edited=phrase&phrase=weekdays+at+9&source.word=value&text.word=x"},
	{"trigger.pause", "POST /v1/flow/FLOW/triggers/NAME/pause", "", "/flows/FLOW/triggers/NAME/pause", ""},
	{"trigger.resume", "POST /v1/flow/FLOW/triggers/NAME/resume", "", "/flows/FLOW/triggers/NAME/resume", ""},
	{"trigger.delete", "DELETE /v1/flow/FLOW/triggers/NAME", "", "/flows/FLOW/triggers/NAME/delete", ""},
	{"trigger.create", "PUT /v1/flow/FLOW/hooks/NAME", `{"verify": {"scheme": "none"}}`, "/flows/FLOW/triggers/webhook", "name=NAME&scheme=none"},
	{"trigger.reveal", "GET /v1/flow/FLOW/hooks/NAME", "", "/flows/FLOW/triggers/NAME/reveal", ""},
	{"trigger.rotate", "POST /v1/flow/FLOW/hooks/NAME/rotate", `{"overlap_s": 86400}`, "/flows/FLOW/triggers/NAME/rotate", "overlap=24h"},
	{"trigger.capture", "POST /v1/flow/FLOW/hooks/NAME/capture", `{"on": true}`, "/flows/FLOW/triggers/NAME/capture", "on=on"},
	{"workspace.timezone", "PUT /v1/timezone", `{"timezone": "Europe/Berlin"}`, "/settings/timezone", "timezone=Europe/Berlin"},
	{"member.remove", "DELETE /v1/local/users?email=MEMBER@example.com", "", "/settings/members/USER/remove", ""},
	{"run.cancel", "POST /v1/flow/WAITING/run/RUN/cancel", "", "/runs/RUN/cancel", ""},
	{"delivery.redeliver", "POST /v1/deliveries/DELIVERY/redeliver", "", "/deliveries/DELIVERY/redeliver", ""},
}

// act is one entry of doors through one door.
type act struct {
	action string
	send   func() (status int, body string)
}

// actsThrough prepares what the acts change, and returns them with the names and IDs that stand for
// the words in capitals.
func actsThrough(h *webtest.Env, door string) (list []act, names *strings.Replacer) {
	h.T.Helper()
	p := newCaller(h, nil, flow.Key{Scopes: flow.Scopes})
	operator := &caller{h, p.key, operatorToken}
	b := h.As(flow.MemberOwner)
	hook := webtest.NewHook(h.T, http.StatusOK).URL
	id := h.PublishedFlow(webtest.WebhookFlow(hook))
	delivery := h.DeliverWebhook(id, "delivered")
	h.Replace(flow.FlowID(id), strings.Replace(webtest.WebhookFlow(hook), `"answer"`, `"reply"`, 1))
	h.Publish(id)
	waiting, release := h.SlowFlow()
	h.T.Cleanup(func() { close(release) })
	h.Publish(waiting)
	run := startRun(p, waiting)
	member := h.Add("member-"+door+"@example.com", flow.DefaultWorkspace, flow.MemberViewer)
	ids := []string{
		"name-" + door, "NAME", id, "FLOW", delivery, "DELIVERY", waiting, "WAITING", string(run), "RUN", "member-" + door, "MEMBER", member.ID, "USER",
		strings.TrimPrefix(hook, "http://"), "RECEIVER",
	}
	var words []string
	for i := 0; i < len(ids); i += 2 {
		words = append(words, ids[i+1], ids[i])
	}
	fill := strings.NewReplacer(words...)
	for _, d := range doors {
		list = append(list, act{d.action, func() (int, string) {
			if door == "page" {
				form, err := url.ParseQuery(fill.Replace(d.form))
				if err != nil {
					h.T.Fatal(err)
				}
				a := b.Post(fill.Replace(d.page), form)
				return a.Status, a.Body
			}
			who := p
			if strings.Contains(d.api, "/local/") {
				who = operator
			}
			method, path, _ := strings.Cut(fill.Replace(d.api), " ")
			status, _, raw := who.send(method, path, d.body)
			return status, raw
		}})
	}
	return list, strings.NewReplacer(ids...)
}

// newEntries returns the entries of the audit log that are not known, oldest first. They are known then.
func newEntries(h *webtest.Env, known map[string]bool) []flow.AuditEntry {
	h.T.Helper()
	log, err := h.Store.ListAudit(h.T.Context(), flow.DefaultWorkspace, "", 1000)
	if err != nil {
		h.T.Fatal(err)
	}
	var list []flow.AuditEntry
	for i := len(log) - 1; i >= 0; i-- { // IDs of one millisecond have no order
		if !known[log[i].ID] {
			list = append(list, log[i])
		}
		known[log[i].ID] = true
	}
	return list
}

// setupDoors starts a server that the command line reaches too.
func setupDoors(t *testing.T) *webtest.Env {
	return webtest.Setup(t, func(c *handlers.Config) { c.LocalToken = operatorToken })
}

// TestActs_are_audited_alike_through_every_door performs each act through the API and the dashboard:
// action, target and detail in the audit log are the same.
func TestActs_are_audited_alike_through_every_door(t *testing.T) {
	t.Parallel()
	h := setupDoors(t)
	logged := map[string][]string{}
	for _, door := range []string{"api", "page"} {
		list, names := actsThrough(h, door)
		for _, a := range list {
			known := map[string]bool{}
			_ = newEntries(h, known)
			if status, body := a.send(); status >= 400 {
				t.Fatalf("%s by %s: %d %s", a.action, door, status, body)
			}
			for _, e := range newEntries(h, known) {
				line := names.Replace(e.Action + " | " + e.Target + " | " + e.Detail)
				if e.Actor == "" {
					line += " without an actor"
				}
				if strings.HasPrefix(line, "credential.test") && a.action != "credential.test" {
					continue // the form of a new credential tests it too
				}
				if !strings.HasPrefix(line, a.action+" ") {
					t.Errorf("%s by %s is logged as %s", a.action, door, line)
				}
				logged[door] = append(logged[door], line)
			}
		}
	}
	for i, line := range logged["api"] {
		if len(logged["page"]) != len(doors) || logged["page"][i] != line {
			t.Fatalf("the API logs:\n%s\nthe dashboard logs:\n%s", strings.Join(logged["api"], "\n"), strings.Join(logged["page"], "\n"))
		}
	}
	if len(logged["api"]) != len(doors) {
		t.Errorf("%d acts wrote %q", len(doors), logged["api"])
	}
}

// TestActs_without_an_audit_entry_are_not_done breaks the audit log before each act: it fails and
// leaves the database as it was, through every door.
func TestActs_without_an_audit_entry_are_not_done(t *testing.T) {
	t.Parallel()
	h := setupDoors(t)
	exec := func(query string) {
		t.Helper()
		if _, err := h.Store.SQLite().ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	for _, door := range []string{"api", "page"} {
		list, _ := actsThrough(h, door)
		for _, a := range list {
			before := h.Contents("credentials", "deliveries", "flows", "members", "runs", "versions", "webhook_secrets")
			exec(`CREATE TRIGGER broken BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is broken'); END`)
			if status, body := a.send(); status < 500 && !(door == "page" && a.action == "credential.test") { // the page says so
				t.Errorf("%s by %s: %d %s", a.action, door, status, body)
			}
			exec(`DROP TRIGGER broken`)
			if after := h.Contents("credentials", "deliveries", "flows", "members", "runs", "versions", "webhook_secrets"); after != before {
				t.Errorf("%s by %s was done without an entry:\n%s\nbefore:\n%s", a.action, door, after, before)
			}
			if status, body := a.send(); status >= 400 {
				t.Fatalf("%s by %s: %d %s", a.action, door, status, body)
			}
		}
	}
}
