package nodes

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

// yes approves every question immediately.
type yes struct{}

func (yes) AskApproval(ctx context.Context, _ *flow.Approval) (string, error) {
	return "https://sluice.test/approval/token", ctx.Err()
}

func (yes) TakeDecision(context.Context, flow.WorkspaceID, flow.RunID, string, time.Time) (*flow.Decision, error) {
	return &flow.Decision{Outcome: flow.OutcomeApproved, By: flow.Answerer{Type: flow.ByMember, Name: "Ada"}}, nil
}

// TestApproval runs the kind through its suspension. Package db tests how answers are stored.
func TestApproval(t *testing.T) {
	t.Parallel()
	kind := New(Deps{}).Find("approval")
	now := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	in := func(state any, decision *flow.Decision) *flow.In {
		return &flow.In{
			RunID: "run_1", FlowID: "flow_1", Node: "ask", Path: "ask", State: state, Clock: func() time.Time { return now },
			Config: map[string]any{
				"title": "Send?", "message": "To **Ada**", "values": []any{"draft", "score"}, "editable": []any{"draft"}, "audience": askLink,
				"expires_after": "2d", "url": "https://hooks.test/chat", "draft": "Dear Ada", "score": 0.5,
			},
			AskApproval: func(_ context.Context, q flow.Question, expires time.Time) (string, error) {
				if q.Title != "Send?" || len(q.Values) != 2 || !q.Values[0].Editable || q.Values[1].Editable || !expires.Equal(now.Add(48*time.Hour)) {
					t.Errorf("asks %+v until %s", q, expires)
				}
				return "https://sluice.test/approval/abc", nil
			},
			TakeDecision: func(context.Context) (*flow.Decision, error) { return decision, nil },
		}
	}
	first, err := kind.Run(t.Context(), in(nil, nil))
	if err != nil || first.Suspend == nil || !first.Suspend.Until.Equal(now.Add(48*time.Hour)) {
		t.Fatalf("got %+v, %v", first, err)
	}
	if len(first.Deliveries) != 2 || !first.Deliveries[1].OfRun || strings.Contains(string(first.Deliveries[1].Body), "abc") || !strings.Contains(string(first.Deliveries[0].Body), `"link":"https://sluice.test/approval/abc"`) {
		t.Errorf("announces %+v to its URL and the webhook of the run", first.Deliveries)
	}
	again, err := kind.Run(t.Context(), in(first.Suspend.State, nil))
	if err != nil || again.Suspend == nil || len(again.Deliveries) != 0 {
		t.Errorf("still open: got %+v, %v", again, err)
	}
	by := flow.Answerer{Type: flow.ByLink}
	for _, c := range []struct {
		decision flow.Decision
		want     map[string]any
	}{
		{flow.Decision{Outcome: flow.OutcomeApproved, Values: map[string]any{"draft": "Hello Ada"}, Comment: "Shorter", By: by}, map[string]any{
			"approved": map[string]any{"values": map[string]any{"draft": "Hello Ada", "score": 0.5}, "comment": "Shorter", "by": ""}, "draft": "Hello Ada", "score": 0.5}},
		{flow.Decision{Outcome: flow.OutcomeRejected, By: by}, map[string]any{
			"rejected": map[string]any{"values": map[string]any{"draft": "Dear Ada", "score": 0.5}, "comment": "", "by": ""}}},
		{flow.Decision{Outcome: flow.OutcomeExpired}, map[string]any{
			"expired": map[string]any{"values": map[string]any{"draft": "Dear Ada", "score": 0.5}, "comment": "", "by": ""}}},
	} {
		out, err := kind.Run(t.Context(), in(first.Suspend.State, &c.decision))
		if err != nil || out.Suspend != nil {
			t.Errorf("%s: got %+v, %v", c.decision.Outcome, out, err)
		}
		same(t, string(c.decision.Outcome), out.Outputs, c.want)
	}
}

func TestApproval_rejects_invalid_config(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]map[string]any{
		`"title" is the name of another`: {"values": []any{"title"}},
		`"a b" cannot be the name`:       {"values": []any{"a b"}},
		`"draft" is listed twice`:        {"values": []any{"draft", "draft"}, "draft": 1},
		`"other" is not one of`:          {"editable": []any{"other"}},
		"at least one member":            {"audience": askNamed},
		"wanted a duration":              {"expires_after": "soon"},
		"percent-encoded, so a URL":      {"url": "{{host}}/x"},
		`got "0"`:                        {"expires_after": "0"},
		"at most 366 days; got \"9y\"":   {"expires_after": "9y"},
	} {
		config := map[string]any{"title": "Send?"}
		maps.Copy(config, change)
		found := ""
		for _, p := range (use{kind: "approval", config: config}).problems(t) {
			found += p.Detail + "\n"
		}
		if !strings.Contains(found, want) {
			t.Errorf("%v: got %q, want %q", change, found, want)
		}
	}
}

func TestQuestion_checks_edits_and_audience(t *testing.T) {
	t.Parallel()
	q := flow.Question{Values: []flow.ApprovalValue{{Name: "n", Value: 1.0, Editable: true}, {Name: "fixed", Value: "x"}}, Audience: flow.AudienceLink}
	for want, values := range map[string]map[string]any{
		"/values/n: must be a number": {"n": "two"},
		"/values/fixed: cannot be":    {"fixed": "y"},
		"/values/other: is not part":  {"other": 1.0},
	} {
		if _, err := q.CheckDecision(flow.Decision{Outcome: flow.OutcomeApproved, Values: values}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", values, err, want)
		}
	}
	d, err := q.CheckDecision(flow.Decision{Outcome: flow.OutcomeApproved, Values: map[string]any{"n": 2.0, "fixed": "x"}})
	if err != nil || len(d.Values) != 1 || d.Values["n"] != 2.0 {
		t.Errorf("got %+v, %v", d, err)
	}
	key, link, ada := flow.Answerer{Type: flow.ByKey, ID: "key_1"}, flow.Answerer{Type: flow.ByLink}, flow.Answerer{Type: flow.ByMember, ID: "user_1"}
	for _, c := range []struct {
		audience flow.Audience
		self     bool
		by       flow.Answerer
		may      bool
	}{
		{flow.AudienceLink, false, link, true},
		{flow.AudienceLink, false, key, false}, // it started the run
		{flow.AudienceLink, true, key, true},
		{flow.AudienceLink, false, flow.Answerer{Type: flow.ByKey, ID: "key_2"}, true},
		{flow.AudienceMembers, false, link, false},
		{flow.AudienceMembers, false, ada, true},
		{flow.AudienceNamed, false, ada, true},
		{flow.AudienceNamed, false, flow.Answerer{Type: flow.ByKey, ID: "key_2"}, false},
		{flow.AudienceNamed, true, link, false},
	} {
		q := flow.Question{Audience: c.audience, SelfAnswer: c.self, People: []string{" ADA@example.com"}}
		if err := q.MayAnswer(c.by, "ada@example.com", flow.Starter{KeyID: "key_1"}); (err == nil) != c.may {
			t.Errorf("%s, %s, self %v: got %v", c.audience, c.by.Type, c.self, err)
		}
	}
	named := flow.Question{Audience: flow.AudienceNamed, People: []string{"ada@example.com"}}
	if named.MayAnswer(ada, "bob@example.com", flow.Starter{}) == nil {
		t.Error("another member may answer")
	}
}
