package pages

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sluice/flow"
)

// told is an answer of ops, as the canvas reads it.
type told struct {
	Rev            int64
	HTML, Problems string
	Missed         []struct {
		Rev             int64
		Tab, TxID, HTML string
		Ops             []json.RawMessage
	}
	Detail, Node string
}

func (a *answer) told() told {
	a.t.Helper()
	var v told
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		a.t.Fatalf("%v in %s", err, a.body)
	}
	return v
}

func transaction(base int64, txid, ops string) string {
	return fmt.Sprintf(`{"base": %d, "tab": "t1", "txid": %q, "ops": [%s]}`, base, txid, ops)
}

const rename = `{"op": "put", "node": "team", "member": "label", "value": "Which <team>"}`

func TestOps(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b := h.as(flow.MemberEditor)
	open := func() (path string, rev int64) {
		id := h.flow(sampleFlow)
		path = "/flows/" + id + "/ops"
		return path, h.rev(id)
	}
	t.Run("carry a change out and show the node anew", func(t *testing.T) {
		path, rev := open()
		got := b.postJSON(path, transaction(rev, "a", rename)).is(http.StatusOK).told()
		if got.Rev != rev+1 || !strings.Contains(got.HTML, "Which &lt;team&gt;") || !strings.Contains(got.HTML, `data-id="team"`) || strings.Contains(got.HTML, `data-id="reply"`) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("bring problems along", func(t *testing.T) {
		path, rev := open()
		got := b.postJSON(path, transaction(rev, "a", `{"op": "disconnect", "edge": {"from": "team.label", "to": "reply.team"}}`)).is(http.StatusOK).told()
		if !strings.Contains(got.Problems, `data-jump="reply"`) || !strings.Contains(got.HTML, "data-trouble") {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("are quiet about moves", func(t *testing.T) {
		path, rev := open()
		got := b.postJSON(path, transaction(rev, "a", `{"op": "move", "nodes": {"team": {"x": 5, "y": 6}}}`)).is(http.StatusOK).told()
		if got.Rev != rev+1 || got.HTML != "" || got.Problems != "" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("count once under one ID", func(t *testing.T) {
		path, rev := open()
		b.postJSON(path, transaction(rev, "once", rename)).is(http.StatusOK)
		if got := b.postJSON(path, transaction(rev, "once", rename)).is(http.StatusOK).told(); got.Rev != rev+1 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("tell what somebody else did first", func(t *testing.T) {
		path, rev := open()
		b.postJSON(path, transaction(rev, "a", rename)).is(http.StatusOK)
		got := b.postJSON(path, transaction(rev, "b", `{"op": "remove", "nodes": ["answer"]}`)).is(http.StatusConflict).told()
		if got.Rev != rev+1 || len(got.Missed) != 1 || got.Missed[0].TxID != "a" || !strings.Contains(got.Missed[0].HTML, "Which &lt;team&gt;") {
			t.Errorf("got %+v", got)
		}
		since := b.get(fmt.Sprintf("%s?since=%d", path, rev)).is(http.StatusOK).told()
		if since.Rev != rev+1 || len(since.Missed) != 1 || len(since.Missed[0].Ops) != 1 {
			t.Errorf("got %+v", since)
		}
	})
	t.Run("say when the log does not reach that far", func(t *testing.T) {
		path, rev := open()
		id := strings.Split(path, "/")[2]
		if _, err := h.library.Import(t.Context(), flow.DefaultWorkspace, id, []byte(strings.Replace(sampleFlow, "Hello", "Dear", 1))); err != nil {
			t.Fatal(err)
		}
		b.postJSON(path, transaction(rev, "a", rename)).is(http.StatusGone).has("Load the page again")
		b.get(fmt.Sprintf("%s?since=%d", path, rev)).is(http.StatusGone)
	})
	t.Run("are refused with a reason and the node", func(t *testing.T) {
		path, rev := open()
		got := b.postJSON(path, transaction(rev, "a", `{"op": "add", "node": {"id": "team", "kind": "text", "config": {}}}`)).is(http.StatusUnprocessableEntity).told()
		if got.Node != "team" || !strings.HasPrefix(got.Detail, "There is a node") {
			t.Errorf("got %+v", got)
		}
		b.postJSON(path, `{"ops": 1}`).is(http.StatusUnprocessableEntity)
		b.postJSON(path, `no JSON`).is(http.StatusUnprocessableEntity)
		b.postJSON(path, strings.Repeat(" ", maxOps+1)).is(http.StatusRequestEntityTooLarge)
	})
	t.Run("are not for viewers, strangers and other workspaces", func(t *testing.T) {
		path, rev := open()
		body := transaction(rev, "a", rename)
		h.as(flow.MemberViewer).postJSON(path, body).is(http.StatusForbidden)
		h.as(flow.MemberViewer).get(fmt.Sprintf("%s?since=%d", path, rev)).is(http.StatusOK)
		h.stranger().postJSON(path, body).is(http.StatusUnauthorized)
		elsewhere, nowhere := b.postJSON("/flows/"+h.flowElsewhere()+"/ops", body), b.postJSON("/flows/flow_none/ops", body)
		elsewhere.is(http.StatusNotFound)
		if elsewhere.body != nowhere.body {
			t.Errorf("%s and %s differ", elsewhere.body, nowhere.body)
		}
	})
}

// TestOps_twoTabs lets two tabs draw at once, each as its canvas would: what was
// missed is carried out first, and the own change sent again.
func TestOps_twoTabs(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.flow(sampleFlow)
	rev := h.rev(id)
	path := "/flows/" + id + "/ops"
	done := make(chan int64, 2)
	for _, tab := range []string{"left", "right"} {
		b := h.as(flow.MemberEditor)
		go func() {
			base := rev
			for i := range 10 {
				ops := fmt.Sprintf(`{"op": "add", "node": {"id": "%s%d", "kind": "text", "config": {"text": "x"}}}`, tab, i)
				for status := 0; status != http.StatusOK; {
					a := b.postJSON(path, fmt.Sprintf(`{"base": %d, "tab": %q, "txid": "%s%d", "ops": [%s]}`, base, tab, tab, i, ops))
					status, base = a.status, a.told().Rev
				}
			}
			done <- base
		}()
	}
	if last := max(<-done, <-done); last != rev+20 {
		t.Errorf("the draft is at %d, want %d", last, rev+20)
	}
	if n := len(h.draft(id).Nodes); n != 24 {
		t.Errorf("%d nodes, want 24", n)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b := h.as(flow.MemberViewer)
	id := h.flow(sampleFlow)
	b.part().get("/flows/" + id + "/problems").is(http.StatusOK).has("Nothing keeps this flow from running")
	broken := strings.Replace(sampleFlow, `{"from": "reply.text", "to": "answer.value"}`, `{"from": "ticket.value", "to": "answer.value"}`, 1)
	broken = strings.Replace(broken, `"Hello, {{team}}."`, `"Hello, {{team}}, {{who}}."`, 1)
	h.setDraft(id, broken)
	b.get("/flows/"+id+"/problems").is(http.StatusOK).has(`data-jump="reply"`, "Nothing feeds {{who}} of reply")
}

func TestFace(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b := h.as(flow.MemberViewer)
	b.get("/flows/" + h.flow(sampleFlow) + "/face?node=team").is(http.StatusOK).has(`data-port="labels"`)
	b.get("/flows/" + h.flow(sampleFlow) + "/face?node=nobody").is(http.StatusNotFound)
}
