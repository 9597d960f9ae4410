package console

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/sorting"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

// flowRoutes returns the routes of the list of flows and of actions on flows. Routes with
// findAnyFlow also accept archived flows.
func (s *Server) flowRoutes() []route {
	return slices.Concat([]route{
		{http.MethodGet, "/flows", web.Viewer, (*call).listFlows},
		{http.MethodGet, "/flows/:flow/export", web.Viewer, web.With((*call).findAnyFlow, (*call).exportFlow)},
		{http.MethodPost, "/flows/:flow/duplicate", web.Editor, (*call).duplicateFlow},
		{http.MethodPost, "/flows/:flow/archive", web.Editor, web.OnFlow((*call).archiveFlow)},
		{http.MethodPost, "/flows/:flow/restore", web.Editor, web.With((*call).findAnyFlow, (*call).restoreFlow)},
		{http.MethodGet, "/flows/:flow/tags", web.Editor, web.OnFlow((*call).showTags)},
		{http.MethodPost, "/flows/:flow/tags", web.Editor, web.Posted(web.OnFlow((*call).saveTags))},
	}, s.newFlowRoutes())
}

// flowsPerPage is the number of flows on a page of the list.
const flowsPerPage = 24

// listFlows is GET /flows. A workspace has at most some thousand flows, so it
// filters, sorts and pages them in memory; drafts are read for one page only.
func (c *call) listFlows() error {
	filter := flowFilter(c.QueryParams())
	heads, err := c.s.Store.ListFlowHeads(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	page := consoleview.FlowsPage{Filter: filter, Tags: allTags(heads), Now: c.s.Now(), MayEdit: c.MayEdit(), Starters: c.s.starters(true)}
	for i := range heads {
		if !heads[i].ArchivedAt.IsZero() {
			page.Archived++
		}
	}
	heads = slices.DeleteFunc(heads, func(f flow.Flow) bool { return !matches(filter, &f) })
	if err := c.sortFlows(heads, filter.Sort); err != nil {
		return err
	}
	heads, page.Pages = paginate(heads, c.QueryParam("after"), c.QueryParam("before"))
	page.Pages.Path, page.Pages.Query, page.Pages.Previous, page.Pages.Next = "/flows", filter.Values(), "Previous", "Next"
	if page.Flows, err = c.flowCards(heads); err != nil {
		return err
	}
	if page.Ending, err = keyWarnings(c); err != nil {
		return err
	}
	return c.Render(http.StatusOK, consoleview.Flows(c.Page("Flows", layout.SectionFlows), page))
}

// flowFilter reads the filter of the query. An unknown order is the default:
// last changed first.
func flowFilter(q url.Values) consoleview.FlowFilter {
	f := consoleview.FlowFilter{
		Query: strings.TrimSpace(q.Get("q")), Tag: q.Get("tag"), Sort: consoleview.FlowSort(q.Get("sort")),
		Table: q.Get("view") == "table", Archived: q.Get("archived") == "1",
	}
	switch f.Sort {
	case consoleview.SortName, consoleview.SortRuns, consoleview.SortCost:
	default:
		f.Sort = ""
	}
	return f
}

// matches reports whether a flow matches the filter: each word must be in its
// name, description or tags.
func matches(filter consoleview.FlowFilter, f *flow.Flow) bool {
	if f.ArchivedAt.IsZero() == filter.Archived {
		return false
	}
	if filter.Tag != "" && !slices.Contains(f.Tags, filter.Tag) {
		return false
	}
	return containsAll(f.Name+"\n"+f.Description+"\n"+strings.Join(f.Tags, "\n"), filter.Query)
}

// allTags returns the tags of all flows that are not archived, sorted and without
// duplicates.
func allTags(list []flow.Flow) []string {
	var tags []string
	for i := range list {
		if list[i].ArchivedAt.IsZero() {
			tags = append(tags, list[i].Tags...)
		}
	}
	sorting.By(tags, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
	})
	return slices.Compact(tags)
}

// sortFlows sorts the list, by default by the last change. Ties are broken by name.
func (c *call) sortFlows(list []flow.Flow, by consoleview.FlowSort) error {
	byName := func(a, b *flow.Flow) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), cmp.Compare(a.ID, b.ID))
	}
	var days map[flow.FlowID]flow.Day
	if by == consoleview.SortRuns || by == consoleview.SortCost {
		var err error
		if days, err = c.s.Store.FlowStats(c.Ctx(), c.WorkspaceID(), flowIDs(list), c.s.Now()); err != nil {
			return err
		}
	}
	sorting.By(list, func(a, b flow.Flow) int {
		switch by {
		case consoleview.SortName:
			return byName(&a, &b)
		case consoleview.SortRuns:
			return cmp.Or(cmp.Compare(days[b.ID].Runs, days[a.ID].Runs), byName(&a, &b))
		case consoleview.SortCost:
			return cmp.Or(cmp.Compare(days[b.ID].CostNanoUSD, days[a.ID].CostNanoUSD), byName(&a, &b))
		}
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), byName(&a, &b))
	})
	return nil
}

// flowIDs returns the IDs of flows.
func flowIDs(list []flow.Flow) []flow.FlowID {
	ids := make([]flow.FlowID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return ids
}

// paginate returns one page of a list. The cursors are offsets, because flows sorted
// by runs or cost have no stable key.
func paginate(list []flow.Flow, after, before string) ([]flow.Flow, components.Pages) {
	start := 0
	if n, err := strconv.Atoi(after); err == nil && n > 0 {
		start = min(n, max(0, len(list)-1)/flowsPerPage*flowsPerPage)
	} else if n, err := strconv.Atoi(before); err == nil && n > 0 {
		start = max(0, min(n, len(list))-flowsPerPage)
	}
	end := min(start+flowsPerPage, len(list))
	var p components.Pages
	if start > 0 {
		p.Before = strconv.Itoa(start)
	}
	if end < len(list) {
		p.After = strconv.Itoa(end)
	}
	return list[start:end], p
}

// flowCards reads the drafts of one page of flows, for their thumbnails.
func (c *call) flowCards(heads []flow.Flow) ([]consoleview.FlowCard, error) {
	days, err := c.s.Store.FlowStats(c.Ctx(), c.WorkspaceID(), flowIDs(heads), c.s.Now())
	if err != nil {
		return nil, err
	}
	cards := make([]consoleview.FlowCard, 0, len(heads))
	for i := range heads {
		f, err := c.s.Store.FindFlow(c.Ctx(), c.WorkspaceID(), heads[i].ID)
		if err != nil {
			return nil, fmt.Errorf("find %s for the list: %w", heads[i].ID, err)
		}
		cards = append(cards, c.flowCard(f, days[f.ID]))
	}
	return cards, nil
}

// flowCard converts a flow with its statistics of the last day.
func (c *call) flowCard(f *flow.Flow, day flow.Day) consoleview.FlowCard {
	card := consoleview.FlowCard{
		ID: string(f.ID), Name: f.Name, Description: f.Description, Tags: f.Tags, Version: int(f.LiveVersion), EditedAt: f.UpdatedAt,
		Differs: flow.DocumentHash(f.Draft) != f.LiveHash, Archived: !f.ArchivedAt.IsZero(), Day: flowDay(&day),
	}
	if d, _ := document.ParseDocument(f.Draft); d != nil {
		card.Graph = web.Thumbnail(d, c.s.Kinds)
	}
	return card
}

// flowDay converts the statistics of a day.
func flowDay(d *flow.Day) consoleview.FlowDay {
	day := consoleview.FlowDay{Runs: int(d.Runs), Succeeded: d.Success(), P95: d.P95, Micros: d.CostNanoUSD.Micros()}
	for _, h := range d.Hours {
		day.Hours = append(day.Hours, components.Bar{Count: int(h.Runs), Failed: int(h.Failed)})
	}
	return day
}
