package passages

import (
	"slices"
	"strings"

	"sluice/flow/wording"
)

// Table is a sheet whose first row holds the names of its columns.
type Table struct {
	Name    string
	Columns []string
	Rows    []map[string]string
}

// Passages repeat names of columns, and those of one row its cells, so both are bounded.
const (
	maxColumn     = 200 // characters of the name of a column
	maxShownCells = 50  // cells that the passages of a long row have
	maxShownCell  = 200 // characters of each
)

// Rows makes a passage of each row of tables, with the names of the columns in front of the cells. Long rows are cut like texts; their
// passages have the beginnings of the first cells.
func Rows(tables []Table, r Rules) (list []Passage) {
	at := 0
	for _, t := range tables {
		var headings []string
		if t.Name != "" {
			headings = []string{t.Name}
		}
		names := make([]string, len(t.Columns))
		for i, column := range t.Columns {
			names[i] = wording.Truncate(column, maxColumn)
		}
		for _, row := range t.Rows {
			var b strings.Builder
			var cells [][2]string
			for i, column := range t.Columns {
				if cell := strings.TrimSpace(row[column]); cell != "" {
					b.WriteString(names[i] + ": " + cell + "\n")
					cells = append(cells, [2]string{names[i], cell})
				}
			}
			if len(cells) == 0 {
				continue
			}
			text := strings.TrimSpace(b.String())
			parts := []Passage{{Text: text, To: len(text)}}
			if Words(text) > MaxSize {
				parts = Cut(text, nil, Rules{Size: r.Size, Overlap: r.Overlap, Plain: true})
				cells = slices.Clone(cells[:min(len(cells), maxShownCells)])
				for i := range cells {
					cells[i][1] = wording.Truncate(cells[i][1], maxShownCell)
				}
			}
			for _, p := range parts {
				p.Headings, p.Row, p.From, p.To = headings, cells, p.From+at, p.To+at
				list = append(list, p)
			}
			at += len(text) + 1
		}
	}
	return list
}
