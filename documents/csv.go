package documents

import (
	"encoding/csv"
	"errors"
	"io"
	"path"
	"strings"
)

// separators are the characters that stand between the columns of a CSV file.
// Excel writes the one of the user's language, so it has to be guessed. Where
// several are equally frequent, the one that is rarest in prose wins.
var separators = []rune{'\t', ';', ','}

// readCSV returns the text of a file of comma-separated values as it is, and its
// rows as a table whose columns are called as the first row says. RFC 4180 is
// read generously: rows may be of different length, and a quote may stand inside
// a field.
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
		if err != nil { // what comes before stays
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

// separator guesses what stands between the columns of a file: the candidate that
// is most frequent in the first line, outside of quotes. The first line is the
// header, in which decimal commas and sentences are rare.
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
