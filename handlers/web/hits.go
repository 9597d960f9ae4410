package web

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/knowledge"
	"sluice/views/components"
)

const (
	searchKind  = "knowledge_search"
	shownHits   = 20  // passages of a search that a page shows; all are in its value
	excerptSize = 320 // bytes of one
)

// Searches reports whether a document searches knowledge bases, so that pages need the stylesheet for passages.
func Searches(d *flow.Document) bool {
	return slices.ContainsFunc(d.Nodes, func(n flow.Node) bool { return n.Kind == searchKind })
}

// hits returns the passages that a step found. They lead to the document if the step searched one base.
func hits(step *flow.Step, found any) (rows []components.Hit) {
	list, _ := found.([]any)
	query := searchQuery(step.Input["query"])
	bases := knowledge.References(flow.Text(step.Input["knowledge"]))
	for _, v := range list[:min(len(list), shownHits)] {
		m, _ := flow.AsMap(v)
		text := func(name string) string {
			s, _ := m[name].(string)
			return s
		}
		number := func(name string) int {
			f, _ := flow.Float(m[name])
			return int(f)
		}
		row := components.Hit{Title: cmp.Or(text("title"), text("source")), RankWords: number("rank_words"), RankMeaning: number("rank_meaning"), Page: number("page")}
		headings, _ := m["headings"].([]any)
		for _, h := range headings {
			row.Headings = strings.TrimPrefix(row.Headings+" › "+flow.Text(h), " › ")
		}
		if f, ok := flow.Float(m["meaning"]); ok {
			row.Meaning = strconv.FormatFloat(f, 'f', 2, 64)
		}
		if u, err := url.Parse(text("link")); err == nil && (u.Scheme == "https" || u.Scheme == "http") {
			row.Link = text("link")
		}
		if id := text("document"); len(bases) == 1 && flow.ValidID(knowledge.PrefixDocument, id) {
			row.Path = "/knowledge/" + url.PathEscape(bases[0]) + "/documents/" + id + "?after=" + strconv.Itoa(max(number("passage")-1, 0))
		}
		for _, s := range knowledge.Excerpt(text("text"), query, excerptSize) {
			row.Text = append(row.Text, components.Span{Text: s.Text, Marked: s.Match})
		}
		rows = append(rows, row)
	}
	return rows
}

// searchQuery returns the text that a step searched for: a text, or the last user message of a conversation.
func searchQuery(v any) string {
	list, isList := v.([]any)
	if !isList {
		return flow.Text(v)
	}
	for _, item := range slices.Backward(list) {
		if m, _ := flow.AsMap(item); m["role"] == flow.RoleUser {
			return flow.MessageText(item)
		}
	}
	return ""
}
