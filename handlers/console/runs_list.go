package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

const (
	runsPerPage = 50
	// maxSearch bounds a text that is searched for, in bytes.
	maxSearch = 1000
	// firstSearch is how long the first page of a search may take. It goes on
	// from there for as long as the store lets it.
	firstSearch = 70 * time.Millisecond
	// momentForm is how browsers send a date and time; we take it as UTC.
	momentForm = "2006-01-02T15:04"
	custom     = "custom"
)

// spans are the presets of time.
var spans = map[string]time.Duration{"1h": time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour, "30d": 30 * 24 * time.Hour}

func (s *Server) runListRoutes() []route {
	return []route{
		{http.MethodGet, "/runs", web.Viewer, (*call).listRuns},
		{http.MethodGet, "/runs/export", web.Viewer, (*call).exportRuns},
	}
}

// names say what IDs stand for.
type names struct{ flows, keys map[string]string }

// listRuns is GET /runs. A list that is open asks for its rows alone, and hears
// nothing when they are as it has them.
func (c *call) listRuns() error {
	filter, choice := c.readRunsFilter()
	page := consoleview.RunsPage{Filter: filter, Now: c.s.Now()}
	status := http.StatusOK
	if len(filter.Errors) > 0 {
		status = http.StatusUnprocessableEntity
	} else if err := c.findRuns(&page, choice); err != nil {
		return err
	}
	if err := c.nameRuns(&page); err != nil {
		return err
	}
	if c.IsFragment() && c.QueryParam("mark") != "" {
		if page.Mark() == c.QueryParam("mark") {
			return c.NoContent(http.StatusNoContent)
		}
		return c.Render(http.StatusOK, consoleview.RunRows(page))
	}
	return c.Render(status, consoleview.Runs(c.Page("Runs", layout.SectionRuns), page))
}

func (c *call) findRuns(page *consoleview.RunsPage, choice flow.RunChoice) error {
	if choice.Before == "" && choice.After == "" {
		choice.SearchTime = firstSearch
	}
	found, err := c.s.Store.ListRunRows(c.Ctx(), choice)
	if err != nil {
		return err
	}
	for i := range found.Rows {
		page.Rows = append(page.Rows, runLine(&found.Rows[i], page.Now))
	}
	page.Pages = components.Pages{Path: "/runs", Query: page.Filter.Values(), Before: found.Newer, After: found.Older}
	page.Looked, page.More, page.Reached = found.Looked, found.More, found.Reached
	if found.More {
		page.Pages.Previous, page.Pages.Next = "Search newer runs", "Search older runs"
	}
	return nil
}

// nameRuns puts names where IDs were, and fills in what can be chosen.
func (c *call) nameRuns(page *consoleview.RunsPage) error {
	n, err := c.runNames(page)
	if err != nil {
		return err
	}
	for i := range page.Rows {
		n.name(&page.Rows[i])
	}
	if page.Filter.Flow == "" {
		page.Versions = []components.Option{{Value: draftWord, Label: "Drafts"}}
		return nil
	}
	versions, err := c.s.Store.ListVersions(c.Ctx(), c.WorkspaceID(), page.Filter.Flow)
	if err != nil {
		return err
	}
	for i := range versions {
		number := strconv.FormatInt(versions[i].Number, 10)
		page.Versions = append(page.Versions, components.Option{Value: number, Label: "v" + number})
	}
	page.Versions = append(page.Versions, components.Option{Value: draftWord, Label: "Draft"})
	return nil
}

// draftWord is what stands for a draft where a version's number would.
const draftWord = "draft"

func (c *call) runNames(page *consoleview.RunsPage) (n names, err error) {
	flows, err := c.s.Store.ListFlowHeads(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return n, err
	}
	keys, err := c.s.Store.ListKeys(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return n, err
	}
	n = names{map[string]string{}, map[string]string{}}
	page.HasFlows = len(flows) > 0
	for i := range flows {
		n.flows[flows[i].ID] = flows[i].Name
		page.Flows = append(page.Flows, components.Option{Value: flows[i].ID, Label: flows[i].Name})
	}
	for i := range keys {
		n.keys[keys[i].ID] = keys[i].Name
		page.Keys = append(page.Keys, components.Option{Value: keys[i].ID, Label: keys[i].Name})
	}
	slices.SortStableFunc(page.Flows, func(a, b components.Option) int {
		return strings.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label))
	})
	return n, nil
}

// name says whose run it is. By holds the ID of a key until then.
func (n *names) name(r *consoleview.RunLine) {
	if r.Flow = n.flows[r.FlowID]; r.Flow == "" {
		r.Flow = r.FlowID
	}
	if key := n.keys[r.By]; key != "" {
		r.By = key
	}
}

func runLine(r *flow.RunRow, now time.Time) consoleview.RunLine {
	line := consoleview.RunLine{
		ID: r.ID, State: string(r.State), FlowID: r.FlowID, Version: int(r.Version), By: r.KeyID, At: r.CreatedAt,
		Took: r.Took(now), Started: !r.StartedAt.IsZero(), Micros: (r.Usage.CostNanoUSD + 500) / 1000,
		Tokens: r.Usage.InputTokens + r.Usage.OutputTokens, InputSummary: r.InputSummary, Failure: string(r.ErrorCode), Erased: r.Erased != "",
	}
	if line.By == "" || r.Trigger == flow.TriggerRerun {
		line.By = consoleview.TriggerName(string(r.Trigger))
	}
	if r.EndedAt.IsZero() {
		line.Took = line.Took.Truncate(time.Second) // a run at work need not change the list more often
	}
	return line
}

// readRunsFilter reads what the address asks for. What it does not know, such
// as a state that there is not, narrows nothing.
func (c *call) readRunsFilter() (consoleview.RunsFilter, flow.RunChoice) {
	q := c.Request().URL.Query()
	f := consoleview.RunsFilter{
		Flow: validOr(flow.PrefixFlow, q.Get("flow")), Key: validOr(flow.PrefixKey, q.Get("key")), Version: q.Get("version"), Trigger: q.Get("trigger"),
		Query: strings.TrimSpace(q.Get("q")), Time: q.Get("time"), From: q.Get("from"), Until: q.Get("until"), Errors: components.Errors{},
	}
	f.Query = f.Query[:min(len(f.Query), maxSearch)]
	if consoleview.TriggerName(f.Trigger) == f.Trigger {
		f.Trigger = ""
	}
	choice := flow.RunChoice{
		WorkspaceID: c.WorkspaceID(), FlowID: f.Flow, KeyID: f.Key, Trigger: flow.Trigger(f.Trigger), Text: f.Query, Limit: runsPerPage,
		Before: validOr(flow.PrefixRun, q.Get("after")), After: validOr(flow.PrefixRun, q.Get("before")),
	}
	choice.Version, _ = strconv.ParseInt(f.Version, 10, 32)
	choice.Draft = f.Version == draftWord
	if choice.Version <= 0 && !choice.Draft || f.Flow == "" && !choice.Draft { // a number is of a flow
		f.Version, choice.Version = "", 0
	}
	for _, s := range q["state"] {
		if state := flow.RunState(s); state.Known() && !slices.Contains(choice.States, state) {
			f.States, choice.States = append(f.States, s), append(choice.States, state)
		}
	}
	c.readSpan(&f, &choice)
	return f, choice
}

// validOr is the ID, or nothing when it has not the form of one.
func validOr(prefix, id string) string {
	if flow.ValidID(prefix, id) {
		return id
	}
	return ""
}

func (c *call) readSpan(f *consoleview.RunsFilter, choice *flow.RunChoice) {
	if span, ok := spans[f.Time]; ok {
		choice.From = c.s.Now().Add(-span)
	} else if f.Time != custom {
		f.Time = ""
	}
	if f.Time != custom {
		f.From, f.Until = "", ""
		return
	}
	choice.From = readMoment(f.Errors, "from", f.From)
	choice.Until = readMoment(f.Errors, "until", f.Until)
	if !choice.From.IsZero() && !choice.Until.IsZero() && !choice.From.Before(choice.Until) {
		f.Errors["until"] = "This must be later than the beginning."
	}
}

func readMoment(errors components.Errors, name, text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(momentForm, text)
	if err != nil {
		errors[name] = "Choose a date and a time."
	}
	return at
}
