package documents

import (
	"encoding/csv"
	"errors"
	"io"
	"path"
	"strings"
)

// separators are the possible column separators of a CSV file. Excel uses the one of
// the user's locale, so it has to be guessed. If several are equally frequent, the one
// that is rarest in prose wins.
var separators = []rune{'\t', ';', ','}

// readCSV returns the text of a CSV file unchanged, and its rows as a table whose
// columns are named by the first row. It is more lenient than RFC 4180: rows may differ
// in length, and a field may contain a bare quote.
func (r *reading) readCSV() *Document {
	text := DecodeText(r.data, r.MIME, "")
	doc := &Document{Format: "csv", Pages: 1, Text: text}
	left := maxTables
	name := path.Base(r.Name)
	table := &tableWriter{table: Table{Name: strings.TrimSuffix(name, path.Ext(name)), Rows: []map[string]string{}}, left: &left}
	rows := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\uFEFF")))
	rows.Comma = separator(text)
	rows.FieldsPerRecord = -1
	rows.LazyQuotes = true
	rows.ReuseRecord = true
	for visited := 0; visited < maxCells && !table.full; visited++ {
		cells, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil { // the rows before it are kept
			table.full = true
			break
		}
		visited += len(cells)
		for i, cell := range cells {
			cells[i] = strings.TrimSpace(cell)
		}
		table.add(cells)
	}
	doc.Truncated = table.full
	if table.header != nil {
		doc.Tables = []Table{table.table}
	}
	return doc
}

// separator guesses the column separator of a file: the candidate that is most frequent
// in the first line, outside of quotes. The first line is the header, in which decimal
// commas and sentences are rare.
func separator(text string) rune {
	counts := map[rune]int{}
	quoted := false
	for _, c := range text {
		if c == '"' {
			quoted = !quoted
		}
		if c == '\n' && !quoted {
			break
		}
		if !quoted {
			counts[c]++
		}
	}
	best := separators[0]
	for _, c := range separators {
		if counts[c] > counts[best] {
			best = c
		}
	}
	return best
}
