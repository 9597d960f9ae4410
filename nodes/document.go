package nodes

import (
	"context"
	"io"

	"sluice/flow"
)

const (
	// maxDocument is how large a document may be, in bytes.
	maxDocument = 64 << 20
	// mostPages is the highest max_pages.
	mostPages = 2000
)

// The document kind turns a file into text. It is read in a child process (see
// document_child.go); the formats are in document_read.go and its neighbours.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "document", Title: "Document", Group: groupSources, Icon: "file-text", Class: flow.Outside,
		Summary: "Reads the text of a PDF, Word, Excel or other document.",
		Doc: "Gives the text of a file: PDF, Word (DOCX), Excel (XLSX), PowerPoint (PPTX), OpenDocument text (ODT), HTML, Markdown, CSV and " +
			"plain text. What the content is decides, not its name. Table cells are separated by tabs; HTML becomes Markdown; text in an " +
			"older encoding becomes UTF-8. Lead `text` to `find_answer`, `summarize` or a chat model.\n\n" +
			"A PDF must have text inside: one that was scanned is a picture of text, which takes a hosted OCR model. A file may have 64 MiB. " +
			"`truncated` tells when something was left out: pages beyond `max_pages`, text beyond 16 MiB, or a page that is damaged.",
		Fields: []flow.Field{
			{Name: "file", Title: "File", Type: flow.FieldFile, Value: flow.TypeAny, Required: true, Secrets: flow.SecretsInURL,
				Accept: []string{".pdf", ".docx", ".xlsx", ".pptx", ".odt", ".html", ".htm", ".md", ".csv", ".tsv", ".txt"},
				Help:   "A file, or the URL of one. Up to three redirects are followed; private and reserved addresses are refused."},
			{Name: "pages", Title: "Pages", Type: flow.FieldText, Typed: true, More: true,
				Help: "Pages, slides or sheets to read, such as 1-5 or 2,4-6. Default: all."},
			{Name: "max_pages", Title: "Max pages", Type: flow.FieldInteger, Typed: true, More: true, Default: 200, Min: ptr(1), Max: ptr(mostPages),
				Help: "Maximum number of pages to read. If there are more, only the first ones are read and truncated is true."},
		},
		Outputs: []flow.Port{
			{Name: "text", Title: "Text", Type: flow.TypeText, Help: "The text, pages separated by an empty line."},
			{Name: "pages", Title: "Pages", Type: flow.TypeNumber, Help: "How many pages, slides or sheets the whole document has; 1 for other formats."},
			{Name: "title", Title: "Title", Type: flow.TypeText, Help: "The title in the document's metadata; empty if it has none."},
			{Name: "format", Title: "Format", Type: flow.TypeText, Help: "One of pdf, docx, xlsx, pptx, odt, html, markdown, csv or text."},
			{Name: "truncated", Title: "Truncated", Type: flow.TypeBoolean, Help: "Whether the text is incomplete."},
		},
		Example: flow.Example{Config: map[string]any{"file": "https://example.com/terms.html"}},
		Sends:   &flow.Destination{Field: "file", Hosts: flow.URLHost("file")},
		Check:   checkDocument,
		Run:     func(ctx context.Context, in *flow.In) (flow.Out, error) { return readDocument(ctx, d.HTTP, in) },
	}
})

func checkDocument(n *flow.Node) []flow.Problem {
	var problems []flow.Problem
	if pages, ok := n.Config["pages"].(string); ok {
		if _, err := parsePages(pages); err != nil {
			problems = append(problems, flow.Problem{Pointer: "/pages", Code: "invalid", Detail: err.Error()})
		}
	}
	return append(problems, checkURL(n, "file")...)
}

func readDocument(ctx context.Context, client HTTPClient, in *flow.In) (flow.Out, error) {
	most, err := wholeNumber(in, "max_pages", 1, mostPages)
	if err != nil {
		return flow.Out{}, err
	}
	s, err := openDocument(ctx, client, in)
	if err != nil {
		return flow.Out{}, err
	}
	defer s.close()
	what := reading{Name: s.name, MIME: s.mime, URL: s.url, Pages: in.Text("pages"), MaxPages: most}
	doc, err := readInChild(ctx, in.WorkspaceID, what, s.body)
	if err != nil {
		return flow.Out{}, requestError(err)
	}
	return flow.Out{Outputs: map[string]any{
		"text": doc.Text, "pages": flow.Number(doc.Pages), "title": doc.Title, "format": doc.Format, "truncated": doc.Truncated,
	}}, nil
}

// openDocument opens the file, or fetches it when an address was given.
func openDocument(ctx context.Context, client HTTPClient, in *flow.In) (*opened, error) {
	if address, ok := in.Config["file"].(string); ok {
		if _, fed := in.Ports["file"]; !fed {
			if text := flow.ParseSecretText(address); text != nil {
				in.Config["file"] = text // typed, so it may reference credentials
			}
		}
		u, _, err := targetURL(ctx, in, "file", func(string) {})
		if err != nil {
			return nil, err
		}
		return fetch(ctx, client, u.String(), maxDocument, "*/*")
	}
	f, content, err := in.OpenFile(ctx, in.Config["file"])
	if err != nil {
		return nil, err
	}
	if f.Size > maxDocument {
		_ = content.Close() // it was not read
		return nil, flow.Errorf(flow.CodeInputInvalid, "The document has %d MiB; at most %d MiB are read. Give it in parts.", f.Size>>20, maxDocument>>20)
	}
	return &opened{name: f.Name, mime: f.MIME, body: io.LimitReader(content, maxDocument), close: func() { _ = content.Close() }}, nil
}
