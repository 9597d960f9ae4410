package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sluice/docs"
	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/sorting"
	"sluice/flow/wording"
	"sluice/handlers/web"
)

// Limits of the command palette: the items of each type, and the flows whose nodes are searched,
// most recently changed first.
const (
	maxFound         = 6
	maxMentions      = 24 // sections of the documentation among which those about the query are
	maxSearchedFlows = 60
)

// found is one item of the command palette.
type found struct {
	Title   string `json:"title"`
	Note    string `json:"note,omitempty"`
	Heading string `json:"heading"`
	Icon    string `json:"icon"`
	Href    string `json:"href"`
}

// findRoutes returns the route of the command palette, which requests it while the user types.
func (s *Server) findRoutes() []route {
	return []route{{http.MethodGet, "/find", web.Viewer, (*call).find}}
}

// find is GET /find?q=: flows, their nodes, a run by its ID, and sections of the documentation, for
// the command palette. The script adds pages and actions.
func (c *call) find() error {
	query := strings.TrimSpace(c.QueryParam("q"))
	items := []found{}
	if query == "" || len(query) > maxSearch {
		return c.JSON(http.StatusOK, map[string]any{"items": items})
	}
	heads, err := c.s.Store.ListFlowHeads(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	heads = slices.DeleteFunc(heads, func(f flow.Flow) bool { return !f.ArchivedAt.IsZero() })
	run, err := c.findRunByID(query)
	if err != nil {
		return err
	}
	nodes, err := c.findNodes(heads, query)
	if err != nil {
		return err
	}
	items = append(append(append(items, run...), findFlows(heads, query)...), nodes...)
	items = append(items, findDocs(c.s.FindDocs(query, maxMentions), query)...)
	return c.JSON(http.StatusOK, map[string]any{"items": items})
}

// containsAll reports whether a text contains all words, ignoring case.
func containsAll(text, words string) bool {
	text = strings.ToLower(text)
	for word := range strings.FieldsSeq(strings.ToLower(words)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// findRunByID finds a run by its ID.
func (c *call) findRunByID(query string) ([]found, error) {
	if !strings.HasPrefix(query, "run_") {
		return nil, nil
	}
	r, err := c.s.Store.FindRun(c.Ctx(), c.WorkspaceID(), "", flow.RunID(query))
	if flow.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []found{{Title: string(r.ID), Note: string(r.State), Heading: "Runs", Icon: "history", Href: "/runs/" + url.PathEscape(string(r.ID))}}, nil
}

// findFlows finds flows by name, description, tags and ID. Flows whose name begins with the query
// come first.
func findFlows(heads []flow.Flow, query string) (items []found) {
	var hits []flow.Flow
	for i := range heads {
		if f := heads[i]; containsAll(f.Name+"\n"+f.Description+"\n"+strings.Join(f.Tags, "\n")+"\n"+string(f.ID), query) {
			hits = append(hits, f)
		}
	}
	rank := func(f flow.Flow) int {
		if strings.HasPrefix(strings.ToLower(f.Name), strings.ToLower(query)) {
			return 0
		}
		return 1
	}
	sorting.By(hits, func(a, b flow.Flow) int { return cmp.Compare(rank(a), rank(b)) })
	for _, f := range hits[:min(len(hits), maxFound)] {
		items = append(items, found{Title: f.Name, Note: wording.Truncate(f.Description, 80), Heading: "Flows", Icon: "workflow", Href: "/flows/" + url.PathEscape(string(f.ID))})
	}
	return items
}

// findNodes finds nodes by title, kind and ID in the most recently changed flows.
func (c *call) findNodes(heads []flow.Flow, query string) (items []found, err error) {
	if len([]rune(query)) < 2 {
		return nil, nil
	}
	recent := slices.Clone(heads)
	sorting.By(recent, func(a, b flow.Flow) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	for i := range recent[:min(len(recent), maxSearchedFlows)] {
		f, err := c.s.Store.FindFlow(c.Ctx(), c.WorkspaceID(), recent[i].ID)
		if flow.IsNotFound(err) {
			continue // deleted concurrently
		}
		if err != nil {
			return nil, err
		}
		d, _ := document.ParseDocument(f.Draft)
		if d == nil {
			continue
		}
		for j := range d.Nodes {
			n := &d.Nodes[j]
			k := c.s.Kinds.Find(n.Kind)
			title, icon, kind := document.NodeTitle(n, k), "circle", n.Kind
			if k != nil {
				icon, kind = k.Icon, k.Title
			}
			if containsAll(title+"\n"+kind+"\n"+n.ID, query) {
				items = append(items, found{Title: title, Note: kind + " in " + f.Name, Heading: "Nodes", Icon: icon, Href: "/flows/" + url.PathEscape(string(f.ID)) + "?node=" + url.QueryEscape(n.ID)})
			}
			if len(items) == maxFound {
				return items, nil
			}
		}
	}
	return items, nil
}

// findDocs converts the sections of the documentation that are about the words of a query: they are
// in a title. Others only mention them, such as in an example, and are left to the search of the
// documentation.
func findDocs(hits []docs.Hit, query string) (items []found) {
	plain := func(marks []docs.Mark) (text string) {
		for _, m := range marks {
			text += m.Text
		}
		return text
	}
	for _, h := range hits {
		title, note := h.Page.Title, ""
		if section := plain(h.Title); section != "" {
			title, note = section, h.Page.Title
		}
		if len(items) < maxFound && containsAll(title+" "+note+" "+h.Path, query) {
			items = append(items, found{Title: title, Note: cmp.Or(note, "Documentation"), Heading: "Docs", Icon: "book-open", Href: h.Path})
		}
	}
	if len(hits) > len(items) {
		items = append(items, found{Title: "Search the docs for “" + query + "”", Heading: "Docs", Icon: "search", Href: "/docs?q=" + url.QueryEscape(query)})
	}
	return items
}
