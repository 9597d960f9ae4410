package nodes

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/providers/hosted"
	"sluice/providers/hosted/hostedtest"
)

// quickPace suits a fake platform that responds immediately.
var quickPace = timing{first: time.Millisecond, most: 5 * time.Millisecond, held: 10 * time.Second, spoken: 10 * time.Second, rest: time.Minute, rests: time.Minute, give: time.Hour, grace: time.Second}

// onPlatform runs a node against the fake platform over HTTP, with the real client.
func onPlatform(t *testing.T, f *hostedtest.Fake, config map[string]any) ran {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	host := hosted.NewReplicate(hosted.ReplicateConfig{BaseURL: f.URL, API: client, Files: client})
	d := Deps{Host: host, Models: hosted.NewDirectory(host)}
	kinds := []flow.Kind{hostedKind(d, quickPace)}
	for _, k := range New(d).List() {
		if k.Name != "hosted_model" {
			kinds = append(kinds, *k)
		}
	}
	w := newFixture()
	w.environment = map[string]flow.Access{"replicate": {Provider: "replicate", Name: "REPLICATE_API_TOKEN", Secret: hostedtest.Secret}}
	doc, inputs := hostedUse(config, nil).document(nil)
	return w.execute(t, flow.NewRegistry(kinds...), doc, inputs)
}

func TestHostedModel_on_platform(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script hostedtest.Script
		fault  func(f *hostedtest.Fake)
		code   flow.Code // empty: it succeeds
		says   string
	}{
		{"after some polls", hostedtest.Script{Polls: 3, Output: []any{"Good ", "day"}}, nil, "", "Good day"},
		{"streamed", hostedtest.Script{Polls: 2, Output: []any{"Good ", "day"}, Stream: []string{"Good ", "day"}}, nil, "", "Good day"},
		{"with a stream that is refused", hostedtest.Script{Polls: 2, Output: "Good day", Stream: []string{"Good "}},
			func(f *hostedtest.Fake) { f.Fail(hostedtest.Fault{Path: "/stream/", Status: 500}) }, "", "Good day"},
		{"with polls that break off", hostedtest.Script{Polls: 1, Output: "Good day"}, func(f *hostedtest.Fake) {
			f.Fail(hostedtest.Fault{Method: "GET", Path: "/predictions/", Times: 4, Status: 200, Body: `{"id": "`, Break: true})
		}, "", "Good day"},
		{"with a start that is turned away at first", hostedtest.Script{Output: "Good day"}, func(f *hostedtest.Fake) {
			f.Fail(hostedtest.Fault{Method: "POST", Path: "/predictions", Status: 429, Header: http.Header{"Retry-After": {"0.01"}}})
		}, "", "Good day"},
		{"that fails", hostedtest.Script{Polls: 1, State: "failed", Error: "CUDA out of memory with " + hostedtest.Secret}, nil, flow.CodeProviderRejected, "CUDA out of memory with"},
		{"that is aborted", hostedtest.Script{Polls: 1, State: "aborted"}, nil, flow.CodeProviderUnavailable, "before the model began"},
		{"whose output is purged", hostedtest.Script{Polls: 1, Output: "x", Purged: true}, nil, flow.CodeOutputInvalid, "after an hour"},
		{"that is refused", hostedtest.Script{}, func(f *hostedtest.Fake) {
			f.Fail(hostedtest.Fault{Method: "POST", Path: "/predictions", Status: 402, Body: `{"title": "Billing required", "detail": "You have no credit left"}`})
		}, flow.CodeProviderRejected, "You have no credit left"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := hostedtest.New(t)
			m := modelOf("acme/writer", strings.Repeat("a", 64), writer)
			f.AddModel(hostedtest.Model{Owner: "acme", Name: "writer", Schemas: m.All, Predict: func(map[string]any) hostedtest.Script { return tt.script }})
			if tt.fault != nil {
				tt.fault(f)
			}
			r := onPlatform(t, f, map[string]any{"model": "acme/writer", "input.prompt": "Greet me"})
			if tt.code == "" {
				if r.Error != nil || r.Outputs["output"] != tt.says {
					t.Fatalf("gave %v (%v)", r.Outputs, r.Error)
				}
			} else if r.Error == nil || r.Error.Code != tt.code {
				t.Fatalf("gave %v (%v)", r.Outputs, r.Error)
			} else if has(t, r.Error.Message, tt.says); strings.Contains(r.Error.Message, hostedtest.Secret) {
				t.Errorf("tells the secret: %s", r.Error.Message)
			}
			if want := map[bool]int{false: 1, true: 0}[tt.name == "that is refused"]; f.Created() != want {
				t.Errorf("%d predictions were created, want %d", f.Created(), want)
			}
		})
	}
}
