package signature

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/flow/value"
)

func TestGreet_answers_unsigned_handshakes(t *testing.T) {
	t.Parallel()
	meta, none := Config{Scheme: "meta"}, Config{Scheme: "none"}
	query := url.Values{"hub.mode": {"subscribe"}, "hub.verify_token": {"meatyhamhock"}, "hub.challenge": {"1158201444"}} // as in Meta's documentation
	tokens := []Secret{{"verify", "meatyhamhock"}}
	for _, given := range [][]Secret{nil, tokens} {
		if r := meta.Greet(http.MethodGet, query, given); r == nil || r.Body != "1158201444" || r.Status != 200 || !strings.HasPrefix(r.Type, "text/plain") {
			t.Errorf("got %+v", r)
		}
	}
	if r := meta.Greet(http.MethodGet, query, []Secret{{"verify", "other"}}); r != nil {
		t.Errorf("a wrong verify token: %+v", r)
	}
	if r := meta.Greet(http.MethodPost, query, tokens); r != nil {
		t.Errorf("a POST: %+v", r)
	}
	graph := url.Values{"validationToken": {"Validation: Testing <b>"}}
	if r := none.Greet(http.MethodPost, graph, nil); r == nil || r.Body != "Validation: Testing <b>" || !strings.HasPrefix(r.Type, "text/plain") {
		t.Errorf("got %+v", r)
	}
	graph.Set("validationToken", strings.Repeat("x", maxChallenge+1))
	if r := none.Greet(http.MethodPost, graph, nil); r != nil {
		t.Error("a challenge of any length is repeated")
	}
}

func TestAnswer_answers_signed_handshakes(t *testing.T) {
	t.Parallel()
	secrets := []Secret{{"a", "hush"}}
	for name, c := range map[string]struct {
		scheme, body string
		header       http.Header
		want         string
		status       int
	}{
		"slack":         {"slack", `{"token":"x","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}`, nil, "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P", 200},
		"zoom":          {"zoom", `{"payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"},"event":"endpoint.url_validation"}`, nil, `{"plainToken":"qgg8vlvZRS6UYooatFL8Aw","encryptedToken":"` + mac("hush", "qgg8vlvZRS6UYooatFL8Aw") + `"}`, 200},
		"github":        {"github", `{"zen":"Design for failure."}`, http.Header{"X-Github-Event": {"ping"}}, "{}", 200},
		"discord":       {"discord", `{"type":1,"application_id":"1","id":"2"}`, nil, `{"type":1}`, 200},
		"discord_event": {"discord", `{"version":1,"application_id":"1","type":0}`, nil, "", 204},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := Config{Scheme: c.scheme}
			r := config.Answer(&Request{Header: c.header, Body: []byte(c.body)}, secrets)
			if r == nil || r.Body != c.want || r.Status != c.status {
				t.Errorf("got %+v, want %s", r, c.want)
			}
		})
	}
	for scheme, body := range map[string]string{"slack": `{"type":"event_callback"}`, "zoom": `{"event":"meeting.started"}`, "github": `{"zen":"x"}`, "discord": `{"type":2}`, "stripe": "{}", "none": "not JSON"} {
		config := Config{Scheme: scheme}
		if r := config.Answer(&Request{Header: http.Header{}, Body: []byte(body)}, secrets); r != nil {
			t.Errorf("an event of %s is answered: %+v", scheme, r)
		}
	}
}

func TestEventID_of_each_scheme(t *testing.T) {
	t.Parallel()
	header := http.Header{}
	for _, name := range []string{"Webhook-Id", "X-GitHub-Delivery", "X-Shopify-Webhook-Id", "I-Twilio-Idempotency-Token", "Linear-Delivery", "Idempotency-Key"} {
		header.Set(name, "from "+name)
	}
	body, err := value.Decode([]byte(`{"id":"evt_1","event_id":"Ev1","update_id":10000}`))
	if err != nil {
		t.Fatal(err)
	}
	for scheme, want := range map[string]string{
		"standard": "from Webhook-Id", "github": "from X-GitHub-Delivery", "stripe": "evt_1", "slack": "Ev1", "shopify": "from X-Shopify-Webhook-Id",
		"twilio": "from I-Twilio-Idempotency-Token", "linear": "from Linear-Delivery", "gitlab": "from Idempotency-Key", "telegram": "10000", "discord": "evt_1", "meta": ByBody, "zoom": ByBody, "none": "",
	} {
		config := Config{Scheme: scheme}
		if got := config.EventID(header, body); got != want {
			t.Errorf("%s: %q, want %q", scheme, got, want)
		}
		if got := config.EventID(http.Header{}, "a text"); got != "" && got != ByBody {
			t.Errorf("%s: %q of nothing", scheme, got)
		}
	}
}
