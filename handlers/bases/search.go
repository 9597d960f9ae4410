package bases

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/knowledge"
	"sluice/flow/wording"
	"sluice/handlers/web"
	view "sluice/views/bases"
	"sluice/views/components"
)

// search tries a search.
func (c *call) search(b *knowledge.Base, s *view.Search) error {
	part, onePart := strings.CutPrefix(s.Part, "=")
	q := &knowledge.Query{Text: s.Query, Mode: s.Mode, Part: part, AllParts: !onePart, WhereKey: s.Where, Top: shownHits, PerDoc: 3}
	if c.QueryParam("top") != "" {
		q.Top = moreHits
	}
	began := c.s.Now()
	found, err := c.s.knowledge.Search(c.Ctx(), nil, c.Member.UserID, b, q)
	if e, ok := errors.AsType[*flow.Error](err); ok && web.StatusOf(e.Code) < 500 {
		s.Error = e.Message
		return nil
	}
	if err != nil {
		return err
	}
	s.Done, s.Searched, s.Took = true, found.Searched, c.s.Now().Sub(began)
	for i := range found.Hits {
		s.Hits = append(s.Hits, hitRow(b, &found.Hits[i], q))
	}
	if len(s.Hits) == shownHits && q.Top == shownHits {
		s.More = view.Path(b.Slug) + "?" + searchQuery(s, "top", strconv.Itoa(moreHits))
	}
	if s.Expect == "" {
		return nil
	}
	documents, err := c.s.Store.ListNewestDocuments(c.Ctx(), b, knowledge.NewestFilter{Text: s.Expect, Limit: shownExpected})
	if err != nil || len(documents) == 0 {
		return err
	}
	explained, err := knowledge.Explain(c.Ctx(), c.s.Store, b, q, documents)
	if err != nil {
		return err
	}
	for i := range explained {
		s.Expected = append(s.Expected, explain(b, s, &explained[i]))
	}
	return nil
}

// searchQuery returns the query of the URL of a search with one parameter more.
func searchQuery(s *view.Search, name, value string) string {
	q := url.Values{"q": {s.Query}, "mode": {s.Mode}}
	for n, v := range map[string]string{"part": s.Part, "where": s.Where, "expect": s.Expect} {
		if v != "" {
			q.Set(n, v)
		}
	}
	q.Set(name, value)
	if value == "" {
		q.Del(name)
	}
	return q.Encode()
}

func hitRow(b *knowledge.Base, h *knowledge.Hit, q *knowledge.Query) components.Hit {
	row := components.Hit{
		Title: cmp.Or(h.Document.Title, h.Document.Source), Headings: strings.Join(h.Headings, " › "), Part: h.Document.Part, RankWords: h.RankWords, RankMeaning: h.RankMeaning, Page: h.Page,
		Path: view.DocumentPath(b.Slug, h.Document.ID) + "?after=" + strconv.FormatInt(h.Passage.Number-h.Document.First, 10), Link: pageLink(h.Document.Link, h.Page),
	}
	if h.RankMeaning > 0 {
		row.Meaning = similarity(h.Meaning)
	}
	for _, s := range knowledge.Excerpt(h.Text, q.Text, excerptSize) {
		row.Text = append(row.Text, components.Span{Text: s.Text, Marked: s.Match})
	}
	return row
}

// similarity shows a similarity with two digits.
func similarity(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }

// explain says in words why a document is not found, or where it is.
func explain(b *knowledge.Base, s *view.Search, e *knowledge.Explanation) view.ExpectedRow {
	d := &e.Document
	row := view.ExpectedRow{Title: cmp.Or(d.Title, d.Source), Icon: "skip-forward"}
	if d.State == knowledge.Failed {
		row.Icon, row.Bad, row.Action = "x", true, "Open run"
		row.Path = components.RunPath(string(d.RunID))
	}
	settings := func() { row.Action, row.Path = "Settings", view.Path(b.Slug)+"/settings" }
	switch e.Reason {
	case knowledge.ExplainUnread:
		row.Text = "Not indexed: " + wording.Sentence(d.Error)
	case knowledge.ExplainFound:
		row.Text, row.Icon, row.Bad = fmt.Sprintf("Found: rank %d", e.Rank), "check", false
		if d.State == knowledge.Failed {
			row.Text += ", with its earlier version."
		}
	case knowledge.ExplainPart:
		row.Text = "It belongs to another part: " + cmp.Or(d.Part, "none")
		row.Action, row.Path = "Search all parts", view.Path(b.Slug)+"?"+searchQuery(s, "part", "")
	case knowledge.ExplainFiltered:
		row.Text = "Filtered out"
		row.Action, row.Path = "Drop filter", view.Path(b.Slug)+"?"+searchQuery(s, "where", "")
	case knowledge.ExplainPhrase:
		row.Text = "The quoted phrase does not occur"
	case knowledge.ExplainBelow:
		row.Text = fmt.Sprintf("No word in common, and meaning is %s (minimum %s)", similarity(e.Meaning), similarity(e.Minimum))
		settings()
	case knowledge.ExplainNothing:
		row.Text = "No word in common"
		if b.Settings.Model == "" && s.Mode != knowledge.ModeWords {
			row.Text += ", and the built-in model understands English only"
		}
		if s.Mode == knowledge.ModeMeaning {
			row.Text = "It has no meaning to compare: the built-in model understands English only"
		}
	case knowledge.ExplainNotRanked:
		row.Text = "Other passages are better"
		if e.Rank > 0 {
			row.Text = fmt.Sprintf("Rank %d: other passages are better", e.Rank)
		}
	}
	return row
}
