package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

// instant is a runner whose runs have ended when they start, so that only the cost
// of the API itself is measured.
type instant struct{ *runner }

func (r instant) StartRun(_ context.Context, s flow.Start) (flow.Started, error) {
	now := time.Now()
	return flow.Started{Run: &flow.Run{
		ID: "run_01m7z2wjxfy6hsj7xwxqmmvg9y", FlowID: s.FlowID, Version: 1, State: flow.RunSucceeded, Trigger: s.Trigger, Inputs: s.Given,
		Outputs: s.Given, CreatedAt: now, StartedAt: now, EndedAt: now, ExpiresAt: now, Progress: flow.Progress{Done: 5, Total: 5},
	}}, nil
}

func BenchmarkStartRun(b *testing.B) {
	w := setup(b)
	w.server.Runner = instant{w.runner}
	body := `{"ticket": "My parcel has not arrived.", "tone": "formal"}`
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := httptest.NewRequest(http.MethodPost, "/v1/flow/"+w.echo+"/run", strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+w.key)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Prefer", "wait=30")
			rec := httptest.NewRecorder()
			if w.edge.ServeHTTP(rec, r); rec.Code != 200 {
				b.Fatal(rec.Body)
			}
		}
	})
}

// BenchmarkToolCall starts the same run through the Model Context Protocol. The
// difference is the cost of the protocol.
func BenchmarkToolCall(b *testing.B) {
	w := setup(b)
	w.server.Runner = instant{w.runner}
	body := `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "answer_a_ticket", "arguments": {"ticket": "My parcel has not arrived.", "tone": "formal"}}}`
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+w.key)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			rec := httptest.NewRecorder()
			if w.edge.ServeHTTP(rec, r); rec.Code != 200 || !strings.Contains(rec.Body.String(), "run_id") {
				b.Fatal(rec.Body)
			}
		}
	})
}
