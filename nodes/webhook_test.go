package nodes

import (
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/value"
)

func TestWebhook(t *testing.T) {
	t.Parallel()
	const target = "https://example.com/hook"
	send := func(t *testing.T, config, ports map[string]any) flow.NewDelivery {
		t.Helper()
		r := use{kind: "webhook", config: config, ports: ports}.execute(t, Deps{})
		if r.State != flow.StepSucceeded || len(r.deliveries) != 1 {
			t.Fatalf("state %s, error %v, deliveries %v", r.State, r.Error, r.deliveries)
		}
		return r.deliveries[0]
	}
	t.Run("sends all outputs", func(t *testing.T) {
		t.Parallel()
		d := send(t, map[string]any{"url": target}, map[string]any{"answer": "<b>", "score": number("0.50")})
		if d.URL != target || d.Node != "n" || string(d.Body) != `{"answer":"<b>","score":0.50}` {
			t.Errorf("got %+v with body %s", d, d.Body)
		}
		if d.Secret != nil || d.Signature != nil || d.Header != "" {
			t.Errorf("got a secret or a signature nobody gave: %+v", d)
		}
	})
	t.Run("sends chosen outputs", func(t *testing.T) {
		t.Parallel()
		d := send(t, map[string]any{"url": target, "outputs": []any{"score"}}, map[string]any{"answer": "a", "score": number("1")})
		same(t, "body", string(d.Body), `{"score":1}`)
	})
	t.Run("hands secrets on as references", func(t *testing.T) {
		t.Parallel()
		secret, signature := map[string]any{"credential": "hook"}, map[string]any{"credential": "sig"}
		d := send(t, map[string]any{"url": target, "secret": secret, "signature": signature}, map[string]any{"answer": "a"})
		same(t, "secret", d.Secret, secret)
		same(t, "signature", d.Signature, signature)
		same(t, "header", d.Header, "X-Signature")
	})
	t.Run("names the credentials of its URL", func(t *testing.T) {
		t.Parallel()
		for raw, want := range map[string]string{
			target + "/{{ credential:c }}?a={{a}}&token={{credential:c}}": target + "/{{credential:c}}?a=%7B%7Bcredential%3Ad%7D%7D&token={{credential:c}}",
			target + `?a={{a}}&b=\{{credential:d}}`:                       target + "?a=%7B%7Bcredential%3Ad%7D%7D&b=%7B%7Bcredential:d}}",
		} {
			text, err := flow.ParseTemplate(raw)
			if err != nil {
				t.Fatal(err)
			}
			var url any
			values := map[string]any{"a": "{{credential:d}}"}
			if text.HasCredentials() {
				url, err = text.RenderSecret(values, flow.EscapeURL)
			} else {
				url, err = text.Render(values, flow.EscapeURL)
			}
			if err != nil {
				t.Fatal(err)
			}
			out, err := deliver(t.Context(), &flow.In{Node: "n", Config: map[string]any{"url": url}})
			if err != nil {
				t.Fatal(err)
			}
			same(t, "URL", out.Deliveries[0].URL, want)
		}
	})
	t.Run("reads no credential from a URL that came by an edge", func(t *testing.T) {
		t.Parallel()
		out, err := deliver(t.Context(), &flow.In{Node: "n", Config: map[string]any{"url": target + "?a={{credential:c}}"}})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "URL", out.Deliveries[0].URL, target+"?a=%7B%7Bcredential:c}}")
	})
	t.Run("takes url and signature by edges", func(t *testing.T) {
		t.Parallel()
		in := &flow.In{Node: "n", Collected: value.FromMap(map[string]any{"a": true}), Config: map[string]any{
			"url": " " + target + " ", "signature": number("42"), "secret": "", "signature_header": "X-My-Token"}}
		out, err := deliver(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		d := out.Deliveries[0]
		if d.URL != target || d.Signature != "42" || d.Header != "X-My-Token" || d.Secret != nil {
			t.Errorf("got %+v", d)
		}
	})
	t.Run("refuses a URL nothing can be sent to", func(t *testing.T) {
		t.Parallel()
		for raw, code := range map[string]flow.Code{
			"ftp://example.com":   flow.CodeInputInvalid,
			"not a URL":           flow.CodeInputInvalid,
			"http://0x7f000001/x": flow.CodeDestinationBlocked,
		} {
			_, err := deliver(t.Context(), &flow.In{Config: map[string]any{"url": raw}})
			if got := flow.AsError(err); got.Code != code || got.Retryable {
				t.Errorf("%s: got %#v", raw, got)
			}
		}
	})
	t.Run("rejects invalid config", func(t *testing.T) {
		t.Parallel()
		for pointer, config := range map[string]map[string]any{
			"/nodes/0/config/url":              {"url": "example.com"},
			"/nodes/0/config/outputs/0":        {"url": target, "outputs": []any{"other"}},
			"/nodes/0/config/signature_header": {"url": target, "signature_header": "Webhook-Id"},
		} {
			problems := use{kind: "webhook", config: config, ports: map[string]any{"answer": "a"}}.problems(t)
			if len(problems) != 1 || problems[0].Pointer != pointer {
				t.Errorf("got %v, want one at %s", problems, pointer)
			}
		}
		for url, want := range map[string]int{"{{base}}/hook": 1, "https://{{host}}/hook": 0} {
			ports := map[string]any{"answer": "a"}
			for _, place := range []string{"base", "host"} {
				if strings.Contains(url, place) {
					ports[place] = "x"
				}
			}
			doc, _ := use{kind: "webhook", config: map[string]any{"url": url}, ports: ports}.document(nil)
			doc.Nodes = append(doc.Nodes, flow.Node{ID: "out", Kind: "output", Config: map[string]any{"name": "answer"}})
			doc.Edges[0] = flow.Edge{From: "in0.value", To: "out.value"}
			if problems := document.Validate(doc, New(Deps{})); len(problems) != want {
				t.Errorf("%s: got %v", url, problems)
			}
		}
	})
}
