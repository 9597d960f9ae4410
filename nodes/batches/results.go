package batches

import (
	"archive/zip"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/value"
)

// ResultColumns follow the columns of the table and the outputs of the flow.
var ResultColumns = []string{"_status", "_code", "_error", "_run_id", "_usd"}

// Results writes the rows of a batch with their results, one by one.
type Results struct {
	format  string
	own     []string // columns of the table
	outputs []string // of the flow
	names   []string // of all columns, each once
	defused bool
	out     io.Writer
	csv     *csv.Writer
	zip     *zip.Writer
}

// NewResults returns a writer of csv, jsonl or xlsx for the columns of a table and the outputs of a flow. A column with the name of an output or of a
// result column, as in results that are uploaded again, gets another name. defused keeps texts of a CSV from being read as formulas.
func NewResults(format string, own, outputs []string, defused bool) *Results {
	if format == "" {
		format = "csv"
	}
	w := &Results{format: format, own: own, outputs: outputs, defused: defused}
	added := slices.Concat(outputs, ResultColumns)
	for _, name := range own {
		for slices.Contains(added, name) || slices.Contains(w.names, name) {
			name += " (table)"
		}
		w.names = append(w.names, name)
	}
	w.names = append(w.names, added...)
	return w
}

// Extension returns the ending of file names.
func (w *Results) Extension() string { return w.format }

// MIME returns the media type.
func (w *Results) MIME() string {
	return map[string]string{"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl", "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}[w.format]
}

// To begins to write. Errors of the header are those of the first row.
func (w *Results) To(out io.Writer) {
	w.out = out
	switch w.format {
	case "csv":
		w.csv = csv.NewWriter(out)
		_ = w.csv.Write(w.safe(w.names)) // it is buffered, so Flush returns the error
	case "xlsx":
		w.beginSheet(out)
	}
}

// Write writes a row. r is nil for one that has not started.
func (w *Results) Write(row *flow.Object, r *flow.ChildResult) error {
	values := make([]any, 0, len(w.names))
	for _, name := range w.own {
		values = append(values, row.Get(name))
	}
	outputs := make([]any, len(w.outputs))
	status, code, message, runID, usd := any("pending"), any(nil), any(nil), any(nil), any(nil)
	if r != nil {
		status, runID, usd = string(r.State), string(r.RunID), r.Usage.CostNanoUSD.Exact()
		if r.State == flow.RunSucceeded {
			for i, name := range w.outputs {
				outputs[i] = r.Outputs.Get(name)
			}
		}
		if r.Error != nil && r.State.Ended() && r.State != flow.RunSucceeded {
			code, message = string(r.Error.Code), r.Error.Message
		}
	}
	values = append(append(values, outputs...), status, code, message, runID, usd)
	if w.format == "jsonl" {
		return w.line(row, values)
	}
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = cellText(v)
	}
	if w.csv != nil {
		if err := w.csv.Write(w.safe(cells)); err != nil {
			return err
		}
		w.csv.Flush()
		return w.csv.Error()
	}
	return w.sheetRow(cells)
}

// line writes a row as a line of JSON. Members of a row of JSON Lines that the first rows lack follow at the end.
func (w *Results) line(row *flow.Object, values []any) error {
	o := &flow.Object{}
	for i, name := range w.names {
		if i >= len(w.own) || row.Has(w.own[i]) {
			o.Set(name, values[i])
		}
	}
	for name, v := range row.All() {
		if !slices.Contains(w.own, name) && !o.Has(name) {
			o.Set(name, v)
		}
	}
	_, err := w.out.Write(append(flow.EncodeJSON(o), '\n'))
	return err
}

// Close ends the file.
func (w *Results) Close() error {
	switch {
	case w.csv != nil:
		w.csv.Flush()
		return w.csv.Error()
	case w.zip != nil:
		if _, err := io.WriteString(w.out, "</sheetData></worksheet>"); err != nil {
			return err
		}
		return w.zip.Close()
	}
	return nil
}

// cellText returns a value as the text of a cell: JSON where it is no text.
func cellText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return string(flow.EncodeJSON(v))
}

// safe puts an apostrophe before texts that programs would read as formulas.
func (w *Results) safe(cells []string) []string {
	if !w.defused {
		return cells
	}
	out := make([]string, len(cells))
	for i, s := range cells {
		out[i] = value.SafeCell(s)
	}
	return out
}

// The fixed parts of a workbook with one sheet (ECMA-376).
const (
	xmlHead    = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	sheetSpace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
	relSpace   = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
)

// beginSheet writes all parts of a workbook up to the rows of its sheet. Errors are those of the first row.
func (w *Results) beginSheet(out io.Writer) {
	w.zip = zip.NewWriter(out)
	for _, part := range [][2]string{
		{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>`},
		{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="` + relSpace + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"xl/workbook.xml", `<workbook xmlns="` + sheetSpace + `" xmlns:r="` + relSpace + `"><sheets><sheet name="Results" sheetId="1" r:id="rId1"/></sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="` + relSpace + `/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`},
		{"xl/worksheets/sheet1.xml", `<worksheet xmlns="` + sheetSpace + `"><sheetData>`},
	} {
		file, err := w.zip.Create(part[0])
		if err != nil {
			return
		}
		w.out = file
		_, _ = io.WriteString(file, xmlHead+part[1])
	}
	_ = w.sheetRow(w.names)
}

// maxCellText is the longest text of a cell of Excel, in characters.
const maxCellText = 32_767

// sheetRow writes a row of texts.
func (w *Results) sheetRow(cells []string) error {
	if _, err := io.WriteString(w.out, "<row>"); err != nil {
		return err
	}
	for _, s := range cells {
		if len(s) > maxCellText {
			s = strings.ToValidUTF8(s[:maxCellText], "")
		}
		if _, err := io.WriteString(w.out, `<c t="inlineStr"><is><t xml:space="preserve">`); err != nil {
			return err
		}
		if err := xml.EscapeText(w.out, []byte(s)); err != nil {
			return err
		}
		if _, err := io.WriteString(w.out, "</t></is></c>"); err != nil {
			return err
		}
	}
	_, err := fmt.Fprint(w.out, "</row>")
	return err
}
