package documents

import (
	"encoding/csv"
	"errors"
	"io"
	"path"
	"strings"
	"unicode/utf8"
)

// separators are the possible column separators of a CSV file. Excel uses the one of
// the user's locale, so it has to be guessed. If several are equally frequent, the one
// that is rarest in prose wins.
var separators = []rune{'\t', ';', '|', ','}

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
// columns are named by the first row. It is more lenient than RFC 4180: rows may differ
// in length, and a field may contain a bare quote.
func (r *reading) readCSV() *Document {
	doc := r.readText("csv")
	comma, text := statedSeparator(doc.Text)
	if doc.Text = text; comma == 0 {
		comma = separator(text)
	}
	left := maxTables
	name := path.Base(r.Name)
	table := &tableWriter{table: Table{Name: strings.TrimSuffix(name, path.Ext(name)), Rows: []map[string]string{}}, left: &left}
	rows := csv.NewReader(strings.NewReader(text))
	rows.Comma = comma
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
		table.add(cells, false)
	}
	doc.Truncated = table.full
	if table.header != nil {
		doc.Tables = []Table{table.finish()}
	}
	return doc
}

// statedSeparator returns the separator that a first line such as "sep=;" states, and the text after that line. Excel
// reads such a line as an instruction and does not show it. Without one, the separator is 0.
func statedSeparator(text string) (rune, string) {
	line, rest, _ := strings.Cut(text, "\n")
	line = strings.Trim(strings.TrimRight(line, "\r"), `"`)
	if len(line) < 5 || !strings.EqualFold(line[:4], "sep=") {
		return 0, text
	}
	comma, size := utf8.DecodeRuneInString(line[4:])
	if size != len(line)-4 || comma == '"' || comma == utf8.RuneError {
		return 0, text
	}
	return comma, rest
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
