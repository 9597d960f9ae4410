package nodes

import (
	"context"

	"sluice/documents"
	"sluice/flow"
)

// maxPage is the maximum size of a page in bytes.
const maxPage = 10 << 20

// The web_page kind extracts the main text of a page. Package documents
// parses the HTML.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "web_page", Title: "Web page", Group: groupSources, Icon: "newspaper", Class: flow.Outside, Reads: true,
		Summary: "Reads the main text of a web page.",
		Doc: "Fetches a page and extracts its main content: the article without menus, advertisements and footers, as Markdown with " +
			"headings, lists, tables and whole links. With `content` set to full it outputs the whole page. Scripts are not run: of a page that " +
			"scripts build in the browser, only the HTML from the server is read. A page without text of its own fails and says why: an empty response, a page that " +
			"only scripts fill, pictures, frames, or a meta refresh to another page.\n\n" +
			"Up to three redirects are followed; private and reserved addresses are refused. A page can be up to 10 MiB. Plain text and Markdown " +
			"are output unchanged; for a PDF use `document`.",
		Fields: []flow.Field{
			{Name: "url", Title: "URL", Type: flow.FieldText, Required: true, Template: true, Escape: flow.EscapeURL, Secrets: flow.SecretsInURL,
				Help: "The page to read. Type {{ to insert a value."},
			{Name: "content", Title: "Content", Type: flow.FieldSelect, Typed: true, More: true, Default: "main", Options: []string{"main", "full"},
				Help: "What to read: main is the article, full is everything on the page."},
			encodingField,
		},
		Outputs: []flow.Port{
			{Name: "text", Title: "Text", Type: flow.TypeText, Help: "The text as Markdown."},
			{Name: "title", Title: "Title", Type: flow.TypeText, Help: "The title of the page; empty if it has none."},
			{Name: "url", Title: "URL", Type: flow.TypeText, Help: "The final URL, after redirects."},
			{Name: "meta", Title: "Meta", Type: flow.TypeJSON, Schema: map[string]any{"type": "object", "additionalProperties": textSchema}, Help: "Metadata of the page: byline, site, language, excerpt and published, each only if it is known."},
			{Name: "warnings", Title: "Warnings", Type: flow.TypeList, Items: flow.TypeText, Help: "What may be wrong with the text, such as a guessed encoding; usually empty."},
			{Name: "encoding", Title: "Encoding", Type: flow.TypeText, Help: "The encoding of the page, such as utf-8 or gb18030."},
		},
		Example:   flow.Example{Config: map[string]any{"url": "https://example.com/help/{{topic}}"}, Ports: map[string]any{"topic": "delivery"}},
		Sends:     &flow.Destination{Field: "url", Hosts: flow.URLHost("url")},
		Check:     func(n *flow.Node) []flow.Problem { return append(checkEncoding(n), checkURL(n, "url")...) },
		Untrusted: fromOutside,
		Tool:      &flow.ToolUse{Cites: true, Result: []string{"text", "title", "url"}},
		Run:       func(ctx context.Context, in *flow.In) (flow.Out, error) { return readWebPage(ctx, d, in) },
	}
})

// readWebPage fetches a page and reads its text in a child process. It prefers HTML, but
// also accepts Markdown and plain text, which some sites offer.
func readWebPage(ctx context.Context, d Deps, in *flow.In) (flow.Out, error) {
	u, _, err := targetURL(ctx, in, "url", func(string) {})
	if err != nil {
		return flow.Out{}, err
	}
	s, err := fetch(ctx, d.HTTP, u.String(), maxPage, "text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9")
	if err != nil {
		return flow.Out{}, err
	}
	defer s.close()
	req := documents.Request{WebPage: true, MIME: s.mime, URL: s.url, Full: in.Text("content") == "full", Encoding: in.Text("encoding")}
	page, err := d.Documents.Read(ctx, string(in.WorkspaceID), req, s.body, nil)
	if err != nil {
		return flow.Out{}, documentError(err)
	}
	return flow.Out{Outputs: map[string]any{
		"text": page.Text, "title": page.Title, "url": s.url, "meta": metaValue(page.Meta), "warnings": textsValue(page.Warnings), "encoding": page.Encoding,
	}}, nil
}

// metaValue returns an object even if the page has no metadata, so that
// expressions can access its members.
func metaValue(meta map[string]any) map[string]any {
	if meta == nil {
		return map[string]any{}
	}
	return meta
}
