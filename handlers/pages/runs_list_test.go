package pages

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

const echoFlow = `{"schema": "sluice.flow/v1", "name": "Echo <b>", "nodes": [
	{"id": "in", "kind": "input", "config": {"name": "word", "type": "text"}},
	{"id": "out", "kind": "output", "config": {"name": "word"}}], "edges": [{"from": "in.value", "to": "out.value"}]}`

// echoed runs the draft of a flow to its end.
func (h *house) echoed(ws, flowID, word string) string {
	h.t.Helper()
	s, err := h.runner.StartRun(context.Background(), flow.Start{
		WorkspaceID: ws, FlowID: flowID, Trigger: flow.TriggerBuilder, Given: map[string]any{"word": word}, Options: flow.RunOptions{Draft: true}, Wait: 20 * time.Second,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return s.Run.ID
}

func TestListRuns(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b := h.as(flow.MemberViewer)
	b.get("/runs").is(http.StatusOK).has("No runs yet", "Make a flow")
	id := h.flow(echoFlow)
	b.get("/runs").is(http.StatusOK).has("Open a flow and run it")
	hello, other := h.echoed(flow.DefaultWorkspace, id, "Hello there"), h.echoed(flow.DefaultWorkspace, id, "=1+1")
	b.get("/runs").is(http.StatusOK).has(hello, other, "Echo &lt;b&gt;", "Hello there", "draft", `data-state="succeeded"`)

	for name, c := range map[string]struct {
		query     string
		has, lack []string
	}{
		"by flow":                   {"flow=" + id, []string{hello, other}, nil},
		"by another flow":           {"flow=flow_01jd6v0q8zzzzzzzzzzzzzzzzz", []string{"No run fits"}, []string{hello}},
		"by state":                  {"state=failed&state=canceled", []string{"No run fits"}, []string{hello}},
		"by states":                 {"state=failed&state=succeeded", []string{hello}, nil},
		"by what starts it":         {"trigger=api", []string{"No run fits"}, []string{hello}},
		"by version":                {"version=draft", []string{hello}, nil},
		"by time":                   {"time=1h", []string{hello}, nil},
		"by a time of one's own":    {"time=custom&from=2020-01-01T00:00&until=2020-01-02T00:00", []string{"No run fits", `value="2020-01-01T00:00"`}, []string{hello}},
		"by text":                   {"q=hello", []string{hello, "Looked at all 2 matching runs."}, []string{other}},
		"by text that nobody wrote": {"q=%22goodbye", []string{"No run fits", "Looked at all"}, []string{hello}},
		"older ones":                {"after=" + other, []string{hello}, []string{`id="` + other}},
		"by nonsense":               {"flow=x&state=y&version=-1&trigger=z&time=w&after=v", []string{hello, other}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := b.get("/runs?" + c.query).is(http.StatusOK)
			a.has(c.has...).lacks(c.lack...)
		})
	}
	b.get("/runs?time=custom&from=tomorrow&q=kept").is(http.StatusUnprocessableEntity).has("Choose a date and a time.", `value="tomorrow"`, `value="kept"`)
	b.get("/runs?time=custom&from=2021-01-01T00:00&until=2020-01-01T00:00").is(http.StatusUnprocessableEntity).has("later than the beginning")
}

var markOf = regexp.MustCompile(`id="run-rows" data-mark="([0-9a-f]+)"`)

func TestListRuns_stays_fresh(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b, id := h.as(flow.MemberViewer), h.flow(echoFlow)
	h.echoed(flow.DefaultWorkspace, id, "one")
	page := b.get("/runs")
	mark := markOf.FindStringSubmatch(page.body)[1]
	b.part().get("/runs?mark=" + mark).is(http.StatusNoContent)
	fresh := h.echoed(flow.DefaultWorkspace, id, "two")
	b.part().get("/runs?mark="+mark).is(http.StatusOK).has(fresh, "<tbody").lacks("<html")
}

func TestListRuns_of_others_are_not_there(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b, id := h.as(flow.MemberOwner), h.flow(echoFlow)
	h.echoed(flow.DefaultWorkspace, id, "mine")
	if err := h.store.CreateWorkspace(context.Background(), flow.Workspace{ID: "ws_other", Name: "Others"}); err != nil {
		t.Fatal(err)
	}
	f, err := h.library.Import(context.Background(), "ws_other", "", []byte(echoFlow))
	if err != nil {
		t.Fatal(err)
	}
	theirs := h.echoed("ws_other", f.ID, "theirs")
	b.get("/runs").has("mine").lacks(theirs, f.ID)
	b.get("/runs?flow=" + f.ID).has("No run fits")
	b.get("/runs/export?format=jsonl").lacks(theirs)
	h.stranger().get("/runs").see("/sign-in?next=%2Fruns")
}

func TestExportRuns(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b, id := h.as(flow.MemberViewer), h.flow(strings.ReplaceAll(echoFlow, "Echo <b>", "@SUM(1)"))
	run := h.echoed(flow.DefaultWorkspace, id, "=1+1")
	table := b.get("/runs/export?format=csv").is(http.StatusOK)
	rows, err := csv.NewReader(strings.NewReader(table.body)).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v: %s", err, table.body)
	}
	got := map[string]string{}
	for i, column := range rows[0] {
		got[column] = rows[1][i]
	}
	for column, want := range map[string]string{"run_id": run, "flow": "'@SUM(1)", "input": "'=1+1", "state": "succeeded", "version": "draft", "cost_usd": "0.00"} {
		if got[column] != want {
			t.Errorf("%s is %q, want %q", column, got[column], want)
		}
	}
	if d := table.header.Get("Content-Disposition"); !strings.HasPrefix(d, `attachment; filename="runs-`) {
		t.Errorf("disposition %q", d)
	}
	var line exported
	if err := json.Unmarshal([]byte(b.get("/runs/export?format=jsonl").is(http.StatusOK).body), &line); err != nil || line.RunID != run || line.Input != "=1+1" || line.Version != nil {
		t.Errorf("%v: %+v", err, line)
	}
	b.get("/runs/export?" + url.Values{"format": {"jsonl"}, "state": {"failed"}}.Encode()).is(http.StatusOK).lacks(run)
	b.get("/runs/export?format=xlsx").is(http.StatusUnprocessableEntity)
	b.get("/runs/export?format=csv&time=custom&from=x").is(http.StatusUnprocessableEntity)
}

func TestExportRuns_ends(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"This file holds the newest 100,000 runs; there are more. Narrow the list by time for the others.":               exportCut(100_000, false),
		"The search stopped after the newest matching runs; 3 are in this file. Narrow the list by time for older ones.": exportCut(3, true),
	} {
		if text != want {
			t.Errorf("got %q, want %q", text, want)
		}
	}
}
