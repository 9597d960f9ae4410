package bases

import (
	"strings"
	"testing"
	"time"

	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

var samples = viewtest.Merge(baseSamples)

func TestMain(m *testing.M) { viewtest.Main(m, samples) }

func TestGolden(t *testing.T) { viewtest.Golden(t, samples) }

func TestMarkup(t *testing.T) { viewtest.Markup(t, samples) }

func TestTemplates(t *testing.T) {
	t.Parallel()
	viewtest.Templates(t)
}

func ago(d time.Duration) time.Time { return viewtest.Noon.Add(-d) }

func sampleBase() BasePage {
	b := BasePage{
		BaseRow:     BaseRow{Slug: "help-center", Name: "Help center", Documents: 214, Passages: 6480, Bytes: 48 << 20, ChangedAt: ago(2 * time.Minute)},
		Description: "What customers ask about orders, refunds and shipping.", MayEdit: true, Now: viewtest.Noon,
		States: []components.Tab{{Label: "All", Href: "/knowledge/help-center", Count: "214", Current: true}, {Label: "Ready", Href: "/knowledge/help-center?state=ready", Count: "213"}, {Label: "Failed", Href: "/knowledge/help-center?state=failed", Count: "1"}},
		Active: []ActiveRow{{Name: "Carrier handbook", Source: "shipping/carriers.docx", RunID: "run_1", State: "running", At: ago(time.Minute)}, {Name: "policies/warranty.md", Source: "policies/warranty.md", RunID: "run_2", State: "queued", At: ago(time.Minute)}, {Name: "https://example.com/none.pdf", Source: "https://example.com/none.pdf", RunID: "run_6", State: "failed", Error: "The server answered 404.", At: ago(time.Hour)}}, Live: true,
		Documents: []DocumentRow{
			{ID: "doc_1", Title: "Refund policy 2026", Source: "refund-policy.pdf", State: "failed", Error: "Page 14 can’t be read.", RunID: "run_3", Passages: 41, ChangedAt: ago(2 * time.Minute), MayRetry: true},
			{ID: "doc_2", Title: "Refunds and returns", Source: "help.northwind.com/refunds", State: "ready", RunID: "run_4", Passages: 36, ChangedAt: ago(4 * time.Minute)},
			{ID: "doc_3", Title: "Payment methods", Source: "help.northwind.com/payments", State: "ready", RunID: "run_5", Passages: 22, ChangedAt: ago(30 * 24 * time.Hour)},
			{ID: "doc_4", Title: "Returns in the EU", Source: "policies/returns-eu.docx", Part: "eu", State: "ready", Passages: 27, ChangedAt: ago(40 * 24 * time.Hour)},
		},
		Pages: components.Pages{Path: "/knowledge/help-center", After: "1.doc_4"},
	}
	b.Search = Search{Mode: "both", Parts: []components.Option{{Value: "", Label: "All parts"}, {Value: "=", Label: "Without a part"}, {Value: "=eu", Label: "eu"}}}
	return b
}

// sampleSearch is a search with hits and explanations.
func sampleSearch(s Search) Search {
	s.Query, s.Where, s.Done, s.Searched, s.Took, s.More, s.Expect = "how long does a refund take", `metadata.lang == "en"`, true, 6480, 9*time.Millisecond, "/knowledge/help-center?q=refund&top=20", "re"
	s.Hits = []components.Hit{
		{Title: "Refunds and returns", Headings: "When you get your money", Text: []components.Span{{Text: "A "}, {Text: "refund", Marked: true}, {Text: " "}, {Text: "takes", Marked: true}, {Text: " up to five working days after we receive the parcel. Card payments can "}, {Text: "take", Marked: true}, {Text: " three days more."}}, RankWords: 1, RankMeaning: 2, Meaning: "0.71", Path: "/knowledge/help-center/documents/doc_2"},
		{Title: "Refund policy", Headings: "Deadlines", Part: "eu", Text: []components.Span{{Text: "You will see the credit no later than 14 days from the day you told us."}}, RankMeaning: 1, Meaning: "0.74", Page: 3, Link: "https://example.com/policy.pdf#page=3", Path: "/knowledge/help-center/documents/doc_1"},
	}
	s.Expected = []ExpectedRow{
		{Title: "Refund policy 2026", Text: "Not indexed: Page 14 can’t be read.", Icon: "x", Bad: true, Action: "Open run", Path: "/runs/run_3"},
		{Title: "Returns in the EU", Text: "Filtered out", Icon: "skip-forward", Action: "Drop filter", Path: "/knowledge/help-center?q=refund"},
		{Title: "Gift cards", Text: "No word in common, and meaning is 0.21 (minimum 0.35)", Icon: "skip-forward", Action: "Settings", Path: "/knowledge/help-center/settings"},
	}
	return s
}

func baseSamples(theme layout.Theme) map[string]templ.Component {
	p := viewtest.Page("Help center", layout.SectionKnowledge, theme)
	base := sampleBase()
	searched := base
	searched.Search = sampleSearch(base.Search)
	searched.Exposed, searched.ExposePart = true, "eu"
	searched.Flows = []FlowLink{{"flow_1", "Support"}, {"flow_2", "Answer from our documents"}}
	viewer := base
	viewer.MayEdit, viewer.Active, viewer.Live = false, nil, false
	refused := base
	refused.Problem, refused.URL, refused.Parts, refused.Part = "The URL must begin with https:// or http://.", "ftp://example.com/x", true, "eu"
	empty := BasePage{BaseRow: BaseRow{Slug: "new-base", Name: "New base", Model: "openai/text-embedding-3-small", ChangedAt: viewtest.Noon}, MayEdit: true, Now: viewtest.Noon, States: base.States[:1], Search: Search{Mode: "words", Query: "x", Done: true, Error: ""}}
	list := ListPage{MayEdit: true, Now: viewtest.Noon, Bases: []BaseRow{
		{Slug: "help-center", Name: "Help center", Documents: 214, Passages: 6480, Bytes: 48 << 20, Bad: 1, Active: 2, ChangedAt: ago(2 * time.Minute)},
		{Slug: "prices", Name: "Price list", Model: "openai/text-embedding-3-small", Documents: 3, Passages: 1200, Bytes: 3 << 20, ChangedAt: ago(26 * time.Hour)},
	}}
	fields := []components.Field{{Name: "name", Label: "Name", Value: "Help center"}, {Name: "slug", Label: "Slug", Optional: true, Mono: true, Value: "Help", Error: "Wanted 1 to 64 lower-case letters, digits and hyphens."}, {Name: "parts", Type: "checkbox", Label: "Every document belongs to a part, such as a customer", Help: "Searches then must name one, and find only its documents."}, {Name: "model", Label: "Model", Optional: true, Help: "For searches by meaning."}}
	document := DocumentPage{
		Base: "Help center", Slug: "help-center", DocumentRow: base.Documents[0], Link: "https://example.com/policy.pdf", Bytes: 83_000, Total: 41, MayEdit: true, Now: viewtest.Noon,
		Metadata: [][2]string{{"lang", "en"}, {"year", "2026"}}, Pages: components.Pages{Path: "/knowledge/help-center/documents/doc_1", After: "2", Next: "Next"},
		Passages: []PassageRow{{Number: 1, Headings: "Refund policy › Deadlines", Text: strings.Repeat("You will see the credit no later than 14 days from the day you told us. ", 6), Page: 3, Link: "https://example.com/policy.pdf#page=3"}, {Number: 2, Page: 4, Text: "Second\n\npassage"}, {Number: 3, Headings: "Prices", Cells: [][2]string{{"Article", "Mug"}, {"Price", "12"}}}},
		Quotes:   []QuoteRow{{RunID: "run_01k2v5q8xw", At: viewtest.Noon.Add(-time.Hour)}, {RunID: "run_01k2v5q8xv", At: viewtest.Noon.Add(-26 * time.Hour)}}, QuotesTotal: 1204,
	}
	return map[string]templ.Component{
		"list": List(p, list), "list-none": List(p, ListPage{MayEdit: true, Now: viewtest.Noon}), "base": Base(p, base), "base-search": Base(p, searched), "base-viewer": Base(p, viewer), "base-refused": Base(p, refused), "base-empty": Base(p, empty),
		"update": Update(base), "new": Form(p, FormPage{Fresh: true, Fields: fields, Errors: components.Errors{}}),
		"settings":         Form(p, FormPage{Slug: "help-center", Name: "Help center", Fields: fields[2:], Errors: components.Errors{"": "The settings have a problem.", "sure": "Confirm that all documents are deleted."}, Documents: 214, UsedBy: []string{"Support", "Triage"}, MayForce: true}),
		"settings-rebuild": Form(p, FormPage{Slug: "help-center", Name: "Help center", Fields: fields[2:], Documents: 214, Rebuild: "openai/text-embedding-3-small 0", Cost: "Rebuilding costs $0.046 at most.", Estimate: "openai/text-embedding-3-small embeds 6,480 passages again: up to 2,300,000 tokens."}),
		"document":         Document(p, document),
	}
}
