package passages

import "strings"

// Table is a sheet whose first row holds the names of its columns.
type Table struct {
	Name    string
	Columns []string
	Rows    []map[string]string
}

// Rows makes a passage of each row of tables, with the names of the columns in front of the cells. Long rows are cut like texts.
func Rows(tables []Table, r Rules) (list []Passage) {
	at := 0
	for _, t := range tables {
		var headings []string
		if t.Name != "" {
			headings = []string{t.Name}
		}
		for _, row := range t.Rows {
			var b strings.Builder
			var cells [][2]string
			for _, column := range t.Columns {
				if cell := strings.TrimSpace(row[column]); cell != "" {
					b.WriteString(column + ": " + cell + "\n")
					cells = append(cells, [2]string{column, cell})
				}
			}
			if len(cells) == 0 {
				continue
			}
			text := strings.TrimSpace(b.String())
			parts := []Passage{{Text: text, To: len(text)}}
			if Words(text) > MaxSize {
				parts = Cut(text, nil, Rules{Size: r.Size, Overlap: r.Overlap, Plain: true})
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
