package nodes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"sluice/documents"
	"sluice/flow"
	"sluice/flow/value"
)

// mostPages is the maximum of the field "max_pages".
const mostPages = 2000

// Documents reads documents and web pages; *documents.Reader implements it.
// Errors that the user can fix are *documents.Error.
type Documents interface {
	Read(ctx context.Context, group string, r documents.Request, content io.Reader, keep func(documents.Image) error) (*documents.Document, error)
	OpenRows(ctx context.Context, group, name, mime string, content io.ReadSeeker) (*documents.Rows, error)
}

// The document kind converts a file to text, tables and images. Package documents parses it
// in a child process.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "document", Title: "Document", Group: groupSources, Icon: "file-text", Class: flow.Outside, Reads: true, Repeatable: true,
		Summary: "Reads the text of a PDF, Word, Excel or other document.",
		Doc: "Outputs the text of a file: PDF, Word (DOCX), Excel (XLSX), PowerPoint (PPTX), OpenDocument text (ODT), RTF, e-mail (EML), HTML, Markdown, " +
			"CSV and plain text. The content decides, not the name of the file. Connect `text` to `find_answer`, `summarize` or a chat model.\n\n" +
			"- **PDF**: the text of each page in reading order, the rows of tables as lines with tabs, followed by filled-in form fields as " +
			"`name: value` and by the comments. A scanned page has no text, " +
			"and the text says so; turn on `images` and connect them to a model with vision. Passwords are not supported.\n" +
			"- **Excel**: each sheet as a heading and lines with tabs between cells, as a person sees them: dates, percent and currencies " +
			"formatted, formulas as their last saved result, numbers of 16 digits and more with all of them. Merged cells repeat their value. Hidden sheets, rows " +
			"and columns are read and marked. `tables` has the rows as JSON, keyed by the header row, with `hidden`, `hidden_rows` (indexes in rows) and " +
			"`hidden_columns` if there are any. Charts and images are left out.\n" +
			"- **CSV**: the text as it is, and `tables` with its rows. Columns may be separated by commas, semicolons, tabs or bars; a line `sep=;` is obeyed.\n" +
			"- **Word and OpenDocument**: paragraphs, list numbers, tables, text boxes, equations in a line (10^6, 1/2), values of form fields, link targets, footnotes, " +
			"endnotes and comments. Text that tracked changes deleted, hidden text, headers and footers are left out.\n" +
			"- **E-mail**: sender, recipients, date and subject, the text, and the names of attachments. The attachments themselves are not read.\n" +
			"- **PowerPoint**: the text of each slide and its speaker notes.\n" +
			"- **HTML** becomes Markdown.\n\n" +
			"Text, CSV, HTML and e-mail in another encoding become UTF-8. An encoding that the file does not state is detected by its letters; " +
			"`warnings` then names the guess. Set `encoding` if you know it. A document without any text fails, and says why.\n\n" +
			"A file can be up to 64 MiB. `truncated` is true when something was left out: pages beyond `max_pages`, text beyond 16 MiB, tables beyond " +
			"4 MiB, images beyond 100, a damaged page, or a character that could not be read.",
		Fields: []flow.Field{
			{Name: "file", Title: "File", Type: flow.FieldFile, Value: flow.TypeSource, Required: true, Secrets: flow.SecretsInURL,
				Accept: []string{".pdf", ".docx", ".xlsx", ".pptx", ".odt", ".rtf", ".eml", ".html", ".htm", ".md", ".csv", ".tsv", ".txt"},
				Help:   "A file or its URL."},
			{Name: "pages", Title: "Pages", Type: flow.FieldText, Typed: true, More: true,
				Help: "Such as 1-5 or 2,4-6. Empty: all."},
			{Name: "max_pages", Title: "Max pages", Type: flow.FieldInteger, Typed: true, More: true, Default: 200, Min: ptr(1), Max: ptr(mostPages),
				Help: "Reads the first pages, up to this number."},
			{Name: "images", Title: "Page images", Type: flow.FieldBoolean, Typed: true, More: true, Default: false,
				Help: "Also output each page of a PDF as a PNG image, for models with vision. At most 100 pages."},
			encodingField,
		},
		Outputs: []flow.Port{
			{Name: "text", Title: "Text", Type: flow.TypeText, Help: "The text, pages separated by an empty line."},
			{Name: "pages", Title: "Pages", Type: flow.TypeNumber, Help: "How many pages, slides or sheets the whole document has; 1 for other formats."},
			{Name: "title", Title: "Title", Type: flow.TypeText, Help: "The title in the document's metadata; empty if it has none."},
			{Name: "format", Title: "Format", Type: flow.TypeText, Help: "One of pdf, docx, xlsx, pptx, odt, rtf, eml, html, markdown, csv or text."},
			{Name: "truncated", Title: "Truncated", Type: flow.TypeBoolean, Help: "Whether something was left out."},
			{Name: "warnings", Title: "Warnings", Type: flow.TypeList, Items: flow.TypeText, Help: "What may be wrong with the text, such as a guessed encoding or hidden sheets; usually empty."},
			{Name: "encoding", Title: "Encoding", Type: flow.TypeText, Help: "The encoding of a text, such as utf-8 or gb18030; empty for other formats."},
			{Name: "images", Title: "Page images", Type: flow.TypeList, Items: flow.TypeFile, Accept: []string{"image/png"}, Help: "A PNG file for each page of a PDF, if Page images is on; 1568 pixels on the longer side."},
			{Name: "tables", Title: "Tables", Type: flow.TypeList, Schema: tablesSchema, Help: "The sheets of a workbook, or one table of a CSV file, each with name and rows; a row is an object that maps column names to cell text."},
		},
		Example:   flow.Example{Config: map[string]any{"file": "https://example.com/terms.html"}},
		Sends:     &flow.Destination{Field: "file", Hosts: flow.URLHost("file")},
		Check:     checkDocument,
		Untrusted: fromOutside,
		Tool:      &flow.ToolUse{Result: []string{"text"}},
		Run:       func(ctx context.Context, in *flow.In) (flow.Out, error) { return readDocument(ctx, d, in) },
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
	return append(append(problems, checkEncoding(n)...), checkURL(n, "file")...)
}

// encodingField is the field for the encoding of a text.
var encodingField = flow.Field{Name: "encoding", Title: "Encoding", Type: flow.FieldText, Typed: true, More: true,
	Help: "Encoding of a text, CSV or HTML file, such as gbk, shift_jis or windows-1251. Default: what the file states, or else detected."}

// checkEncoding checks the name of the encoding, if it is set.
func checkEncoding(n *flow.Node) []flow.Problem {
	name, _ := n.Config["encoding"].(string)
	if name == "" {
		return nil
	}
	if err := documents.CheckEncoding(name); err != nil {
		return []flow.Problem{{Pointer: "/encoding", Code: "invalid", Detail: err.Error()}}
	}
	return nil
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
	req := documents.Request{Name: s.name, MIME: s.mime, URL: s.url, Pages: in.Text("pages"), MaxPages: most, Images: in.Config["images"] == true, Encoding: in.Text("encoding")}
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
		"images": images, "tables": tablesValue(doc.Tables), "warnings": textsValue(doc.Warnings), "encoding": doc.Encoding,
	}}, nil
}

// tablesValue converts tables to a value of a flow.
func tablesValue(tables []documents.Table) []any {
	list := make([]any, len(tables))
	for i, t := range tables {
		rows := make([]any, len(t.Rows))
		for j, row := range t.Rows {
			rows[j] = rowValue(t.Columns, row)
		}
		table := value.NewObject(value.Member{Name: "name", Value: t.Name}, value.Member{Name: "rows", Value: rows})
		if t.Hidden {
			table.Set("hidden", true)
		}
		if len(t.HiddenRows) > 0 {
			hidden := make([]any, len(t.HiddenRows))
			for j, row := range t.HiddenRows {
				hidden[j] = flow.Number(row)
			}
			table.Set("hidden_rows", hidden)
		}
		if len(t.HiddenColumns) > 0 {
			table.Set("hidden_columns", textsValue(t.HiddenColumns))
		}
		list[i] = table
	}
	return list
}

// rowValue converts a row to a value of a flow, with its cells in the order of the columns.
func rowValue(columns []string, row map[string]string) any {
	cells := &value.Object{}
	for _, name := range columns {
		if cell, filled := row[name]; filled {
			cells.Set(name, cell)
		}
	}
	return cells
}

// textsValue converts texts to a list of a flow.
func textsValue(texts []string) []any {
	list := make([]any, len(texts))
	for i, s := range texts {
		list[i] = s
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
