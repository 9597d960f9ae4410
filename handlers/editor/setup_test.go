package editor_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"sluice/flow"
	"sluice/handlers/webtest"
	"strings"
	"testing"
)

func stepStates(h *webtest.Env, run *flow.Run) string {
	h.T.Helper()
	steps, err := h.Store.FindSteps(context.Background(), run.WorkspaceID, run.ID)
	if err != nil {
		h.T.Fatal(err)
	}
	var list []string
	for _, s := range steps {
		list = append(list, s.Path+" "+string(s.State))
	}
	return strings.Join(list, ", ")
}

func starts(h *webtest.Env, b *webtest.Browser, flowID string) (runID string) {
	h.T.Helper()
	a := b.Post("/flows/"+flowID+"/run", url.Values{"filled": {"1"}}).Is(http.StatusSeeOther)
	_, id, _ := strings.Cut(a.Header.Get("Location"), "?run=")
	return id
}

// runStream reads the events of a run until it is over.
func runStream(b *webtest.Browser, path string) (events map[string][]string) {
	b.T.Helper()
	resp, err := b.Client.Get(b.Base + path)
	if err != nil {
		b.T.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		b.T.Fatalf("%d %s", resp.StatusCode, resp.Header)
	}
	events = map[string][]string{}
	name := ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if event, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = event
		} else if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			events[name] = append(events[name], data)
		}
	}
	return events
}

// timed logs how long the pane takes to follow an acknowledged edit.
func timed(p *webtest.Tab, t *testing.T) {
	t.Helper()
	for i := range paneEdits {
		want, _ := json.Marshal(strings.Repeat("x", i+1))
		webtest.Value[bool](p, `(performance.clearMeasures(), document.querySelector("#canvas").commit("Describe", [{op: "set", node: "tone", field: "description", value: `+string(want)+`}]), true)`)
		p.Until(`document.querySelector("#api-field-tone .about p")?.textContent === ` + string(want) + ` && performance.getEntriesByName("api:followed").length > 0`)
		webtest.Value[bool](p, `((window.followed ??= []).push(performance.getEntriesByName("api:followed").at(-1).duration), true)`)
	}
	took := webtest.Value[[]float64](p, `window.followed`)
	slices.Sort(took)
	at := func(q float64) float64 { return took[int(math.Ceil(q*float64(len(took))))-1] }
	t.Logf("from an acknowledged edit to the new pane: p50 %.0f ms, p95 %.0f ms", at(0.5), at(0.95))
}

// push scrolls to an element and clicks it.
func push(p *webtest.Tab, selector string) {
	p.T.Helper()
	webtest.Value[bool](p, fmt.Sprintf(`(document.querySelector(%q).click(), true)`, selector))
}

// remembers sets a cookie as a script of the page does.
func remembers(b *webtest.Browser, name, value string) {
	b.T.Helper()
	u, err := url.Parse(b.Base)
	if err != nil {
		b.T.Fatal(err)
	}
	b.Client.Jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: "/flows"}})
}

// paneEdits is the number of edits that timed measures.
const paneEdits = 12

// setDraft replaces a draft by one that may have problems.
func setDraft(h *webtest.Env, id, document string) {
	h.T.Helper()
	if err := h.Store.UpdateDraft(context.Background(), flow.DefaultWorkspace, flow.FlowID(id), "Answer a ticket", "", []byte(document)); err != nil {
		h.T.Fatal(err)
	}
}
