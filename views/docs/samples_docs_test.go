package docs

import (
	"sluice/docs"
	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func docsSamples(theme layout.Theme) map[string]templ.Component {
	in := viewtest.Page("Webhooks · Docs", layout.SectionDocs, theme)
	out := layout.Page{Title: "Documentation", Section: layout.SectionDocs, Theme: theme}
	d := sampleDocs()
	home, found, none := d, d, d
	home.Page, home.Before, home.After = &docs.Page{Name: docs.Home, Title: "Documentation", Lede: wording("How to use Sluice.")}, nil, nil
	found.Page, found.Query = nil, "signature"
	found.Hits = []docs.Hit{
		{Page: d.Page, Path: "/docs/webhooks", Excerpt: []docs.Mark{{Text: "Check the "}, {Text: "signature", Found: true}, {Text: " first …"}}},
		{Page: d.Page, Title: []docs.Mark{{Text: "Verify the "}, {Text: "signature", Found: true}}, Path: "/docs/webhooks#verify", Excerpt: []docs.Mark{{Text: "It is <base64>."}}},
	}
	none.Page, none.Query = nil, "xyzzy"
	return map[string]templ.Component{
		"docs": Docs(in, d), "docs-home": Docs(out, home), "docs-search": DocsSearch(in, found), "docs-none": DocsSearch(out, none),
		"docs-found": DocsFound(found), "docs-found-none": DocsFound(none), "docs-link": components.DocsLink("webhooks#retries"),
	}
}

func wording(text string) []docs.Span { return []docs.Span{{Type: docs.Plain, Text: text}} }

// sampleDocs has a block of each kind.
func sampleDocs() DocsPage {
	keys, hooks, errors := &docs.Page{Name: "keys", Title: "Keys"}, &docs.Page{Name: "webhooks", Title: "Webhooks"}, &docs.Page{Name: "errors", Title: "Errors"}
	mixed := []docs.Span{
		{Type: docs.Plain, Text: "Send "}, {Type: docs.Mono, Text: "a < b"}, {Type: docs.Plain, Text: ", "}, {Type: docs.Strong, Spans: wording("always")}, {Type: docs.Plain, Text: " "},
		{Type: docs.Emphasis, Spans: wording("signed")}, {Type: docs.Plain, Text: "; see "}, {Type: docs.Link, Href: "/docs/keys#roll", Spans: wording("keys")}, {Type: docs.Plain, Text: "."},
	}
	hooks.Lede = wording("Be called when there is something to know.")
	hooks.Blocks = []docs.Block{
		{Type: docs.Heading, Level: 2, ID: "verify", Spans: wording("Verify the signature")},
		{Type: docs.Paragraph, Spans: mixed},
		{Type: docs.Endpoint, Spans: wording("POST /v1/deliveries/{delivery_id}/redeliver"), Method: "POST", Address: "/v1/deliveries/{delivery_id}/redeliver"},
		{Type: docs.Codes, Blocks: []docs.Block{
			{Type: docs.Code, Language: "python", Code: "# first\nx = 1", Tokens: []docs.Token{{Class: "c", Text: "# first"}, {Text: "\nx = "}, {Class: "m", Text: "1"}}},
			{Type: docs.Code, Language: "go", Code: "x := 1"},
		}},
		{Type: docs.Heading, Level: 3, ID: "retries", Spans: []docs.Span{{Type: docs.Mono, Text: "retries"}}},
		{Type: docs.List, Items: [][]docs.Block{{{Type: docs.Paragraph, Spans: wording("one")}}, {{Type: docs.Paragraph, Spans: wording("two")}, {Type: docs.Code, Language: "sh", Code: "ls"}}}},
		{Type: docs.List, Ordered: true, Items: [][]docs.Block{{{Type: docs.Paragraph, Spans: wording("first")}}}},
		{Type: docs.Table, Head: []docs.Cell{wording("Attempt"), wording("After")}, Rows: [][]docs.Cell{{wording("1"), mixed}, {wording("2"), nil}}},
		{Type: docs.Note, Tone: "warning", Blocks: []docs.Block{{Type: docs.Paragraph, Spans: wording("Keep the secret.")}}},
		{Type: docs.Picture, Source: "/docs/images/steps/run.png", Alt: "The canvas after a \"run\".", Width: 1200, Height: 720},
		{Type: docs.Heading, Level: 4, ID: "more", Spans: wording("More")},
		{Type: docs.Heading, Level: 2, ID: "redeliver", Spans: wording("Redeliver")},
	}
	return DocsPage{
		Sections: []docs.Section{{Title: "Call", Pages: []*docs.Page{keys, hooks, errors}}},
		Page:     hooks, Before: keys, After: errors,
	}
}
