package nodes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"sluice/documents"
	"sluice/flow"
)

// mostPages is the maximum of the field "max_pages".
const mostPages = 2000

// Documents reads documents and web pages; *documents.Reader implements it.
// Errors that the user can fix are *documents.Error.
type Documents interface {
	Read(ctx context.Context, group string, r documents.Request, content io.Reader, keep func(documents.Image) error) (*documents.Document, error)
}

// The document kind converts a file to text, tables and images. Package documents parses it
// in a child process.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "document", Title: "Document", Group: groupSources, Icon: "file-text", Class: flow.Outside,
		Summary: "Reads the text of a PDF, Word, Excel or other document.",
		Doc: "Outputs the text of a file: PDF, Word (DOCX), Excel (XLSX), PowerPoint (PPTX), OpenDocument text (ODT), HTML, Markdown, CSV and " +
			"plain text. The content decides, not the name of the file. Connect `text` to `find_answer`, `summarize` or a chat model.\n\n" +
			"- **PDF**: the text of each page in reading order, followed by filled-in form fields as `name: value`. A scanned page has no text, " +
			"and the text says so; turn on `images` and connect them to a model with vision. Passwords are not supported.\n" +
			"- **Excel**: each sheet as a heading and lines with tabs between cells, as a person sees them: dates, percent and currencies " +
			"formatted, formulas as their last saved result. `tables` has the rows as JSON, keyed by the header row. Charts and images are left out.\n" +
			"- **CSV**: the text as it is, and `tables` with its rows. Columns may be separated by commas, semicolons or tabs.\n" +
			"- **Word and OpenDocument**: paragraphs, tables, text boxes, footnotes, endnotes and comments. Deleted text, headers and footers are left out.\n" +
			"- **PowerPoint**: the text of each slide and its speaker notes.\n" +
			"- **HTML** becomes Markdown. Text in an older encoding becomes UTF-8.\n\n" +
			"A file can be up to 64 MiB. `truncated` is true when something was left out: pages beyond `max_pages`, text beyond 16 MiB, tables beyond " +
			"4 MiB, images beyond 100, or a damaged page.",
		Fields: []flow.Field{
			{Name: "file", Title: "File", Type: flow.FieldFile, Value: flow.TypeSource, Required: true, Secrets: flow.SecretsInURL,
				Accept: []string{".pdf", ".docx", ".xlsx", ".pptx", ".odt", ".html", ".htm", ".md", ".csv", ".tsv", ".txt"},
				Help:   "A file, or the URL of one. Up to three redirects are followed; private and reserved addresses are refused."},
			{Name: "pages", Title: "Pages", Type: flow.FieldText, Typed: true, More: true,
				Help: "Pages, slides or sheets to read, such as 1-5 or 2,4-6. Default: all."},
			{Name: "max_pages", Title: "Max pages", Type: flow.FieldInteger, Typed: true, More: true, Default: 200, Min: ptr(1), Max: ptr(mostPages),
				Help: "Maximum number of pages to read. If there are more, only the first ones are read and truncated is true."},
			{Name: "images", Title: "Page images", Type: flow.FieldBoolean, Typed: true, More: true, Default: false,
				Help: "Also output each page of a PDF as a PNG image, for models with vision. At most 100 pages."},
		},
		Outputs: []flow.Port{
			{Name: "text", Title: "Text", Type: flow.TypeText, Help: "The text, pages separated by an empty line."},
			{Name: "pages", Title: "Pages", Type: flow.TypeNumber, Help: "How many pages, slides or sheets the whole document has; 1 for other formats."},
			{Name: "title", Title: "Title", Type: flow.TypeText, Help: "The title in the document's metadata; empty if it has none."},
			{Name: "format", Title: "Format", Type: flow.TypeText, Help: "One of pdf, docx, xlsx, pptx, odt, html, markdown, csv or text."},
			{Name: "truncated", Title: "Truncated", Type: flow.TypeBoolean, Help: "Whether something was left out."},
			{Name: "images", Title: "Page images", Type: flow.TypeList, Items: flow.TypeFile, Accept: []string{"image/png"}, Help: "A PNG file for each page of a PDF, if Page images is on; 1568 pixels on the longer side."},
			{Name: "tables", Title: "Tables", Type: flow.TypeList, Schema: tablesSchema, Help: "The sheets of a workbook, or one table of a CSV file, each with name and rows; a row is an object that maps column names to cell text."},
		},
		Example: flow.Example{Config: map[string]any{"file": "https://example.com/terms.html"}},
		Sends:   &flow.Destination{Field: "file", Hosts: flow.URLHost("file")},
		Check:   checkDocument,
		Run:     func(ctx context.Context, in *flow.In) (flow.Out, error) { return readDocument(ctx, d, in) },
	}
})

// checkDocument checks the list of pages and the URL, if they are typed.
func checkDocument(n *flow.Node) []flow.Problem {
	var problems []flow.Problem
	if pages, ok := n.Config["pages"].(string); ok {
		if err := documents.CheckPages(pages); err != nil {
			problems = append(problems, flow.Problem{Pointer: "/pages", Code: "invalid", Detail: err.Error()})
		}
	}
	return append(problems, checkURL(n, "file")...)
}

// readDocument opens the file or the URL and parses it in a child process, because documents
// are untrusted input to large parsers.
func readDocument(ctx context.Context, d Deps, in *flow.In) (flow.Out, error) {
	most, err := wholeNumber(in, "max_pages", 1, mostPages)
	if err != nil {
		return flow.Out{}, err
	}
	s, err := openDocument(ctx, d.HTTP, in)
	if err != nil {
		return flow.Out{}, err
	}
	defer s.close()
	req := documents.Request{Name: s.name, MIME: s.mime, URL: s.url, Pages: in.Text("pages"), MaxPages: most, Images: in.Config["images"] == true}
	images := []any{}
	doc, err := d.Documents.Read(ctx, string(in.WorkspaceID), req, s.body, func(i documents.Image) error {
		file, err := keep(ctx, in, fmt.Sprintf("page-%d.png", i.Page), "image/png", bytes.NewReader(i.PNG))
		images = append(images, file)
		return err
	})
	if err != nil {
		return flow.Out{}, documentError(err)
	}
	return flow.Out{Outputs: map[string]any{
		"text": doc.Text, "pages": flow.Number(doc.Pages), "title": doc.Title, "format": doc.Format, "truncated": doc.Truncated,
		"images": images, "tables": tablesValue(doc.Tables),
	}}, nil
}

// tablesValue converts tables to a value of a flow.
func tablesValue(tables []documents.Table) []any {
	list := make([]any, len(tables))
	for i, t := range tables {
		rows := make([]any, len(t.Rows))
		for j, row := range t.Rows {
			cells := make(map[string]any, len(row))
			for name, cell := range row {
				cells[name] = cell
			}
			rows[j] = cells
		}
		list[i] = map[string]any{"name": t.Name, "rows": rows}
	}
	return list
}

// documentError converts an error of package documents to one of the run.
func documentError(err error) error {
	if refused, ok := errors.AsType[*documents.Error](err); ok {
		return flow.Errorf(flow.CodeInputInvalid, "%s", refused.Message)
	}
	return requestError(err)
}

// openDocument opens the file, or downloads it if the field holds a URL.
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
		return fetch(ctx, client, u.String(), documents.MaxSize, "*/*")
	}
	f, content, err := in.OpenFile(ctx, in.Config["file"])
	if err != nil {
		return nil, err
	}
	if f.Size > documents.MaxSize {
		_ = content.Close() // nothing was read
		return nil, flow.Errorf(flow.CodeInputInvalid, "The document has %d MiB; the limit is %d MiB. Split it.", f.Size>>20, documents.MaxSize>>20)
	}
	return &opened{name: f.Name, mime: f.MIME, body: io.LimitReader(content, documents.MaxSize), close: func() { _ = content.Close() }}, nil
}
