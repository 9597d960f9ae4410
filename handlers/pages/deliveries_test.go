package pages

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"sluice/flow"
)

// hook is a receiver whose status a test sets, and the newest message it got.
type hook struct {
	*httptest.Server
	status atomic.Int64
	got    chan *http.Request
	bodies chan string
}

func newHook(t *testing.T, status int) *hook {
	h := &hook{got: make(chan *http.Request, 100), bodies: make(chan string, 100)}
	h.status.Store(int64(status))
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(int(h.status.Load()))
		io.WriteString(w, "said <b>so</b>")
		h.got <- r
		h.bodies <- string(body)
	}))
	t.Cleanup(h.Close)
	return h
}

func telling(address string) string {
	return fmt.Sprintf(`{"schema": "sluice.flow/v1", "name": "Tell <b>", "nodes": [
	{"id": "in", "kind": "input", "config": {"name": "word", "type": "text"}},
	{"id": "out", "kind": "output", "config": {"name": "answer"}},
	{"id": "hook", "kind": "webhook", "config": {"url": %q}}], "edges": [{"from": "in.value", "to": "out.value"}]}`, address)
}

var deliveryID = regexp.MustCompile(`whd_[0-9a-z]{26}`)

// told runs a flow with a webhook and waits until its delivery has the state.
func (h *house) told(flowID, state string) (id string) {
	h.t.Helper()
	h.echoed(flow.DefaultWorkspace, flowID, "Hello")
	return h.deliveryIs(flowID, state)
}

func (h *house) deliveryIs(flowID, state string) string {
	h.t.Helper()
	for late := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		p, err := h.store.ListDeliveryRows(context.Background(), flow.DeliveryChoice{WorkspaceID: flow.DefaultWorkspace, FlowID: flowID, Limit: 1})
		if err != nil {
			h.t.Fatal(err)
		}
		if len(p.Rows) == 1 && string(p.Rows[0].State) == state && p.Rows[0].Tries > 0 {
			return p.Rows[0].ID
		}
		if time.Now().After(late) {
			h.t.Fatalf("no delivery is %s: %+v", state, p.Rows)
		}
	}
}

func TestDeliveries(t *testing.T) {
	t.Parallel()
	h, to := setup(t), newHook(t, 204)
	b := h.as(flow.MemberViewer)
	b.get("/deliveries").is(http.StatusOK).has("No delivery yet")
	id := h.told(h.flow(telling(to.URL+"/in/1")), "delivered")
	host := strings.TrimPrefix(to.URL, "http://")
	b.get("/deliveries").is(http.StatusOK).has(id, "Tell &lt;b&gt;", "hook", to.URL, "204", `data-state="delivered"`).lacks("Send failed")
	for query, fits := range map[string]bool{
		"state=delivered": true, "state=failed": false, "state=failed&state=delivered": true, "to=" + host: true, "to=nowhere.test": false,
		"to=" + url.QueryEscape(to.URL+"/in"): true, "to=" + url.QueryEscape(to.URL+"/out"): false, "time=1h": true,
		"time=custom&until=2020-01-01T00:00": false, "flow=flow_01jd6v0q8zzzzzzzzzzzzzzzzz": false, "flow=x&state=y&time=z&after=w&endpoint=v": true,
	} {
		if a := b.get("/deliveries?" + query).is(http.StatusOK); strings.Contains(a.body, id) != fits {
			t.Errorf("%s: it is there: %v, want %v", query, !fits, fits)
		}
	}
	b.get("/deliveries?time=custom&from=x&to=kept").is(http.StatusUnprocessableEntity).has("Choose a date", `value="kept"`)
	mark := markOf.FindStringSubmatch(b.get("/deliveries").body)[1]
	b.part().get("/deliveries?mark=" + mark).is(http.StatusNoContent)
	b.part().get("/deliveries?mark=old").is(http.StatusOK).has(id).lacks("<html")
	b.get("/deliveries/endpoints").is(http.StatusOK).has(host, "100 %")

	page := b.get("/deliveries/"+id).is(http.StatusOK).has("The receiver has it.", "Webhook-Signature", "v1,", "Webhook-Timestamp", "204 No Content", "&#34;answer&#34;: &#34;Hello&#34;").lacks("Send again", "whsec_")
	run := regexp.MustCompile(`/runs/(run_[0-9a-z]+)\?step=hook`).FindStringSubmatch(page.body)
	if run == nil {
		t.Fatalf("no link to the step: %s", page.body)
	}
	b.get("/runs/" + run[1]).has("/deliveries/" + id)
	page.has(`<dt>Sent by</dt><dd><a href="/flows/`, `?node=hook">hook</a>`)
}

func TestDeliveries_of_others_are_not_there(t *testing.T) {
	t.Parallel()
	h, to := setup(t), newHook(t, 204)
	flowID := h.flow(telling(to.URL))
	id := h.told(flowID, "delivered")
	if err := h.store.CreateWorkspace(context.Background(), flow.Workspace{ID: "ws_other", Name: "Others"}); err != nil {
		t.Fatal(err)
	}
	h.add("other@example.com", "ws_other", flow.MemberOwner)
	b := h.signIn("other@example.com")
	b.get("/deliveries").lacks(id)
	for _, path := range []string{"/deliveries/" + id, "/deliveries/whd_01jd6v0q8zzzzzzzzzzzzzzzzz", "/deliveries/x", "/flows/" + flowID + "/webhooks"} {
		b.get(path).is(http.StatusNotFound)
	}
	for _, path := range []string{"/deliveries/" + id + "/redeliver", "/flows/" + flowID + "/webhooks/secret", "/flows/" + flowID + "/webhooks/rotate", "/flows/" + flowID + "/webhooks/end", "/flows/" + flowID + "/webhooks/test"} {
		b.post(path, url.Values{"overlap": {"1h"}}).is(http.StatusNotFound)
		h.as(flow.MemberViewer).post(path, url.Values{"overlap": {"1h"}}).is(http.StatusForbidden)
	}
	h.as(flow.MemberViewer).post("/deliveries/again", nil).is(http.StatusForbidden)
	h.stranger().get("/deliveries").see("/sign-in?next=%2Fdeliveries")
}

func TestRedeliver(t *testing.T) {
	t.Parallel()
	h, to := setup(t), newHook(t, 410)
	b, flowID := h.as(flow.MemberEditor), h.flow(telling(to.URL))
	id := h.told(flowID, "failed")
	b.get("/deliveries").has("was disabled by its owner", "Remove the webhook", "Send failed ones again")
	b.get("/deliveries/"+id).has("410 Gone", "The receiver asked for no more", "said &lt;b&gt;so&lt;/b&gt;")
	to.status.Store(200)
	b.post("/deliveries/"+id+"/redeliver", nil).see("/deliveries/" + id)
	h.deliveryIs(flowID, "delivered")
	b.get("/deliveries").lacks("was disabled by its owner")
	b.get("/deliveries/"+id).has("Attempt 1", "Attempt 2")
	h.as(flow.MemberOwner).get("/settings/audit").has("sent again")
}

func TestRedeliverFailed(t *testing.T) {
	t.Parallel()
	h, to := setup(t), newHook(t, 410)
	b, flowID := h.as(flow.MemberEditor), h.flow(telling(to.URL))
	b.get("/deliveries/again").is(http.StatusOK).has("No failed message fits.")
	b.get("/deliveries/again?since=x").is(http.StatusUnprocessableEntity).has("Choose a date", `value="x"`)
	h.told(flowID, "failed")
	page := b.get("/deliveries/again?flow=" + flowID).is(http.StatusOK).has("<b>1</b> failed")
	asked := regexp.MustCompile(`name="asked" value="(\d+)"`).FindStringSubmatch(page.body)[1]
	form := url.Values{"flow": {flowID}, "asked": {asked}}
	to.status.Store(200)
	b.post("/deliveries/again", url.Values{"flow": {"flow_x"}}).is(http.StatusNotFound) // not taken for all flows
	b.post("/deliveries/again", form).see("/deliveries")
	b.get("/deliveries").has("1 message is sent again.")
	h.deliveryIs(flowID, "delivered")
	b.post("/deliveries/again", form).see("/deliveries")
	b.get("/deliveries").has("There was nothing left to send again.")
	b.get("/deliveries/again?endpoint=end_01jd6v0q8zzzzzzzzzzzzzzzzz").is(http.StatusNotFound)
	h.as(flow.MemberOwner).get("/settings/audit").has("sent failed messages again of", "1 messages")
}

func TestWebhooks_secret(t *testing.T) {
	t.Parallel()
	h, to := setup(t), newHook(t, 204)
	flowID := h.flow(telling(to.URL))
	at := "/flows/" + flowID + "/webhooks"
	b := h.as(flow.MemberEditor)
	secret := func() string {
		s, err := h.store.WebhookSecret(context.Background(), flow.WebhookOwner{WorkspaceID: flow.DefaultWorkspace, FlowID: flowID, Node: "hook", Host: flow.HostOf(to.URL)})
		if err != nil {
			t.Fatal(err)
		}
		return s.Secrets[0].Secret
	}
	node := func(more ...string) url.Values {
		v := url.Values{"node": {"hook"}, "from": {"draft"}}
		for i := 0; i < len(more); i += 2 {
			v.Set(more[i], more[i+1])
		}
		return v
	}
	h.as(flow.MemberViewer).get(at).is(http.StatusOK).has("Verify the signature", "whsec_YOUR_SECRET", "its own secret").lacks("Show the secret", "Send a test", "Signing secret of this flow")
	b.get(at).is(http.StatusOK).has("Show the secret")
	shown := regexp.MustCompile(`<code>(whsec_[^<]+)</code>`).FindStringSubmatch(b.post(at+"/secret", node()).is(http.StatusOK).lacks("whsec_YOUR_SECRET").body)
	if shown == nil { // before the first delivery
		t.Fatal("the page shows no secret")
	}
	old := html.UnescapeString(shown[1])
	if old != secret() {
		t.Errorf("the page shows %s, and the secret is %s", old, secret())
	}
	b.get(at).lacks(old)
	b.post(at+"/secret", url.Values{"node": {"gone"}, "from": {"draft"}}).is(http.StatusUnprocessableEntity)
	b.post(at+"/rotate", node("overlap", "forever")).is(http.StatusUnprocessableEntity).has("Choose one of these.")
	b.post(at+"/rotate", node("overlap", "24h")).see(at)
	b.get(at).has("The previous secret signs too", "End the old secret now").lacks(old, secret())
	h.told(flowID, "delivered")
	r, body := <-to.got, <-to.bodies
	for _, s := range []string{old, secret()} {
		wh, err := standardwebhooks.NewWebhook(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := wh.Verify([]byte(body), r.Header); err != nil {
			t.Error(err)
		}
	}
	b.post(at+"/end", node()).see(at)
	b.get(at).lacks("The previous secret signs too")
	h.as(flow.MemberOwner).get("/settings/audit").has("read the signing secret of", "replaced the signing secret of", "webhook hook", "overlap 24h", "ended the old signing secret of").lacks(old)
}

// TestWebhooks_with_a_secret_in_the_URL shows the secret nowhere, whether it is
// that of a credential or older than credentials.
func TestWebhooks_with_a_secret_in_the_URL(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"a credential": "{{credential:receiver}}", "in clear": "s3cret-of-old"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, to := setup(t), newHook(t, 204)
			c := flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "receiver", Hosts: []string{"127.0.0.1"}}
			if err := h.store.SaveCredential(t.Context(), c, "s3cret-of-now"); err != nil {
				t.Fatal(err)
			}
			f := &flow.Flow{WorkspaceID: flow.DefaultWorkspace, Name: "Tell", Draft: []byte(telling(to.URL + "/in?token=" + value))}
			if err := h.store.CreateFlow(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			flowID := f.ID
			b, at := h.as(flow.MemberEditor), "/flows/"+flowID+"/webhooks"
			shown := to.URL + "/in?token=" + value
			if name == "in clear" {
				shown = to.URL + "/in?token=[secret]"
			}
			b.get(at).has(`value="` + shown + `"`).lacks("s3cret")
			a := b.post(at+"/test", url.Values{"node": {"hook"}, "from": {"draft"}, "url": {shown}}).is(http.StatusSeeOther)
			if got := (<-to.got).URL.Query().Get("token"); !strings.HasPrefix(got, "s3cret-of-") {
				t.Errorf("it got %q", got)
			}
			h.deliveryIs(flowID, "delivered")
			for _, page := range []string{a.header.Get("Location"), "/deliveries", at} {
				b.get(page).is(http.StatusOK).has("/in?token=").lacks("s3cret")
			}
			h.as(flow.MemberOwner).get("/settings/audit").lacks("s3cret")
		})
	}
}

func TestWebhooks_test(t *testing.T) {
	t.Parallel()
	h, to := setup(t), newHook(t, 204)
	flowID := h.flow(telling("https://hooks.test/in"))
	b, at := h.as(flow.MemberEditor), "/flows/"+flowID+"/webhooks"
	b.get(at).has("Send a test", "Sends answer.")
	for typed, says := range map[string]string{
		"": "Write it like https://example.com/hooks.", "https://a.test/{{x}}": "Write it like https://example.com/hooks.",
		"ftp://kept.test": "must begin with http", "https://user:pw@kept.test/in": "must not contain a user name or password",
		"https://kept.test/a b": "must be percent-encoded", "https://kept.test:0/": "The port", "http://0x7f000001/": "",
		"https://kept.test/" + strings.Repeat("a", 9000): "longer than 8192",
	} {
		b.post(at+"/test", url.Values{"node": {"hook"}, "from": {"draft"}, "url": {typed}}).is(http.StatusUnprocessableEntity).has(says, `value="`+typed+`"`, `aria-invalid="true"`)
	}
	b.get("/deliveries").lacks("kept.test")
	b.post(at+"/test", url.Values{"node": {"gone"}, "from": {"draft"}, "url": {to.URL}}).is(http.StatusUnprocessableEntity)
	a := b.post(at+"/test", url.Values{"node": {"hook"}, "from": {"draft"}, "url": {to.URL}}).is(http.StatusSeeOther)
	<-to.got
	if body := <-to.bodies; !strings.Contains(body, `"type":"test"`) || !strings.Contains(body, `"answer":"An example of`) {
		t.Errorf("sent %s", body)
	}
	h.deliveryIs(flowID, "delivered")
	b.get(a.header.Get("Location")).is(http.StatusOK).has("none, a test", "The receiver has it.")
	b.get("/deliveries").has(">test<")
	if !deliveryID.MatchString(a.header.Get("Location")) {
		t.Errorf("it leads to %s", a.header.Get("Location"))
	}
}
