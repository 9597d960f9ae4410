package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/knowledge"
	"sluice/flow/library"
	"sluice/flow/value"
	"sluice/handlers/console"
	"sluice/nodes"
)

// TestStarters checks that every embedded flow is listed, valid and explained.
func TestStarters(t *testing.T) {
	t.Parallel()
	list, err := starters()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("starters/*.json")
	if err != nil || len(files) != len(list) {
		t.Errorf("%d files, %d of them listed", len(files), len(list))
	}
	kinds := nodes.New(nodes.Deps{})
	for _, s := range list {
		t.Run(s.ID, func(t *testing.T) {
			t.Parallel()
			for _, d := range append(s.Subflows, s.Document) {
				problems := slices.DeleteFunc(document.Validate(d, kinds), func(p flow.Problem) bool { // which tools there are, only the server knows
					n := d.Node(p.Node)
					return n != nil && n.Kind == flow.KindMCP && strings.HasSuffix(p.Pointer, "/tools") && p.Code == "required"
				})
				if len(problems) > 0 {
					t.Error(problems)
				}
			}
			if s.Document.Description == "" || s.Icon == "" || len(s.Answer) == 0 {
				t.Error("is not explained")
			}
			for _, in := range contract.Inputs(s.Document, kinds) {
				if s.Needs == "" && in.Required && !in.HasExample {
					t.Errorf("input %s has no example to run with", in.Name)
				}
			}
		})
	}
}

// longNumber matches numbers that the gallery rounds.
var longNumber = regexp.MustCompile(`[0-9]+\.[0-9]{3,}`)

// TestStarters_run runs the flows that need no set-up, on their examples.
func TestStarters_run(t *testing.T) {
	t.Parallel()
	a := startTestApp(t)
	list, err := starters()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"route-a-support-ticket": `"billing"`, "summarize-a-text": "bridge", "answer-from-a-document": "thirty days",
		"check-the-mood-of-feedback": `"English"`, "find-a-duplicate-question": "The same question",
		"approve-a-reply": "thank you for writing to us about the second charge", "send-it-later": "Your trial ends tomorrow.",
		"read-an-order": `"total":42`, "route-by-rules": "A manager decides about $2400.", "clean-a-list": "Milk, Bread, Apples",
		"answer-from-our-documents": "working days after the parcel arrives. [1]",
		"check-many-reviews":        `"moods":["positive","negative","positive"],"summary":"3 reviews checked, 0 failed."`, "answer-a-review": "We are sorry about the negative experience.", "add-up-an-order": "The total is $68.95.",
	}
	base := &knowledge.Base{WorkspaceID: flow.DefaultWorkspace, Slug: "our-documents", Name: "Our documents"}
	base.Settings.Defaults()
	if err := a.store.CreateBase(t.Context(), base); err != nil {
		t.Fatal(err)
	}
	policy := knowledge.Put{Base: base, Document: knowledge.Document{Source: "policy.pdf", Title: "Refund policy", Hash: "x"}, Passages: []knowledge.Passage{{Text: "A refund takes five working days after the parcel arrives. Gift cards never expire.", Page: 3}}}
	if _, err := a.store.PutBaseDocument(t.Context(), &policy); err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.Needs != "" {
			continue
		}
		outputs := runStarter(t, a, s)
		if want[s.ID] == "" || !strings.Contains(outputs, want[s.ID]) {
			t.Errorf("%s gave %s, wanted %q in it", s.ID, outputs, want[s.ID])
		}
		rounded := longNumber.ReplaceAllStringFunc(strings.ReplaceAll(outputs, `\n`, " "), func(n string) string {
			f, _ := strconv.ParseFloat(n, 64)
			return strconv.FormatFloat(f, 'f', 2, 64)
		})
		for _, answer := range s.Answer { // what the gallery promises
			if !strings.Contains(rounded, answer) {
				t.Errorf("%s gave %s, not %q", s.ID, outputs, answer)
			}
		}
	}
	flows, err := a.store.ListFlows(t.Context(), flow.DefaultWorkspace, "", 100)
	subflows := slices.DeleteFunc(flows, func(f flow.Flow) bool { return f.Name != "Check one review" })
	if err != nil || len(subflows) != 1 {
		t.Errorf("the flow that two templates bring is there %d times, %v", len(subflows), err)
	}
}

// TestStarters_kinds checks that a template uses each node kind for flow control and text.
func TestStarters_kinds(t *testing.T) {
	t.Parallel()
	list, err := starters()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, s := range list {
		for i := range s.Document.Nodes {
			used[s.Document.Nodes[i].Kind] = true
		}
	}
	for _, kind := range []string{"split", "combine", "replace", "extract", "json", "expression", "switch", "subflow", "map", "delay", "approval", "code"} {
		if !used[kind] {
			t.Errorf("no template uses %s", kind)
		}
	}
}

// startTestApp starts a server in a temporary directory that makes no outgoing requests.
func startTestApp(t *testing.T) *app {
	t.Helper()
	cfg := &Config{Addr: "127.0.0.1:0", DataDir: t.TempDir(), LocalModels: "off", Workers: 4, MaxFile: 1 << 20}
	a, err := startApp(t.Context(), cfg, slog.New(slog.DiscardHandler), appOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.stop(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func runStarter(t *testing.T, a *app, s console.Starter) string {
	t.Helper()
	ctx := context.Background()
	made, err := a.library.CreateFromTemplate(ctx, flow.Actor{ID: "test"}, flow.DefaultWorkspace, s.Document, s.Subflows)
	if err != nil {
		t.Fatal(err)
	}
	f := made[0]
	if _, _, err := a.library.Publish(ctx, flow.DefaultWorkspace, f.ID, "test"); err != nil {
		t.Fatal(err)
	}
	inputs := map[string]any{}
	for _, in := range contract.Inputs(s.Document, a.library.Kinds) {
		if in.HasExample {
			inputs[in.Name] = in.Example
		}
	}
	started, err := a.runner.StartRun(ctx, flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: f.ID, Given: value.FromMap(inputs), Trigger: flow.TriggerAPI})
	if err != nil {
		t.Fatal(err)
	}
	run := approveAll(t, a, started.Run)
	if run.State != flow.RunSucceeded {
		t.Fatalf("%s ended as %s: %+v", s.ID, run.State, run.Error)
	}
	return string(flow.EncodeJSON(run.Outputs))
}

// approveAll approves every request of a run until it ends.
func approveAll(t *testing.T, a *app, run *flow.Run) *flow.Run {
	t.Helper()
	ctx := t.Context()
	watch := a.runner.WatchRun(run.ID)
	defer watch.Stop()
	for {
		asked, err := a.store.ListApprovals(ctx, run.WorkspaceID, run.ID)
		for _, q := range asked {
			if q.Decision == nil {
				_, err = a.library.Answer(ctx, library.Answer{WorkspaceID: run.WorkspaceID, RunID: run.ID, Path: q.Path,
					Decision: flow.Decision{Outcome: flow.OutcomeApproved, By: flow.Answerer{Type: flow.ByLink}}})
			}
		}
		if err == nil {
			run, err = a.store.FindRun(ctx, run.WorkspaceID, run.FlowID, run.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
		if run.State.Ended() {
			return run
		}
		<-watch.Changes
	}
}
