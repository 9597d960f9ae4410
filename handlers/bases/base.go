package bases

import (
	"cmp"
	"errors"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/knowledge"
	"sluice/handlers/web"
	view "sluice/views/bases"
	"sluice/views/components"
	"sluice/views/layout"
)

// Sizes of lists.
const (
	pageDocuments   = 50
	pageQuotes      = 50
	pagePassages    = 50
	shownActive     = 50
	shownFailed     = 20
	failedFor       = 7 * 24 * time.Hour
	shownParts      = 100
	shownFlows      = 5
	shownHits       = 5
	moreHits        = 20
	shownExpected   = 5
	excerptSize     = 320 // bytes of a hit
	maxUploadedText = 64 << 10
)

// running are the states of runs that have not ended.
var running = []flow.RunState{flow.RunQueued, flow.RunRunning, flow.RunWaiting}

// active returns the documents that are about to be indexed, and those whose run failed lately before there was a document: a file that cannot be fetched.
func (c *call) active(b *knowledge.Base) (list, failed []view.ActiveRow, err error) {
	filter := flow.RunFilter{WorkspaceID: b.WorkspaceID, FlowID: b.FlowID, Trigger: flow.TriggerIndex, States: running, Limit: shownActive}
	runs, err := c.s.Store.ListRuns(c.Ctx(), filter)
	if err != nil {
		return nil, nil, err
	}
	for i := range runs {
		if row, _, is := c.activeRow(b, &runs[i]); is {
			list = append(list, row)
		}
	}
	filter.States, filter.Limit, filter.CreatedAfter = []flow.RunState{flow.RunFailed}, shownFailed, c.s.Now().Add(-failedFor)
	if runs, err = c.s.Store.ListRuns(c.Ctx(), filter); err != nil {
		return nil, nil, err
	}
	for i := range runs {
		row, part, is := c.activeRow(b, &runs[i])
		if !is || runs[i].Error == nil || slices.ContainsFunc(failed, func(f view.ActiveRow) bool { return f.Source == row.Source }) {
			continue
		}
		d, err := c.s.Store.FindBaseDocument(c.Ctx(), b, part, row.Source)
		if err != nil {
			return nil, nil, err
		}
		if d == nil || d.ChangedAt.Before(runs[i].CreatedAt) {
			row.Error = runs[i].Error.Message
			failed = append(failed, row)
		}
	}
	return list, failed, nil
}

// activeRow converts a run that indexes a document. It returns false for one that embeds a query.
func (c *call) activeRow(b *knowledge.Base, run *flow.Run) (row view.ActiveRow, part string, is bool) {
	if run.Inputs == nil || run.Inputs.Get(knowledge.IndexSpec) == nil {
		return row, "", false
	}
	spec, _ := flow.AsMap(run.Inputs.Get(knowledge.IndexSpec))
	row = view.ActiveRow{RunID: string(run.ID), State: string(run.State), At: run.CreatedAt}
	row.Source, _ = spec["source"].(string)
	row.Name, _ = spec["title"].(string)
	part, _ = spec["part"].(string)
	if row.Source == "" {
		file, _ := flow.AsMap(run.Inputs.Get(knowledge.IndexFile))
		id, _ := file["file"].(string)
		if f, err := c.s.Store.FindFile(c.Ctx(), b.WorkspaceID, id); err == nil {
			row.Source = f.Name
		}
	}
	row.Source = cmp.Or(row.Source, "Document")
	row.Name = cmp.Or(row.Name, row.Source)
	return row, part, true
}

// showBase is GET base: its page or, for the script, the part with the documents.
func showBase(c *call, b *knowledge.Base) error {
	page, err := c.basePage(b)
	if err != nil {
		return err
	}
	if c.QueryParam("fragment") == "documents" {
		return c.Render(http.StatusOK, view.Update(*page))
	}
	users, err := c.s.knowledge.UsingFlows(c.Ctx(), b)
	if err != nil {
		return err
	}
	for i := range users[:min(len(users), shownFlows)] {
		page.Flows = append(page.Flows, view.FlowLink{ID: string(users[i].ID), Name: users[i].Name})
	}
	if page.Search.Query != "" {
		if err := c.search(b, &page.Search); err != nil {
			return err
		}
	}
	return c.Render(http.StatusOK, view.Base(c.Page(b.Name, layout.SectionKnowledge), *page))
}

// basePage fills in the page of a base, without a search.
func (c *call) basePage(b *knowledge.Base) (*view.BasePage, error) {
	page := &view.BasePage{
		BaseRow:     view.BaseRow{Slug: b.Slug, Name: b.Name, Model: b.Settings.Model, Documents: b.Documents, Passages: b.Passages, Bytes: b.Bytes, ChangedAt: b.ChangedAt},
		Description: b.Settings.Description, Parts: b.Settings.Parts == knowledge.PartsRequired, Exposed: b.Settings.Expose, ExposePart: b.Settings.ExposePart, MayEdit: c.MayEdit(), Now: c.s.Now(),
		State: c.QueryParam("state"), Filter: strings.TrimSpace(c.QueryParam("find")),
		Search: view.Search{Query: strings.TrimSpace(c.QueryParam("q")), Mode: c.QueryParam("mode"), Part: c.QueryParam("part"), Where: strings.TrimSpace(c.QueryParam("where")), Expect: strings.TrimSpace(c.QueryParam("expect"))},
	}
	if s := &page.Search; s.Mode != knowledge.ModeWords && s.Mode != knowledge.ModeMeaning {
		s.Mode = knowledge.ModeBoth
	}
	if page.State != knowledge.Ready && page.State != knowledge.Failed {
		page.State = ""
	}
	states, err := c.s.Store.CountBaseDocuments(c.Ctx(), b)
	if err != nil {
		return nil, err
	}
	for _, t := range []struct{ label, state string }{{"All", ""}, {"Ready", knowledge.Ready}, {"Failed", knowledge.Failed}} {
		n := states[t.state]
		if t.state == "" {
			n = states[knowledge.Ready] + states[knowledge.Failed]
		}
		page.States = append(page.States, components.Tab{Label: t.label, Href: listPath(b, t.state, page.Filter), Count: components.Count(int(n)), Current: t.state == page.State})
	}
	active, failed, err := c.active(b)
	if err != nil {
		return nil, err
	}
	if page.Live = len(active) > 0; page.State != knowledge.Ready && page.Filter == "" {
		page.Active = failed
	}
	if page.State == "" && page.Filter == "" {
		page.Active = append(active, failed...)
	}
	if err := c.fillParts(b, &page.Search); err != nil {
		return nil, err
	}
	return page, c.fillDocuments(b, page)
}

// listPath returns the path of the documents in a state.
func listPath(b *knowledge.Base, state, find string) string {
	q := url.Values{}
	if state != "" {
		q.Set("state", state)
	}
	if find != "" {
		q.Set("find", find)
	}
	if len(q) == 0 {
		return view.Path(b.Slug)
	}
	return view.Path(b.Slug) + "?" + q.Encode()
}

// fillParts offers the parts of the documents. A part in the URL begins with =, so that all parts and no part differ.
func (c *call) fillParts(b *knowledge.Base, s *view.Search) error {
	parts, err := c.s.Store.ListBaseParts(c.Ctx(), b, shownParts)
	if err != nil || len(parts) == 0 || len(parts) == 1 && parts[0] == "" {
		return err
	}
	s.Parts = []components.Option{{Value: "", Label: "All parts"}}
	for _, p := range parts {
		o := components.Option{Value: "=" + p, Label: p}
		if p == "" {
			o.Label = "Without a part"
		}
		s.Parts = append(s.Parts, o)
	}
	return nil
}

// fillDocuments fills in a page of documents. The cursor has the time of the last change and the ID.
func (c *call) fillDocuments(b *knowledge.Base, page *view.BasePage) error {
	f := knowledge.NewestFilter{State: page.State, Text: page.Filter, Limit: pageDocuments + 1}
	if at, id, ok := strings.Cut(c.QueryParam("after"), "."); ok && flow.ValidID(knowledge.PrefixDocument, id) {
		if micros, err := strconv.ParseInt(at, 10, 64); err == nil && micros > 0 {
			f.ChangedAt, f.Before = time.UnixMicro(micros), id
		}
	}
	list, err := c.s.Store.ListNewestDocuments(c.Ctx(), b, f)
	if err != nil {
		return err
	}
	page.Pages = components.Pages{Path: view.Path(b.Slug), Query: url.Values{}}
	if page.State != "" {
		page.Pages.Query.Set("state", page.State)
	}
	if page.Filter != "" {
		page.Pages.Query.Set("find", page.Filter)
	}
	if len(list) > pageDocuments {
		list = list[:pageDocuments]
		last := &list[pageDocuments-1]
		page.Pages.After = strconv.FormatInt(last.ChangedAt.UnixMicro(), 10) + "." + last.ID
	}
	for i := range list {
		page.Documents = append(page.Documents, documentRow(&list[i]))
	}
	return nil
}

func documentRow(d *knowledge.Document) view.DocumentRow {
	return view.DocumentRow{
		ID: d.ID, Title: cmp.Or(d.Title, d.Source), Source: d.Source, Part: d.Part, State: d.State, Error: d.Error, RunID: string(d.RunID), Passages: d.Passages, ChangedAt: d.ChangedAt,
		MayRetry: d.State == knowledge.Failed && d.RunID != "",
	}
}

// addDocuments is POST documents: files, or a URL.
func addDocuments(c *call, b *knowledge.Base) error {
	var files []string
	values, err := c.ReadForm(maxUploadedText, func(field string, part *multipart.Part) error {
		if field != "file" {
			return nil
		}
		f, err := c.SavePart(b.WorkspaceID, part, c.s.MaxFile)
		if err == nil {
			files = append(files, f.ID)
		}
		return err
	})
	if err == nil {
		err = c.addAll(b, files, strings.TrimSpace(values.Get("url")), strings.TrimSpace(values.Get("part")))
	}
	if err == nil {
		return c.Redirect(view.Path(b.Slug))
	}
	e, ok := errors.AsType[*flow.Error](err)
	if !ok || web.StatusOf(e.Code) >= 500 {
		return err
	}
	page, err := c.basePage(b)
	if err != nil {
		return err
	}
	page.Problem, page.URL, page.Part = e.Message, values.Get("url"), values.Get("part")
	if c.IsFragment() {
		return c.Render(http.StatusUnprocessableEntity, view.AddForm(*page))
	}
	return c.Render(http.StatusUnprocessableEntity, view.Base(c.Page(b.Name, layout.SectionKnowledge), *page))
}

// addAll starts the runs that index files and a URL.
func (c *call) addAll(b *knowledge.Base, files []string, address, part string) error {
	if len(files) == 0 && address == "" {
		return flow.Errorf(flow.CodeInputInvalid, "Choose a file, or paste a URL.")
	}
	add := func(a *knowledge.Addition) error {
		a.Part = part
		_, err := c.s.knowledge.Add(c.Ctx(), c.Actor(), nil, c.Member.UserID, b, a)
		return err
	}
	for _, id := range files {
		if err := add(&knowledge.Addition{File: id}); err != nil {
			return err
		}
	}
	if address == "" {
		return nil
	}
	if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return flow.Errorf(flow.CodeInputInvalid, "The URL must begin with https:// or http://.")
	}
	return add(&knowledge.Addition{URL: address})
}

// retryDocument is POST retry: it runs the run again that failed.
func retryDocument(c *call, b *knowledge.Base, d *knowledge.Document) error {
	start := flow.Start{WorkspaceID: b.WorkspaceID, FlowID: b.FlowID, UserID: c.Member.UserID, Trigger: flow.TriggerRerun}
	_, err := c.s.Runner.Rerun(c.Ctx(), flow.Rerun{Start: start, ParentRunID: d.RunID})
	if e, ok := errors.AsType[*flow.Error](err); ok && web.StatusOf(e.Code) < 500 {
		c.Toast(components.ToneBad, e.Message)
		err = nil
	}
	if err != nil {
		return err
	}
	return c.Redirect(view.Path(b.Slug))
}

// deleteDocument is POST delete.
func deleteDocument(c *call, b *knowledge.Base, d *knowledge.Document) error {
	if _, err := c.s.knowledge.Remove(c.Ctx(), c.Actor(), b, d.Part, d.Source); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "“"+cmp.Or(d.Title, d.Source)+"” was deleted.")
	return c.Redirect(view.Path(b.Slug))
}

// showDocument is GET document: its passages.
func showDocument(c *call, b *knowledge.Base, d *knowledge.Document) error {
	from, _ := strconv.Atoi(c.QueryParam("after"))
	from = min(max(from, 0), int(d.Passages))
	list, err := c.s.Store.ListBasePassages(c.Ctx(), d, from, pagePassages)
	if err != nil {
		return err
	}
	page := view.DocumentPage{
		Base: b.Name, Slug: b.Slug, DocumentRow: documentRow(d), Link: webLink(d.Link), Format: d.Format, Bytes: d.Bytes, Total: d.Passages, MayEdit: c.MayEdit(), Now: c.s.Now(),
		Pages: components.Pages{Path: view.DocumentPath(b.Slug, d.ID), Next: "Next"}, Metadata: cells(d.Metadata),
	}
	if from+len(list) < int(d.Passages) {
		page.Pages.After = strconv.Itoa(from + len(list))
	}
	for i := range list {
		p := &list[i]
		page.Passages = append(page.Passages, view.PassageRow{Number: from + i + 1, Headings: strings.Join(p.Headings, " › "), Text: p.Text, Page: p.Page, Link: pageLink(d.Link, p.Page), Cells: cells(p.Cells)})
	}
	quotes, total, err := c.s.Store.ListQuotes(c.Ctx(), b, d.ID, pageQuotes)
	if err != nil {
		return err
	}
	page.QuotesTotal = int(total)
	for _, q := range quotes {
		page.Quotes = append(page.Quotes, view.QuoteRow{RunID: string(q.RunID), At: q.CreatedAt})
	}
	return c.Render(http.StatusOK, view.Document(c.Page(page.Title, layout.SectionKnowledge), page))
}

// cells shows the members of an object.
func cells(o *flow.Object) (list [][2]string) {
	if o == nil {
		return nil
	}
	for name, v := range o.All() {
		list = append(list, [2]string{name, flow.Text(v)})
	}
	return list
}

// webLink returns a link that a browser may open, or "".
func webLink(link string) string {
	if u, err := url.Parse(link); err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return link
}

// pageLink returns the link to a page of a document, or "".
func pageLink(link string, page int) string {
	link = webLink(link)
	if link == "" || page == 0 || strings.Contains(link, "#") {
		return link
	}
	return link + "#page=" + strconv.Itoa(page)
}
