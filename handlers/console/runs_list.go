package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

const (
	runsPerPage = 50
	// maxSearch bounds a search query, in bytes.
	maxSearch = 1000
	// firstSearchTime bounds the search for the first page, so that it is fast.
	// Other pages have the longer limit of the store.
	firstSearchTime = 70 * time.Millisecond
	// timeInputFormat is the format of datetime-local inputs, which have no zone.
	timeInputFormat = "2006-01-02T15:04"
	customSpan      = "custom"
)

// timeSpans are the presets of the time filter.
var timeSpans = map[string]time.Duration{"1h": time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour, "30d": 30 * 24 * time.Hour}

// runListRoutes returns the routes of the list of runs.
func (s *Server) runListRoutes() []route {
	return []route{
		{http.MethodGet, "/runs", web.Viewer, (*call).listRuns},
		{http.MethodGet, "/runs/export", web.Viewer, (*call).exportRuns},
	}
}

// runLabels maps IDs to names.
type runLabels struct{ flows, keys map[string]string }

// listRuns is GET /runs. An open list polls with ?mark=, a digest of its rows. It
// gets the rows, or 204 if nothing has changed.
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
	if filter.Flow != "" && page.FlowName != "" {
		f, err := c.s.Store.FindFlow(c.Ctx(), c.WorkspaceID(), flow.FlowID(filter.Flow))
		if err != nil {
			return err
		}
		c.OfFlow(f)
	}
	return c.Render(status, consoleview.Runs(c.Page("Runs", layout.SectionRuns), page))
}

// findRuns fills in the rows of a page. A search reads run by run and may stop
// before it has a full page; the page then offers to continue.
func (c *call) findRuns(page *consoleview.RunsPage, choice flow.RunQuery) error {
	if choice.Before == "" && choice.After == "" {
		choice.SearchTime = firstSearchTime
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

// nameRuns replaces IDs by names and fills in the options of the filter.
func (c *call) nameRuns(page *consoleview.RunsPage) error {
	n, err := c.listRunLabels(page)
	if err != nil {
		return err
	}
	for i := range page.Rows {
		n.name(&page.Rows[i])
	}
	page.FlowName = n.flows[page.Filter.Flow]
	if page.Filter.Flow == "" {
		page.Versions = []components.Option{{Value: draftWord, Label: "Drafts"}}
		return nil
	}
	versions, err := c.s.Store.ListVersions(c.Ctx(), c.WorkspaceID(), flow.FlowID(page.Filter.Flow))
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

// draftWord denotes a draft where a version number is expected.
const draftWord = "draft"

// listRunLabels reads the names of flows and keys, and adds them to the page as
// options of its filter.
func (c *call) listRunLabels(page *consoleview.RunsPage) (n runLabels, err error) {
	flows, err := c.s.Store.ListFlowHeads(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return n, err
	}
	keys, err := c.s.Store.ListKeys(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return n, err
	}
	n = runLabels{map[string]string{}, map[string]string{}}
	page.HasFlows = len(flows) > 0
	for i := range flows {
		n.flows[string(flows[i].ID)] = flows[i].Name
		if string(flows[i].ID) == page.Filter.Flow {
			page.LiveVersion = flows[i].LiveVersion
		}
		page.Flows = append(page.Flows, components.Option{Value: string(flows[i].ID), Label: flows[i].Name})
	}
	for i := range keys {
		n.keys[keys[i].ID] = keys[i].Name
		page.Keys = append(page.Keys, components.Option{Value: keys[i].ID, Label: keys[i].Name})
	}
	sorting.By(page.Flows, func(a, b components.Option) int {
		return strings.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label))
	})
	page.Flows = web.BoundOptions(page.Flows, page.Filter.Flow)
	page.Keys = web.BoundOptions(page.Keys, page.Filter.Key)
	return n, nil
}

// name sets the names of the flow and the key. Until then, By is the ID of the
// key.
func (n *runLabels) name(r *consoleview.RunLine) {
	if r.Flow = n.flows[r.FlowID]; r.Flow == "" {
		r.Flow = r.FlowID
	}
	if key := n.keys[r.By]; key != "" {
		r.By = key
	}
}

// runLine converts a row of the list. The duration of an active run is in whole
// seconds, so that the list changes at most once a second.
func runLine(r *flow.Run, now time.Time) consoleview.RunLine {
	line := consoleview.RunLine{
		RunHead: web.RunHead(r, now), By: r.KeyID, InputSummary: r.InputSummary, Erased: r.Erased != "",
	}
	if r.Error != nil {
		line.Failure, line.FailureText = string(r.Error.Code), r.Error.Message
	}
	if line.By == "" || r.Trigger == flow.TriggerRerun {
		line.By = consoleview.TriggerName(string(r.Trigger))
	}
	if r.EndedAt.IsZero() {
		line.Duration = line.Duration.Truncate(time.Second)
	}
	return line
}

// readRunsFilter reads the filter of the query. Unknown values, such as a state
// that does not exist, are ignored.
func (c *call) readRunsFilter() (consoleview.RunsFilter, flow.RunQuery) {
	q := c.Request().URL.Query()
	f := consoleview.RunsFilter{
		Flow: validID(flow.PrefixFlow, q.Get("flow")), Key: validID(flow.PrefixKey, q.Get("key")), Version: q.Get("version"), Trigger: q.Get("trigger"),
		Query: strings.TrimSpace(q.Get("q")), Time: q.Get("time"), From: q.Get("from"), Until: q.Get("until"), Errors: components.Errors{},
	}
	f.Query = f.Query[:min(len(f.Query), maxSearch)]
	if consoleview.TriggerName(f.Trigger) == f.Trigger {
		f.Trigger = ""
	}
	choice := flow.RunQuery{
		WorkspaceID: c.WorkspaceID(), FlowID: flow.FlowID(f.Flow), KeyID: f.Key, Trigger: flow.Trigger(f.Trigger), Text: f.Query, Limit: runsPerPage,
		Before: validID(flow.PrefixRun, q.Get("after")), After: validID(flow.PrefixRun, q.Get("before")),
	}
	choice.Version, _ = strconv.ParseInt(f.Version, 10, 32)
	choice.Draft = f.Version == draftWord
	if choice.Version <= 0 && !choice.Draft || f.Flow == "" && !choice.Draft { // version numbers need a flow
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

// validID returns the ID, or "" if it is malformed.
func validID(prefix, id string) string {
	if flow.ValidID(prefix, id) {
		return id
	}
	return ""
}

// readSpan reads the time filter: a preset, or a start and an end.
func (c *call) readSpan(f *consoleview.RunsFilter, choice *flow.RunQuery) {
	if span, ok := timeSpans[f.Time]; ok {
		choice.From = c.s.Now().Add(-span)
	} else if f.Time != customSpan {
		f.Time = ""
	}
	if f.Time != customSpan {
		f.From, f.Until = "", ""
		return
	}
	choice.From = readTime(f.Errors, "from", f.From)
	choice.Until = readTime(f.Errors, "until", f.Until)
	if !choice.From.IsZero() && !choice.Until.IsZero() && !choice.From.Before(choice.Until) {
		f.Errors["until"] = "Choose a time after the start."
	}
}

// readTime parses the value of a datetime-local input as UTC.
func readTime(errors components.Errors, name, text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(timeInputFormat, text)
	if err != nil {
		errors[name] = "Choose a date and a time."
	}
	return at
}
