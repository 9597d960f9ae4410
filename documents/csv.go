package documents

import (
	"errors"
	"io"
	"path"
	"strings"

	"sluice/documents/delimited"
)

// readText returns a text file as valid UTF-8 with lines. A carriage return alone, as in files of the first Macintosh,
// ends a line, too.
func (r *reading) readText(format string) *Document {
	d := decodeText(r.data, r.MIME, "", r.Encoding)
	out := &Document{Format: format, Pages: 1, Text: lineEnds.Replace(d.Text)}
	d.describe(out)
	return out
}

// lineEnds replaces carriage returns that end a line alone by line feeds.
var lineEnds = strings.NewReplacer("\r\n", "\r\n", "\r", "\n")

// readCSV returns the text of a CSV file, and its rows as a table whose
// columns are named by the first row. Rows before a mistake are kept.
func (r *reading) readCSV() *Document {
	doc := r.readText("csv")
	left := maxTables
	name := path.Base(r.Name)
	table := &tableWriter{table: Table{Name: strings.TrimSuffix(name, path.Ext(name)), Rows: []map[string]string{}}, left: &left}
	rows := delimited.NewReader(strings.NewReader(doc.Text), 0, 0)
	doc.Text = doc.Text[rows.Skipped():]
	for visited := 0; visited < maxCells && !table.full; visited++ {
		_, cells, err := rows.Read()
		if err != nil {
			table.full = !errors.Is(err, io.EOF)
			break
		}
		visited += len(cells)
		for i, cell := range cells {
			cells[i] = strings.TrimSpace(cell)
		}
		table.add(cells, false)
	}
	doc.Truncated = table.full
	if table.header != nil {
		doc.Tables = []Table{table.finish()}
	}
	return doc
}
