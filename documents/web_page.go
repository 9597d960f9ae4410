package documents

import (
	"bytes"
	"mime"
	"net/url"
	"strings"
	"time"

	"codeberg.org/readeck/go-readability/v2"
	markdown "github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

// maxPageElements bounds the search for the main part; a larger page is
// returned whole.
const maxPageElements = 200_000

// readWebPage converts a web page to Markdown. Servers also respond with plain
// text or with files, which it handles or refuses. It runs in a child process,
// because it parses untrusted input.
func (r *reading) readWebPage() (*Document, error) {
	data := r.data
	mediaType, _, _ := mime.ParseMediaType(r.MIME)
	switch {
	case len(data) == 0:
		return nil, refuse("The page is empty: the server sent no content, as with status 204.")
	case bytes.HasPrefix(data, []byte("%PDF-")) || mediaType == "application/pdf":
		return nil, refuse("The address leads to a PDF, not to a web page. Use a document node for it.")
	case !isText(data):
		return nil, refuse("The address leads to a file of another kind, not to a web page. Use a document or a file node for it.")
	case mediaType != "" && mediaType != "text/html" && mediaType != "application/xhtml+xml" && !looksLikeHTML(data[:min(len(data), 1024)]):
		out := r.readText("text")
		out.Pages, out.Meta = 0, map[string]any{}
		return out, nil
	}
	source := decodeText(data, r.MIME, "text/html", r.Encoding)
	doc, err := parseHTML(source.Text, false)
	if err != nil {
		return nil, refuse("%s", nestedHTML("page")+" Use an HTTP request node to get its HTML as text.")
	}
	out := &Document{Format: "html", Title: titleOf(doc), Meta: map[string]any{}}
	source.describe(out)
	at := baseOf(doc, r.URL)
	if err := checkPage(doc, at, r.URL, out); err != nil {
		return nil, err
	}
	article, found := findArticle(doc, at)
	if found {
		out.Meta = metaOf(article)
		if out.Title == "" || article.Title() != "" {
			out.Title = article.Title()
		}
	}
	if found && !r.Full && article.Node != nil {
		out.Text = markdownOf(article.Node, at)
	}
	if strings.TrimSpace(out.Text) == "" {
		out.Text = markdownOf(doc, at)
	}
	return out, nil
}

// readHTML converts a whole HTML document to Markdown.
func (r *reading) readHTML() (*Document, error) {
	source := decodeText(r.data, r.MIME, "text/html", r.Encoding)
	doc, err := parseHTML(source.Text, true)
	if err != nil {
		return nil, refuse("%s", nestedHTML("document")+" Save it as plain text or as a PDF.")
	}
	out := &Document{Format: "html", Pages: 1, Title: titleOf(doc)}
	source.describe(out)
	at := baseOf(doc, r.URL)
	if err := checkPage(doc, at, r.URL, out); err != nil {
		return nil, err
	}
	out.Text = markdownOf(doc, at)
	return out, nil
}

// nestedHTML returns why HTML could not be parsed. When it reads from memory,
// the parser fails only for this reason.
func nestedHTML(what string) string {
	return "The HTML of the " + what + " is nested too deeply: the limit is 512 elements inside one another."
}

// findArticle finds the main part of a page. If the library panics, which malformed pages can
// cause, no article is found.
//
// The library is a port of Readability, which is behind the reader view of
// Firefox: it scores elements by the text, commas and links in them and keeps the
// best subtree. It is a heuristic for articles; Request.Full turns it off.
func findArticle(doc *html.Node, at *url.URL) (article readability.Article, found bool) {
	defer func() {
		if recover() != nil {
			found = false // the caller uses the whole page
		}
	}()
	parser := readability.NewParser()
	parser.MaxElemsToParse = maxPageElements
	article, err := parser.ParseDocument(doc, at)
	return article, err == nil
}

// metaOf returns the metadata of a page.
func metaOf(a readability.Article) map[string]any {
	meta := map[string]any{}
	for name, value := range map[string]string{"byline": a.Byline(), "site": a.SiteName(), "language": a.Language()} {
		if value = strings.TrimSpace(value); value != "" {
			meta[name] = value
		}
	}
	if a.Node != nil && a.Excerpt() != "" {
		meta["excerpt"] = a.Excerpt()
	}
	if at, err := a.PublishedTime(); err == nil {
		meta["published"] = at.UTC().Format(time.RFC3339)
	}
	return meta
}

// titleOf returns the text of the first title element with white space collapsed, or
// "".
func titleOf(doc *html.Node) string {
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "title" && n.FirstChild != nil {
			return strings.Join(strings.Fields(n.FirstChild.Data), " ")
		}
	}
	return ""
}

// baseOf returns the URL that links are relative to, or nil for a document
// without a URL.
func baseOf(doc *html.Node, address string) *url.URL {
	at, err := url.Parse(address)
	if err != nil || address == "" {
		return nil
	}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "base" {
			if ref, err := url.Parse(attribute(n, "href")); err == nil {
				return at.ResolveReference(ref)
			}
		}
	}
	return at
}

// attribute returns the value of an element's attribute without surrounding white
// space, or "" if it is missing.
func attribute(n *html.Node, name string) string {
	value, _ := lookup(n, name)
	return strings.TrimSpace(value)
}

// markdownOf converts a node to Markdown with absolute links.
func markdownOf(n *html.Node, at *url.URL) string {
	for d := range n.Descendants() {
		for i, a := range d.Attr {
			if a.Key == "href" || a.Key == "src" {
				d.Attr[i].Val = absolute(a.Val, at)
			}
		}
	}
	c := markdown.NewConverter(markdown.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(table.WithHeaderPromotion(true), table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal)),
	))
	data, err := c.ConvertNode(n)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(data), "\uFFFD"))
}

// absolute resolves a link. Other schemes, such as javascript: and data:, are
// removed: the Markdown may be shown in a browser, where javascript: would run untrusted code,
// and data: would put a whole image into the text.
func absolute(link string, at *url.URL) string {
	u, err := url.Parse(strings.TrimSpace(link))
	if err != nil {
		return ""
	}
	if at != nil {
		u = at.ResolveReference(u)
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https", "mailto", "tel", "":
		return u.String()
	}
	return ""
}
