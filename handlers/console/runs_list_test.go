package console_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/console"
	"sluice/handlers/webtest"
)

func TestListRuns(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.As(flow.MemberViewer)
	b.Get("/runs").Is(http.StatusOK).Has("No runs yet", "Create a flow")
	id := h.Flow(webtest.EchoFlow)
	b.Get("/runs").Is(http.StatusOK).Has("Open a flow and run it")
	hello, other := h.RunEcho(flow.DefaultWorkspace, id, "Hello there"), h.RunEcho(flow.DefaultWorkspace, id, "=1+1")
	b.Get("/runs").Is(http.StatusOK).Has(hello, other, "Echo &lt;b&gt;", "Hello there", "draft", `data-state="succeeded"`)

	for name, c := range map[string]struct {
		query     string
		has, lack []string
	}{
		"by flow":                   {"flow=" + id, []string{hello, other}, nil},
		"by another flow":           {"flow=flow_01jd6v0q8zzzzzzzzzzzzzzzzz", []string{"No runs match"}, []string{hello}},
		"by state":                  {"state=failed&state=canceled", []string{"No runs match"}, []string{hello}},
		"by states":                 {"state=failed&state=succeeded", []string{hello}, nil},
		"by what starts it":         {"trigger=api", []string{"No runs match"}, []string{hello}},
		"by version":                {"version=draft", []string{hello}, nil},
		"by time":                   {"time=1h", []string{hello}, nil},
		"by a time of one's own":    {"time=custom&from=2020-01-01T00:00&until=2020-01-02T00:00", []string{"No runs match", `value="2020-01-01T00:00"`}, []string{hello}},
		"by text":                   {"q=hello", []string{hello, "1 of 2 runs match."}, []string{other}},
		"by text that nobody wrote": {"q=%22goodbye", []string{"No runs match", "0 of "}, []string{hello}},
		"older ones":                {"after=" + other, []string{hello}, []string{`id="` + other}},
		"by nonsense":               {"flow=x&state=y&version=-1&trigger=z&time=w&after=v", []string{hello, other}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := b.Get("/runs?" + c.query).Is(http.StatusOK)
			a.Has(c.has...).Lacks(c.lack...)
		})
	}
	b.Get("/runs?time=custom&from=tomorrow&q=kept").Is(http.StatusUnprocessableEntity).Has("Choose a date and a time.", `value="tomorrow"`, `value="kept"`)
	b.Get("/runs?time=custom&from=2021-01-01T00:00&until=2020-01-01T00:00").Is(http.StatusUnprocessableEntity).Has("after the start")
}

var markOf = regexp.MustCompile(`id="run-rows" data-mark="([0-9a-f]+)"`)

func TestListRuns_polls_for_changes(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberViewer), h.Flow(webtest.EchoFlow)
	h.RunEcho(flow.DefaultWorkspace, id, "one")
	page := b.Get("/runs")
	mark := markOf.FindStringSubmatch(page.Body)[1]
	b.Fragment().Get("/runs?mark=" + mark).Is(http.StatusNoContent)
	fresh := h.RunEcho(flow.DefaultWorkspace, id, "two")
	b.Fragment().Get("/runs?mark="+mark).Is(http.StatusOK).Has(fresh, "<tbody").Lacks("<html")
}

func TestListRuns_hides_other_workspaces(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberOwner), h.Flow(webtest.EchoFlow)
	h.RunEcho(flow.DefaultWorkspace, id, "mine")
	if err := h.Store.CreateWorkspace(context.Background(), flow.Workspace{ID: "ws_other", Name: "Others"}); err != nil {
		t.Fatal(err)
	}
	f, err := h.Library.Import(context.Background(), "ws_other", "", []byte(webtest.EchoFlow))
	if err != nil {
		t.Fatal(err)
	}
	theirs := h.RunEcho("ws_other", string(f.ID), "theirs")
	b.Get("/runs").Has("mine").Lacks(theirs, string(f.ID))
	b.Get("/runs?flow=" + string(f.ID)).Has("No runs match")
	b.Get("/runs/export?format=jsonl").Lacks(theirs)
	h.Anonymous().Get("/runs").RedirectsTo("/sign-in?next=%2Fruns")
}

func TestExportRuns(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberViewer), h.Flow(strings.ReplaceAll(webtest.EchoFlow, "Echo <b>", "@SUM(1)"))
	run := h.RunEcho(flow.DefaultWorkspace, id, "=1+1")
	table := b.Get("/runs/export?format=csv").Is(http.StatusOK)
	rows, err := csv.NewReader(strings.NewReader(table.Body)).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v: %s", err, table.Body)
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
	if d := table.Header.Get("Content-Disposition"); !strings.HasPrefix(d, `attachment; filename="runs-`) {
		t.Errorf("disposition %q", d)
	}
	var line console.Exported
	if err := json.Unmarshal([]byte(b.Get("/runs/export?format=jsonl").Is(http.StatusOK).Body), &line); err != nil || line.RunID != run || line.Input != "=1+1" || line.Version != nil {
		t.Errorf("%v: %+v", err, line)
	}
	b.Get("/runs/export?" + url.Values{"format": {"jsonl"}, "state": {"failed"}}.Encode()).Is(http.StatusOK).Lacks(run)
	b.Get("/runs/export?format=xlsx").Is(http.StatusUnprocessableEntity)
	b.Get("/runs/export?format=csv&time=custom&from=x").Is(http.StatusUnprocessableEntity)
}

func TestExportRuns_notes_truncation(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"This file has the newest 100,000 runs; there are more. Filter by time to export the others.":              console.ExportCut(100_000, false),
		"The search stopped early; this file has the newest 3 matching runs. Filter by time to export older ones.": console.ExportCut(3, true),
	} {
		if text != want {
			t.Errorf("got %q, want %q", text, want)
		}
	}
}
