package console_test

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"sluice/flow"
	"sluice/handlers/webtest"
)

var deliveryID = regexp.MustCompile(`whd_[0-9a-z]{26}`)

func TestDeliveries(t *testing.T) {
	t.Parallel()
	h, to := webtest.Setup(t), webtest.NewHook(t, 204)
	b := h.As(flow.MemberViewer)
	b.Get("/deliveries").Is(http.StatusOK).Has("No deliveries yet")
	id := h.DeliverWebhook(h.Flow(webtest.WebhookFlow(to.URL+"/in/1")), "delivered")
	host := strings.TrimPrefix(to.URL, "http://")
	b.Get("/deliveries").Is(http.StatusOK).Has(id, "Tell &lt;b&gt;", "hook", to.URL, "204", `data-state="delivered"`).Lacks("Retry all failed")
	for query, fits := range map[string]bool{
		"state=delivered": true, "state=failed": false, "state=failed&state=delivered": true, "to=" + host: true, "to=nowhere.test": false,
		"to=" + url.QueryEscape(to.URL+"/in"): true, "to=" + url.QueryEscape(to.URL+"/out"): false, "time=1h": true,
		"time=custom&until=2020-01-01T00:00": false, "flow=flow_01jd6v0q8zzzzzzzzzzzzzzzzz": false, "flow=x&state=y&time=z&after=w&endpoint=v": true,
	} {
		if a := b.Get("/deliveries?" + query).Is(http.StatusOK); strings.Contains(a.Body, id) != fits {
			t.Errorf("%s: it is there: %v, want %v", query, !fits, fits)
		}
	}
	b.Get("/deliveries?time=custom&from=x&to=kept").Is(http.StatusUnprocessableEntity).Has("Choose a date", `value="kept"`)
	mark := markOf.FindStringSubmatch(b.Get("/deliveries").Body)[1]
	b.Fragment().Get("/deliveries?mark=" + mark).Is(http.StatusNoContent)
	b.Fragment().Get("/deliveries?mark=old").Is(http.StatusOK).Has(id).Lacks("<html")
	b.Get("/deliveries/endpoints").Is(http.StatusOK).Has(host, "100%")

	page := b.Get("/deliveries/"+id).Is(http.StatusOK).Has("Delivered.", "Webhook-Signature", "v1,", "Webhook-Timestamp", "204 No Content", "&#34;answer&#34;: &#34;Hello&#34;").Lacks("Resend", "whsec_")
	run := regexp.MustCompile(`/runs/(run_[0-9a-z]+)\?step=hook`).FindStringSubmatch(page.Body)
	if run == nil {
		t.Fatalf("no link to the step: %s", page.Body)
	}
	b.Get("/runs/" + run[1]).Has("/deliveries/" + id)
	page.Has(`<dt>Sent by</dt><dd><a href="/flows/`, `?node=hook">hook</a>`)
}

func TestDeliveries_hides_other_workspaces(t *testing.T) {
	t.Parallel()
	h, to := webtest.Setup(t), webtest.NewHook(t, 204)
	flowID := h.Flow(webtest.WebhookFlow(to.URL))
	id := h.DeliverWebhook(flowID, "delivered")
	if err := h.Store.CreateWorkspace(context.Background(), flow.Workspace{ID: "ws_other", Name: "Others"}); err != nil {
		t.Fatal(err)
	}
	h.Add("other@example.com", "ws_other", flow.MemberOwner)
	b := h.SignIn("other@example.com")
	b.Get("/deliveries").Lacks(id)
	for _, path := range []string{"/deliveries/" + id, "/deliveries/whd_01jd6v0q8zzzzzzzzzzzzzzzzz", "/deliveries/x", "/flows/" + flowID + "/webhooks"} {
		b.Get(path).Is(http.StatusNotFound)
	}
	for _, path := range []string{"/deliveries/" + id + "/redeliver", "/flows/" + flowID + "/webhooks/secret", "/flows/" + flowID + "/webhooks/rotate", "/flows/" + flowID + "/webhooks/end", "/flows/" + flowID + "/webhooks/test"} {
		b.Post(path, url.Values{"overlap": {"1h"}}).Is(http.StatusNotFound)
		h.As(flow.MemberViewer).Post(path, url.Values{"overlap": {"1h"}}).Is(http.StatusForbidden)
	}
	h.As(flow.MemberViewer).Post("/deliveries/again", nil).Is(http.StatusForbidden)
	h.Anonymous().Get("/deliveries").RedirectsTo("/sign-in?next=%2Fdeliveries")
}

func TestRedeliver(t *testing.T) {
	t.Parallel()
	h, to := webtest.Setup(t), webtest.NewHook(t, 410)
	b, flowID := h.As(flow.MemberEditor), h.Flow(webtest.WebhookFlow(to.URL))
	id := h.DeliverWebhook(flowID, "failed")
	b.Get("/deliveries").Has("was disabled by its owner", "Remove the webhook", "Retry all failed")
	b.Get("/deliveries/"+id).Has("410 Gone", "The receiver responded 410 Gone", "said &lt;b&gt;so&lt;/b&gt;")
	to.Status.Store(200)
	b.Post("/deliveries/"+id+"/redeliver", nil).RedirectsTo("/deliveries/" + id)
	h.DeliveryIs(flowID, "delivered")
	b.Get("/deliveries").Lacks("was disabled by its owner")
	b.Get("/deliveries/"+id).Has("Attempt 1", "Attempt 2")
	h.As(flow.MemberOwner).Get("/settings/audit").Has("resent")
}

func TestRedeliverFailed(t *testing.T) {
	t.Parallel()
	h, to := webtest.Setup(t), webtest.NewHook(t, 410)
	b, flowID := h.As(flow.MemberEditor), h.Flow(webtest.WebhookFlow(to.URL))
	b.Get("/deliveries/again").Is(http.StatusOK).Has("No failed messages match.")
	b.Get("/deliveries/again?since=x").Is(http.StatusUnprocessableEntity).Has("Choose a date", `value="x"`)
	h.DeliverWebhook(flowID, "failed")
	page := b.Get("/deliveries/again?flow=" + flowID).Is(http.StatusOK).Has("<b>1</b> failed")
	asked := regexp.MustCompile(`name="asked" value="(\d+)"`).FindStringSubmatch(page.Body)[1]
	form := url.Values{"flow": {flowID}, "asked": {asked}}
	to.Status.Store(200)
	b.Post("/deliveries/again", url.Values{"flow": {"flow_x"}}).Is(http.StatusNotFound) // not taken for all flows
	b.Post("/deliveries/again", form).RedirectsTo("/deliveries")
	b.Get("/deliveries").Has("1 message is being resent.")
	h.DeliveryIs(flowID, "delivered")
	b.Post("/deliveries/again", form).RedirectsTo("/deliveries")
	b.Get("/deliveries").Has("There are no failed messages left to resend.")
	b.Get("/deliveries/again?endpoint=end_01jd6v0q8zzzzzzzzzzzzzzzzz").Is(http.StatusNotFound)
	h.As(flow.MemberOwner).Get("/settings/audit").Has("resent failed messages of", "1 messages")
}

func TestWebhooks_secret(t *testing.T) {
	t.Parallel()
	h, to := webtest.Setup(t), webtest.NewHook(t, 204)
	flowID := h.Flow(webtest.WebhookFlow(to.URL))
	at := "/flows/" + flowID + "/webhooks"
	b := h.As(flow.MemberEditor)
	secret := func() string {
		s, err := h.Store.WebhookSecret(context.Background(), flow.WebhookOwner{WorkspaceID: flow.DefaultWorkspace, FlowID: flow.FlowID(flowID), Node: "hook", Host: flow.HostOf(to.URL)})
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
	h.As(flow.MemberViewer).Get(at).Is(http.StatusOK).Has("Verify the signature", "whsec_YOUR_SECRET", "its own secret").Lacks("Show the secret", "Send a test", "Signing secret of this flow")
	b.Get(at).Is(http.StatusOK).Has("Show the secret")
	shown := regexp.MustCompile(`<code>(whsec_[^<]+)</code>`).FindStringSubmatch(b.Post(at+"/secret", node()).Is(http.StatusOK).Lacks("whsec_YOUR_SECRET").Body)
	if shown == nil { // before the first delivery
		t.Fatal("the page shows no secret")
	}
	old := html.UnescapeString(shown[1])
	if old != secret() {
		t.Errorf("the page shows %s, and the secret is %s", old, secret())
	}
	b.Get(at).Lacks(old)
	b.Post(at+"/secret", url.Values{"node": {"gone"}, "from": {"draft"}}).Is(http.StatusUnprocessableEntity)
	b.Post(at+"/rotate", node("overlap", "forever")).Is(http.StatusUnprocessableEntity).Has("Choose one of the options.")
	b.Post(at+"/rotate", node("overlap", "24h")).RedirectsTo(at)
	b.Get(at).Has("The previous secret signs too", "Revoke old secret now").Lacks(old, secret())
	h.DeliverWebhook(flowID, "delivered")
	r, body := <-to.Got, <-to.Bodies
	for _, s := range []string{old, secret()} {
		wh, err := standardwebhooks.NewWebhook(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := wh.Verify([]byte(body), r.Header); err != nil {
			t.Error(err)
		}
	}
	b.Post(at+"/end", node()).RedirectsTo(at)
	b.Get(at).Lacks("The previous secret signs too")
	h.As(flow.MemberOwner).Get("/settings/audit").Has("read the signing secret of", "rotated the signing secret of", "webhook hook", "overlap 24h", "ended the old signing secret of").Lacks(old)
}

// TestWebhooks_with_a_secret_in_the_URL shows the secret nowhere, whether it is
// that of a credential or older than credentials.
func TestWebhooks_with_a_secret_in_the_URL(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"a credential": "{{credential:receiver}}", "in clear": "s3cret-of-old"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, to := webtest.Setup(t), webtest.NewHook(t, 204)
			c := flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "receiver", Hosts: []string{"127.0.0.1"}}
			if err := h.Store.SaveCredential(t.Context(), c, "s3cret-of-now"); err != nil {
				t.Fatal(err)
			}
			f := &flow.Flow{WorkspaceID: flow.DefaultWorkspace, Name: "Tell", Draft: []byte(webtest.WebhookFlow(to.URL + "/in?token=" + value))}
			if err := h.Store.CreateFlow(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			flowID := string(f.ID)
			b, at := h.As(flow.MemberEditor), "/flows/"+flowID+"/webhooks"
			shown := to.URL + "/in?token=" + value
			if name == "in clear" {
				shown = to.URL + "/in?token=[secret]"
			}
			b.Get(at).Has(`value="` + shown + `"`).Lacks("s3cret")
			a := b.Post(at+"/test", url.Values{"node": {"hook"}, "from": {"draft"}, "url": {shown}}).Is(http.StatusSeeOther)
			if got := (<-to.Got).URL.Query().Get("token"); !strings.HasPrefix(got, "s3cret-of-") {
				t.Errorf("it got %q", got)
			}
			h.DeliveryIs(flowID, "delivered")
			for _, page := range []string{a.Header.Get("Location"), "/deliveries", at} {
				b.Get(page).Is(http.StatusOK).Has("/in?token=").Lacks("s3cret")
			}
			h.As(flow.MemberOwner).Get("/settings/audit").Lacks("s3cret")
		})
	}
}

func TestWebhooks_test(t *testing.T) {
	t.Parallel()
	h, to := webtest.Setup(t), webtest.NewHook(t, 204)
	flowID := h.Flow(webtest.WebhookFlow("https://hooks.test/in"))
	b, at := h.As(flow.MemberEditor), "/flows/"+flowID+"/webhooks"
	b.Get(at).Has("Send a test", "Sends answer.")
	for typed, says := range map[string]string{
		"": "Enter a URL such as https://example.com/hooks.", "https://a.test/{{x}}": "Enter a URL such as https://example.com/hooks.",
		"ftp://kept.test": "must begin with http", "https://user:pw@kept.test/in": "must not contain a user name or password",
		"https://kept.test/a b": "must be percent-encoded", "https://kept.test:0/": "The port", "http://0x7f000001/": "",
		"https://kept.test/" + strings.Repeat("a", 9000): "longer than 8192",
	} {
		b.Post(at+"/test", url.Values{"node": {"hook"}, "from": {"draft"}, "url": {typed}}).Is(http.StatusUnprocessableEntity).Has(says, `value="`+typed+`"`, `aria-invalid="true"`)
	}
	b.Get("/deliveries").Lacks("kept.test")
	b.Post(at+"/test", url.Values{"node": {"gone"}, "from": {"draft"}, "url": {to.URL}}).Is(http.StatusUnprocessableEntity)
	a := b.Post(at+"/test", url.Values{"node": {"hook"}, "from": {"draft"}, "url": {to.URL}}).Is(http.StatusSeeOther)
	<-to.Got
	if body := <-to.Bodies; !strings.Contains(body, `"type":"test"`) || !strings.Contains(body, `"answer":"An example of`) {
		t.Errorf("sent %s", body)
	}
	h.DeliveryIs(flowID, "delivered")
	b.Get(a.Header.Get("Location")).Is(http.StatusOK).Has("None (test)", "Delivered.")
	b.Get("/deliveries").Has(">test<")
	if !deliveryID.MatchString(a.Header.Get("Location")) {
		t.Errorf("it leads to %s", a.Header.Get("Location"))
	}
}
