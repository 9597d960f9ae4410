package editor_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/editor"
	"sluice/handlers/webtest"
)

const rename = `{"op": "put", "node": "team", "member": "label", "value": "Which <team>"}`

func TestOps(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.As(flow.MemberEditor)
	open := func() (path string, rev int64) {
		id := h.Flow(webtest.SampleFlow)
		path = "/flows/" + id + "/ops"
		return path, h.Rev(id)
	}
	t.Run("apply a change and render the node", func(t *testing.T) {
		path, rev := open()
		got := b.PostJSON(path, webtest.Transaction(rev, "a", rename)).Is(http.StatusOK).EditReply()
		if got.Rev != rev+1 || !strings.Contains(got.HTML, "Which &lt;team&gt;") || !strings.Contains(got.HTML, `data-id="team"`) || strings.Contains(got.HTML, `data-id="reply"`) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("include problems", func(t *testing.T) {
		path, rev := open()
		got := b.PostJSON(path, webtest.Transaction(rev, "a", `{"op": "disconnect", "edge": {"from": "team.label", "to": "reply.team"}}`)).Is(http.StatusOK).EditReply()
		if !strings.Contains(got.Problems, `data-jump="reply"`) || !strings.Contains(got.HTML, "data-trouble") {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("render nothing for moves", func(t *testing.T) {
		path, rev := open()
		got := b.PostJSON(path, webtest.Transaction(rev, "a", `{"op": "move", "nodes": {"team": {"x": 5, "y": 6}}}`)).Is(http.StatusOK).EditReply()
		if got.Rev != rev+1 || got.HTML != "" || got.Problems != "" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("are idempotent by transaction ID", func(t *testing.T) {
		path, rev := open()
		b.PostJSON(path, webtest.Transaction(rev, "once", rename)).Is(http.StatusOK)
		if got := b.PostJSON(path, webtest.Transaction(rev, "once", rename)).Is(http.StatusOK).EditReply(); got.Rev != rev+1 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("return missed transactions on conflict", func(t *testing.T) {
		path, rev := open()
		b.PostJSON(path, webtest.Transaction(rev, "a", rename)).Is(http.StatusOK)
		got := b.PostJSON(path, webtest.Transaction(rev, "b", `{"op": "remove", "nodes": ["answer"]}`)).Is(http.StatusConflict).EditReply()
		if got.Rev != rev+1 || len(got.Missed) != 1 || got.Missed[0].TxID != "a" || !strings.Contains(got.Missed[0].HTML, "Which &lt;team&gt;") {
			t.Errorf("got %+v", got)
		}
		since := b.Get(fmt.Sprintf("%s?since=%d", path, rev)).Is(http.StatusOK).EditReply()
		if since.Rev != rev+1 || len(since.Missed) != 1 || len(since.Missed[0].Ops) != 1 {
			t.Errorf("got %+v", since)
		}
	})
	t.Run("report that the log is too short", func(t *testing.T) {
		path, rev := open()
		id := flow.FlowID(strings.Split(path, "/")[2])
		if _, err := h.Library.Import(t.Context(), flow.DefaultWorkspace, id, []byte(strings.Replace(webtest.SampleFlow, "Hello", "Dear", 1))); err != nil {
			t.Fatal(err)
		}
		b.PostJSON(path, webtest.Transaction(rev, "a", rename)).Is(http.StatusGone).Has("Load the page again")
		b.Get(fmt.Sprintf("%s?since=%d", path, rev)).Is(http.StatusGone)
	})
	t.Run("report the error and the node", func(t *testing.T) {
		path, rev := open()
		got := b.PostJSON(path, webtest.Transaction(rev, "a", `{"op": "add", "node": {"id": "team", "kind": "text", "config": {}}}`)).Is(http.StatusUnprocessableEntity).EditReply()
		if got.Node != "team" || !strings.HasPrefix(got.Detail, "There is a node") {
			t.Errorf("got %+v", got)
		}
		b.PostJSON(path, `{"ops": 1}`).Is(http.StatusUnprocessableEntity)
		b.PostJSON(path, `no JSON`).Is(http.StatusUnprocessableEntity)
		b.PostJSON(path, strings.Repeat(" ", editor.MaxOps+1)).Is(http.StatusRequestEntityTooLarge)
	})
	t.Run("refuse viewers, strangers and other workspaces", func(t *testing.T) {
		path, rev := open()
		body := webtest.Transaction(rev, "a", rename)
		h.As(flow.MemberViewer).PostJSON(path, body).Is(http.StatusForbidden)
		h.As(flow.MemberViewer).Get(fmt.Sprintf("%s?since=%d", path, rev)).Is(http.StatusOK)
		h.Anonymous().PostJSON(path, body).Is(http.StatusUnauthorized)
		remotePresence, nowhere := b.PostJSON("/flows/"+h.FlowElsewhere()+"/ops", body), b.PostJSON("/flows/flow_none/ops", body)
		remotePresence.Is(http.StatusNotFound)
		if remotePresence.Body != nowhere.Body {
			t.Errorf("%s and %s differ", remotePresence.Body, nowhere.Body)
		}
	})
}

// TestOps_twoTabs lets two tabs edit concurrently, as their canvases would: each applies
// the missed transactions first and then sends its own change again.
func TestOps_twoTabs(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	rev := h.Rev(id)
	path := "/flows/" + id + "/ops"
	done := make(chan int64, 2)
	for _, tab := range []string{"left", "right"} {
		b := h.As(flow.MemberEditor)
		go func() {
			base := rev
			for i := range 10 {
				ops := fmt.Sprintf(`{"op": "add", "node": {"id": "%s%d", "kind": "text", "config": {"text": "x"}}}`, tab, i)
				for status := 0; status != http.StatusOK; {
					a := b.PostJSON(path, fmt.Sprintf(`{"base": %d, "tab": %q, "txid": "%s%d", "ops": [%s]}`, base, tab, tab, i, ops))
					status, base = a.Status, a.EditReply().Rev
				}
			}
			done <- base
		}()
	}
	if last := max(<-done, <-done); last != rev+20 {
		t.Errorf("the draft is at %d, want %d", last, rev+20)
	}
	if n := len(h.Draft(id).Nodes); n != 24 {
		t.Errorf("%d nodes, want 24", n)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.As(flow.MemberViewer)
	id := h.Flow(webtest.SampleFlow)
	b.Fragment().Get("/flows/" + id + "/problems").Is(http.StatusOK).Has("No problems. Ready to run.")
	broken := strings.Replace(webtest.SampleFlow, `{"from": "reply.text", "to": "answer.value"}`, `{"from": "ticket.value", "to": "answer.value"}`, 1)
	broken = strings.Replace(broken, `"Hello, {{team}}."`, `"Hello, {{team}}, {{who}}."`, 1)
	setDraft(h, id, broken)
	b.Get("/flows/"+id+"/problems").Is(http.StatusOK).Has(`data-jump="reply"`, "{{who}} isn&#39;t connected")
}

func TestFace(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.As(flow.MemberViewer)
	b.Get("/flows/" + h.Flow(webtest.SampleFlow) + "/face?node=team").Is(http.StatusOK).Has(`data-port="labels"`)
	b.Get("/flows/" + h.Flow(webtest.SampleFlow) + "/face?node=nobody").Is(http.StatusNotFound)
}
