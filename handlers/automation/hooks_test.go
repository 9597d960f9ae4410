package automation_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

// hookForm returns the values that a browser sends for a new webhook of GitHub.
func hookForm(change ...string) url.Values {
	form := url.Values{"name": {"Issues"}, "scheme": {"github"}, "secret": {"+new"}, "when": {`body.action == "opened"`}, "reply": {"accepted"}, "source.who": {"cel"}, "text.who": {"body.issue.title"}, "source.count": {""}}
	for i := 0; i+1 < len(change); i += 2 {
		form.Set(change[i], change[i+1])
	}
	return form
}

var (
	shownURL    = regexp.MustCompile(`<code>(https?://[^<]+/h/[^<]+)</code>`)
	shownSecret = regexp.MustCompile(`aria-label="Secret of the webhook"[^>]*><code>([^<]+)</code>`)
)

// found returns what an expression captures in a page.
func found(t *testing.T, e *regexp.Regexp, page string) string {
	t.Helper()
	m := e.FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("%s is not in %s", e, page)
	}
	return html.UnescapeString(m[1])
}

// deliver sends a request as GitHub does, signed with a secret.
func (e *env) deliver(to, secret, id, body string) int {
	e.T.Helper()
	r, err := http.NewRequestWithContext(e.T.Context(), http.MethodPost, to, strings.NewReader(body))
	if err != nil {
		e.T.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", "issues")
	r.Header.Set("X-GitHub-Delivery", id)
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	answer, err := e.Http.Client().Do(r)
	if err != nil {
		e.T.Fatal(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

const issue = `{"action": "opened", "issue": {"title": "It is broken"}}`

func TestHooks_are_created_with_a_secret_and_show_what_arrives(t *testing.T) {
	t.Parallel()
	e := setup(t, time.Time{})
	e.b.Get(e.path("/webhook")).Is(http.StatusOK).Has("New webhook", "Generate a secret", "GitHub")
	page := e.b.Post(e.path("/webhook"), hookForm()).Is(http.StatusOK).Has("It is shown only now", "open Settings › Webhooks › Add webhook").Body
	to, secret := found(t, shownURL, page), found(t, shownSecret, page)
	hook := e.only()
	if hook.Name != "issues" || hook.Hook.Verify.Scheme != "github" || len(hook.Hook.Verify.Secrets) != 1 || hook.Hook.Verify.Secrets[0] != "issues-secret" {
		t.Errorf("stored %+v", hook.Hook)
	}
	one := e.path("/" + hook.ID)
	e.b.Get(one).Is(http.StatusOK).Has("Show the URL").Lacks(to, secret)
	if status := e.deliver(to, secret, "1", issue); status != http.StatusOK {
		t.Errorf("a signed request: %d", status)
	}
	if status := e.deliver(to, "another", "2", issue); status != http.StatusUnauthorized {
		t.Errorf("a request with another secret: %d", status)
	}
	if status := e.deliver(to, secret, "3", `{"action": "closed"}`); status != http.StatusOK {
		t.Errorf("an ignored request: %d", status)
	}
	e.b.Get(one+"/requests").Is(http.StatusOK).Has("started", "rejected", "ignored", "It is broken", "x-github-event").Lacks("sha256=")
	run := e.b.Get(one).Has("Use in draft")
	draft := regexp.MustCompile(`href="([^"]*/draft\?key=[^"]+)"`)
	e.b.Get(found(t, draft, run.Body)).Is(http.StatusOK).Has("It is broken", "/flows/"+e.flow+"/run")
	e.b.Get(e.path("")).Has("Issues", "verified: GitHub", "On request", "1 rejected:")
	v := e.As(flow.MemberViewer)
	v.Get(one).Is(http.StatusOK).Lacks("It is broken", "user-agent", "Show the URL", "Use in draft")
	v.Post(one+"/reveal", nil).Is(http.StatusForbidden)
	v.Get(one + "/draft?key=2").Is(http.StatusForbidden)
}

func TestHooks_reveal_and_rotate_their_URL(t *testing.T) {
	t.Parallel()
	e := setup(t, time.Time{})
	page := e.b.Post(e.path("/webhook"), hookForm()).Is(http.StatusOK).Body
	to, secret, one := found(t, shownURL, page), found(t, shownSecret, page), e.path("/"+e.only().ID)
	if shown := found(t, shownURL, e.b.Post(one+"/reveal", nil).Is(http.StatusOK).Body); shown != to {
		t.Errorf("%s is shown as %s", to, shown)
	}
	log, err := e.Store.ListAudit(t.Context(), flow.DefaultWorkspace, "", 1)
	if err != nil || len(log) != 1 || log[0].Action != "trigger.reveal" {
		t.Errorf("audit log: %+v, %v", log, err)
	}
	next := found(t, shownURL, e.b.Post(one+"/rotate", url.Values{"overlap": {"24h"}}).Is(http.StatusOK).Has("The previous URL works until").Body)
	for i, address := range []string{to, next} {
		if status := e.deliver(address, secret, strings.Repeat("x", i+1), issue); status != http.StatusOK {
			t.Errorf("URL %d: %d", i, status)
		}
	}
	e.b.Post(one+"/rotate", url.Values{"overlap": {"0s"}}).Is(http.StatusOK)
	if status := e.deliver(next, secret, "y", issue); status != http.StatusNotFound {
		t.Errorf("a URL without overlap: %d", status)
	}
}

func TestHooks_keep_every_request_while_they_listen(t *testing.T) {
	t.Parallel()
	e := setup(t, time.Time{})
	page := e.b.Post(e.path("/webhook"), hookForm()).Is(http.StatusOK).Body
	to, secret, one := found(t, shownURL, page), found(t, shownSecret, page), e.path("/"+e.only().ID)
	e.b.Get(one).Has("Listen for an hour").Lacks("data-hx-get")
	e.b.Post(one+"/capture", url.Values{"on": {"on"}}).RedirectsTo(one)
	e.b.Get(one).Has("Listening", "data-hx-get")
	e.deliver(to, secret, "1", issue)
	e.b.Get(one+"/requests").Has("It is broken", "Use in draft")
	e.b.Post(one+"/capture", url.Values{}).RedirectsTo(one)
	e.b.Get(one).Lacks("data-hx-get")
}

// captured returns the key of the newest request that the page of a webhook offers for a draft.
func (e *env) captured(page string) string {
	e.T.Helper()
	key, err := url.QueryUnescape(found(e.T, regexp.MustCompile(`/draft\?key=([^"]+)"`), page))
	if err != nil {
		e.T.Fatal(err)
	}
	return key
}

func TestHooks_send_a_test(t *testing.T) {
	t.Parallel()
	e := setup(t, time.Time{})
	e.b.Post(e.path("/webhook"), hookForm()).Is(http.StatusOK)
	one := e.path("/" + e.only().ID)
	page := e.b.Get(one).Has("Send a test", "octocat/hello-world")
	content := html.UnescapeString(found(t, regexp.MustCompile(`(?s)id="test-content"[^>]*>([^<]+)</textarea>`), page.Body))
	send := func(change ...string) {
		form := url.Values{"event": {"issues"}, "media": {"application/json"}, "content": {content}}
		for i := 0; i+1 < len(change); i += 2 {
			form.Set(change[i], change[i+1])
		}
		e.b.Post(one+"/test", form).RedirectsTo(one)
	}
	send()
	e.b.Get(one).Has("The test was accepted and started a run.", "started")
	send()
	runs, err := e.Store.ListRuns(t.Context(), flow.RunFilter{WorkspaceID: flow.DefaultWorkspace, FlowID: flow.FlowID(e.flow), Trigger: flow.TriggerHook, Limit: 10})
	if err != nil || len(runs) != 2 || runs[0].Inputs.Get("who") != "It is broken" {
		t.Errorf("two tests started %d runs: %+v, %v", len(runs), runs, err)
	}
	e.b.Get(one)
	send("content", `{"action": "closed"}`)
	e.b.Get(one).Has("The filter ignored the test.")
	send("content", `{"action": "opened", "issue": {}}`)
	e.b.Get(one).Has("The test was answered with 422.")
	e.b.Post(one+"/pause", nil)
	e.b.Get(one)
	send()
	e.b.Get(one).Has("The webhook is paused.")
	log, err := e.Store.ListAudit(t.Context(), flow.DefaultWorkspace, "", 1)
	if err != nil || len(log) != 1 || log[0].Action != "trigger.test" {
		t.Errorf("audit log: %+v, %v", log, err)
	}
	e.As(flow.MemberViewer).Post(one+"/test", url.Values{"content": {content}}).Is(http.StatusForbidden)
	e.b.Post(e.path("/webhook"), hookForm("name", "Discord", "scheme", "discord", "secret", "+typed", "typed", strings.Repeat("ab", 32)))
	for _, s := range e.list() {
		if s.Name == "discord" {
			e.b.Get(e.path("/" + s.ID)).Is(http.StatusOK).Lacks("Send a test")
		}
	}
}

func TestHooks_make_a_request_the_example_and_a_test_case(t *testing.T) {
	t.Parallel()
	e := setup(t, time.Time{})
	page := e.b.Post(e.path("/webhook"), hookForm()).Is(http.StatusOK).Body
	to, secret, one := found(t, shownURL, page), found(t, shownSecret, page), e.path("/"+e.only().ID)
	e.b.Post(one+"/capture", url.Values{"on": {"on"}}).RedirectsTo(one)
	e.deliver(to, secret, "delivery 1", issue)
	key := e.captured(e.b.Get(one).Has("Use as example", "Save as test").Body)
	e.b.Post(one+"/example", url.Values{"key": {key}}).RedirectsTo(one)
	e.b.Get(one).Has("The request is the example of the draft.")
	e.b.Get("/flows/" + e.flow + "/run").Is(http.StatusOK).Has("It is broken")
	e.b.Post(one+"/case", url.Values{"key": {key}}).RedirectsTo(one)
	e.b.Get(one).Has("The request was saved as a test case.")
	file, _, err := e.Store.FindCaseFile(t.Context(), flow.DefaultWorkspace, flow.FlowID(e.flow))
	if err != nil || len(file.Cases) != 1 || file.Cases[0].Inputs.Get("who") != "It is broken" {
		t.Errorf("cases: %+v, %v", file, err)
	}
	v := e.As(flow.MemberViewer)
	v.Post(one+"/example", url.Values{"key": {key}}).Is(http.StatusForbidden)
	v.Post(one+"/case", url.Values{"key": {key}}).Is(http.StatusForbidden)
	e.b.Post(one+"/example", url.Values{"key": {"none"}}).Is(http.StatusNotFound)
}

func TestHooks_say_what_is_wrong_and_store_nothing(t *testing.T) {
	t.Parallel()
	e := setup(t, time.Time{})
	for want, form := range map[string]url.Values{
		"Enter the secret that the service shows.":  hookForm("secret", "+typed"),
		"Enter a name of letters and digits.":       hookForm("name", "…"),
		"is required: the header that has the sign": hookForm("scheme", "hmac"),
		"Enter an expression.":                      hookForm("text.who", ""),
		"Enter a whole number.":                     hookForm("per_day", "many"),
		`id="field-when-error"`:                     hookForm("when", "body."),
	} {
		e.b.Post(e.path("/webhook"), form).Is(http.StatusUnprocessableEntity).Has(want)
	}
	if len(e.list()) != 0 || strings.Contains(e.Contents("credentials"), "issues-secret") {
		t.Error("a wrong form stored something")
	}
	e.b.Post(e.path("/webhook"), hookForm("secret", "+typed", "typed", "a secret of the service")).Is(http.StatusOK).Lacks("It is shown only now")
	one := e.path("/" + e.only().ID)
	e.b.Post(one, hookForm("secret", "issues-secret", "when", "", "reply", "outputs", "body", "text", "wait_s", "5", "on_late", "timeout", "max_body", "1000", "per_day", "0")).RedirectsTo(one)
	c := e.only().Hook
	if c.When != "" || c.Reply != "outputs" || c.Response == nil || c.Response.Body != "text" || c.WaitS != 5 || c.OnLate != "timeout" || c.MaxBody != 1000 || c.PerDay == nil || *c.PerDay != 0 {
		t.Errorf("stored %+v", c)
	}
	e.b.Post(one+"/pause", nil).RedirectsTo(e.path(""))
	e.b.Get(one).Has("Paused", "Resume")
	e.b.Post(one, hookForm("scheme", "none")).RedirectsTo(one)
	e.b.Get(one).Has("Nothing is verified.")
}
