package api

import (
	"testing"
	"time"

	"sluice/flow"
)

func TestListDeliveries(t *testing.T) {
	t.Parallel()
	w := setup(t)
	at := time.Date(2026, 1, 31, 12, 0, 0, 123456789, time.UTC)
	run := w.ids.NewRun()
	add := func(flowID string, d flow.DeliveryRecord) string {
		d.ID, d.WorkspaceID, d.FlowID, d.RunID = w.ids.New(flow.PrefixDelivery), "default", flow.FlowID(flowID), run
		w.store.deliveries = append(w.store.deliveries, d)
		return d.ID
	}
	old := add(w.echo, flow.DeliveryRecord{
		Delivery: flow.Delivery{Node: "hook", URL: "https://example.com/a", Body: []byte(`{"answer":"x"}`), State: flow.DeliveryDelivered, CreatedAt: at, EndedAt: at.Add(time.Second), Secret: "whsec_hidden"},
		Attempts: []flow.DeliveryAttempt{{Number: 1, StartedAt: at, Latency: 1500 * time.Microsecond, Error: "No answer within 15 s."}, {Number: 2, StartedAt: at, Latency: 20 * time.Millisecond, Status: 204, Response: "ok"}},
	})
	young := add(w.echo, flow.DeliveryRecord{Delivery: flow.Delivery{URL: "https://ada:pass@example.com/b?a=1&token=s3cret#f", State: flow.DeliveryPending, CreatedAt: at, NextAt: at.Add(5 * time.Second)}})
	add(w.held, flow.DeliveryRecord{Delivery: flow.Delivery{State: flow.DeliveryFailed}})
	w.store.deliveries[0].ID, w.store.deliveries[1].ID = min(old, young), max(old, young)

	first := w.get("/v1/flow/" + w.echo + "/deliveries?limit=1")
	first.want(t, 200)
	second := w.get("/v1/flow/" + w.echo + "/deliveries?limit=1&cursor=" + first.body["next_cursor"].(string))
	second.want(t, 200)
	if second.body["next_cursor"] != nil {
		t.Error("there is no third page")
	}
	one := func(a *reply) *reply { return &reply{body: a.body["deliveries"].([]any)[0].(map[string]any)} }
	one(first).wantFields(t, map[string]any{"url": "https://[secret]@example.com/b?a=1&token=[secret]#f", "status": "pending", "node": nil, "next_attempt_at": "2026-01-31T12:00:05.123Z", "ended_at": nil, "body": nil, "attempts": []any{}})
	one(second).wantFields(t, map[string]any{
		"delivery_id": min(old, young), "flow_id": w.echo, "run_id": run, "node": "hook", "status": "delivered", "created_at": "2026-01-31T12:00:00.123Z", "next_attempt_at": nil, "body": map[string]any{"answer": "x"},
		"attempts": []any{
			map[string]any{"number": 1, "started_at": "2026-01-31T12:00:00.123Z", "latency_ms": 1, "status": nil, "response": "", "error": "No answer within 15 s."},
			map[string]any{"number": 2, "started_at": "2026-01-31T12:00:00.123Z", "latency_ms": 20, "status": 204, "response": "ok", "error": nil},
		},
	})
	w.get("/v1/flow/"+w.echo+"/deliveries?limit=0").wantCode(t, 422, flow.CodeInputInvalid)
}

func TestRedeliver(t *testing.T) {
	t.Parallel()
	w := setup(t)
	id := w.ids.New(flow.PrefixDelivery)
	w.store.deliveries = append(w.store.deliveries, flow.DeliveryRecord{Delivery: flow.Delivery{ID: id, WorkspaceID: "default", FlowID: flow.FlowID(w.echo), State: flow.DeliveryFailed}})
	manager := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeManage}})
	a := w.send(request{method: "POST", path: "/v1/deliveries/" + id + "/redeliver", key: manager})
	a.want(t, 202)
	a.wantFields(t, map[string]any{"delivery_id": id, "status": "pending"})
	limited := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeManage}, Flows: []string{w.held}})
	w.send(request{method: "POST", path: "/v1/deliveries/" + id + "/redeliver", key: limited}).wantCode(t, 403, flow.CodeFlowNotAllowed)
}
