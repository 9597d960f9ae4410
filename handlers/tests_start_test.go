package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers/webtest"
)

// TestTests_that_run_are_listed stops the process between the start of the run and what follows: the test is listed. One that could not start
// leaves nothing behind.
func TestTests_that_run_are_listed(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(webtest.Greeting)}
		c.must(200, "PUT", "/cases/one", `{"inputs":{"who":"Ann"}}`)
		f, err := h.Store.FindFlow(t.Context(), flow.DefaultWorkspace, flow.FlowID(c.flow))
		if err != nil {
			t.Fatal(err)
		}
		start := func(act func(context.Context, flow.Start) (flow.Started, error)) {
			t.Helper()
			tests := *h.Library.Tests
			tests.Start = act
			if _, _, err := tests.StartTest(t.Context(), flow.Actor{ID: "user_x"}, nil, "", f, library.TestRequest{}); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatal(err)
			}
		}
		before := stored(t, h)
		start(func(context.Context, flow.Start) (flow.Started, error) {
			return flow.Started{}, errors.New("killed before")
		})
		sets := stored(t, h) - before // the version of the cases and the documents stay
		start(func(context.Context, flow.Start) (flow.Started, error) {
			return flow.Started{}, errors.New("killed before")
		})
		if grown := stored(t, h) - before; grown != sets {
			t.Errorf("a test that did not start counts %d bytes", grown-sets)
		}
		if list, err := h.Store.ListTests(t.Context(), f.WorkspaceID, f.ID, "", 10); err != nil || len(list) != 0 {
			t.Fatalf("%+v %v", list, err)
		}
		var run flow.RunID
		start(func(ctx context.Context, s flow.Start) (flow.Started, error) {
			started, err := h.Runner.StartRun(ctx, s)
			if err != nil {
				t.Fatal(err)
			}
			run = started.Run.ID
			return flow.Started{}, errors.New("killed after")
		})
		list, err := h.Store.ListTests(t.Context(), f.WorkspaceID, f.ID, "", 10)
		if err != nil || len(list) != 1 || list[0].RunID != run {
			t.Fatalf("the running test is not listed: %+v %v", list, err)
		}
		if r := c.ended(testReport{ID: list[0].ID, RunID: run}); r.State != "passed" {
			t.Errorf("%+v", r)
		}
	})
}

// belowFlow asks a service; aboveFlow runs it.
const (
	belowFlow = `{"schema":"sluice.flow/v1","name":"Below","slug":"%[2]s","nodes":[
	{"id":"in","kind":"input","config":{"name":"word","type":"text"}},
	{"id":"get","kind":"http_request","config":{"method":"GET","url":"%[1]s/below?word={{word}}"}},
	{"id":"out","kind":"output","config":{"name":"answer"}}],
	"edges":[{"from":"in.value","to":"get.word"},{"from":"get.body","to":"out.value"}]}`
	aboveFlow = `{"schema":"sluice.flow/v1","name":"Above","nodes":[
	{"id":"in","kind":"input","config":{"name":"word","type":"text"}},
	{"id":"run","kind":"subflow","config":{"flow":"%[1]s"}},
	{"id":"out","kind":"output","config":{"name":"answer"}}],
	"edges":[{"from":"in.value","to":"run.input.word"},{"from":"run.answer","to":"out.value"}]}`
)

// estimateOf returns the estimate of a test that starts with a body, and its report.
func (c *testClient) estimateOf(body string) (e struct {
	Steps, Recorded, Calls int
	USD                    *float64
}, r testReport) {
	c.h.T.Helper()
	raw := []byte(c.must(202, "POST", "/tests", body))
	var o struct{ Estimate any }
	if err := errors.Join(json.Unmarshal(raw, &o), json.Unmarshal(raw, &r)); err != nil {
		c.h.T.Fatal(err)
	}
	text, _ := json.Marshal(o.Estimate)
	if err := json.Unmarshal(text, &e); err != nil {
		c.h.T.Fatal(err)
	}
	return e, c.ended(r)
}

// TestTests_estimate_what_they_call counts the steps of flows below that have only a draft, those behind a step that is called, and judges.
func TestTests_estimate_what_they_call(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	world := newOutsideWorld(t)
	judgeOf(t, h, func(nonce string, _ map[string]any) string { return verdict(nonce, 1, true) })
	below := h.Flow(fmt.Sprintf(belowFlow, world.URL, "only-a-draft"))
	c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.Flow(fmt.Sprintf(aboveFlow, below))}
	c.must(200, "PUT", "/cases/one", `{"inputs":{"word":"a"},"checks":[{"output":"answer","judge":"It is fine.","model":"fake/judge","votes":3}]}`)
	c.must(200, "PUT", "/cases/two", `{"inputs":{"word":"b"}}`)
	const draft = `"candidates":[{"version":"draft"}],"children":"draft"`
	if e, r := c.estimateOf(`{` + draft + `,"mode":"fill"}`); e.Steps != 5 || e.Recorded != 0 || e.Calls != 5 || r.State != "passed" {
		t.Errorf("two calls and three votes: %+v %+v", e, r)
	}
	if e, _ := c.estimateOf(`{` + draft + `,"mode":"fill"}`); e.Recorded != 5 || e.Calls != 0 {
		t.Errorf("recorded: %+v", e)
	}
}

// TestTests_run_the_flows_below_as_they_were_at_the_start publishes another version of a flow below while a test waits.
func TestTests_run_the_flows_below_as_they_were_at_the_start(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		template := func(text string) string {
			return fmt.Sprintf(`{"schema":"sluice.flow/v1","name":"Below","nodes":[{"id":"in","kind":"input","config":{"name":"word","type":"text"}},{"id":"words","kind":"template","config":{"template":"%s {{word}}"}},{"id":"out","kind":"output","config":{"name":"answer"}}],"edges":[{"from":"in.value","to":"words.word"},{"from":"words.text","to":"out.value"}]}`, text)
		}
		below := h.PublishedFlow(template("old"))
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(fmt.Sprintf(aboveFlow, below))}
		c.must(200, "PUT", "/cases/one", `{"inputs":{"word":"a"},"checks":[{"output":"answer","equals":"old a"}]}`)
		f, err := h.Store.FindFlow(t.Context(), flow.DefaultWorkspace, flow.FlowID(c.flow))
		if err != nil {
			t.Fatal(err)
		}
		tests := *h.Library.Tests
		tests.Start = func(ctx context.Context, s flow.Start) (flow.Started, error) { // between the plan and the start
			h.Replace(flow.FlowID(below), template("new"))
			other, err := h.Store.FindFlow(ctx, flow.DefaultWorkspace, flow.FlowID(below))
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := h.Library.PublishDraft(ctx, other, flow.Actor{ID: "user_x"}, ""); err != nil {
				t.Fatal(err)
			}
			return h.Runner.StartRun(ctx, s)
		}
		started, run, err := tests.StartTest(t.Context(), flow.Actor{ID: "user_x"}, nil, "", f, library.TestRequest{Mode: flow.CaseReplay})
		if err != nil {
			t.Fatal(err)
		}
		if r := c.ended(testReport{ID: started.ID, RunID: run.ID}); r.State != "passed" {
			t.Errorf("%+v", r)
		}
		if r := c.test(`{"mode":"replay"}`); r.State != "failed" {
			t.Errorf("the next one: %+v", r)
		}
	})
}
