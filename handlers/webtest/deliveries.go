package webtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"sluice/flow"
)

// hook is a webhook receiver. Tests set its status and read the requests from its channels.
type hook struct {
	*httptest.Server
	Status atomic.Int64
	Got    chan *http.Request
	Bodies chan string
}

// NewHook starts a receiver that responds with the status. Its channels buffer 100
// requests, more than any test sends, so the receiver never blocks.
func NewHook(t *testing.T, status int) *hook {
	h := &hook{Got: make(chan *http.Request, 100), Bodies: make(chan string, 100)}
	h.Status.Store(int64(status))
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(int(h.Status.Load()))
		io.WriteString(w, "said <b>so</b>")
		h.Got <- r
		h.Bodies <- string(body)
	}))
	t.Cleanup(h.Close)
	return h
}

// WebhookFlow returns a document whose webhook node sends the result to a URL. Its name
// contains markup, so that tests detect a page that does not escape it.
func WebhookFlow(address string) string {
	return fmt.Sprintf(`{"schema": "sluice.flow/v1", "name": "Tell <b>", "nodes": [
	{"id": "in", "kind": "input", "config": {"name": "word", "type": "text"}},
	{"id": "out", "kind": "output", "config": {"name": "answer"}},
	{"id": "hook", "kind": "webhook", "config": {"url": %q}}], "edges": [{"from": "in.value", "to": "out.value"}]}`, address)
}

// DeliverWebhook runs a flow with a webhook and waits until its delivery has the state.
// It returns the ID of the delivery.
func (h *Env) DeliverWebhook(flowID, state string) (id string) {
	h.T.Helper()
	h.RunEcho(flow.DefaultWorkspace, flowID, "Hello")
	return h.DeliveryIs(flowID, state)
}

// DeliveryIs waits until the newest delivery of a flow was attempted and has the state,
// and returns its ID. The worker runs in this process, so it takes milliseconds.
func (h *Env) DeliveryIs(flowID, state string) string {
	h.T.Helper()
	for late := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		p, err := h.Store.ListDeliveryRows(context.Background(), flow.DeliveryQuery{WorkspaceID: flow.DefaultWorkspace, FlowID: flow.FlowID(flowID), Limit: 1})
		if err != nil {
			h.T.Fatal(err)
		}
		if len(p.Rows) == 1 && string(p.Rows[0].State) == state && p.Rows[0].Tries > 0 {
			return p.Rows[0].ID
		}
		if time.Now().After(late) {
			h.T.Fatalf("no delivery is %s: %+v", state, p.Rows)
		}
	}
}
