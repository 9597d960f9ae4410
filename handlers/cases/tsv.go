package cases

import "strings"

// readTable returns the rows of a table as spreadsheets put it on the clipboard: cells between tabs, rows between line breaks. A cell with
// either is in quotes, which are doubled in it. A quote that is never closed, or is followed by more text, is part of its cell. The script of
// the grid reads the same format.
func readTable(text string) (rows [][]string) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var row []string
	for text != "" {
		cell, rest, ok := quotedCell(text)
		if !ok {
			end := strings.IndexAny(text, "\t\n")
			if end < 0 {
				end = len(text)
			}
			cell, rest = text[:end], text[end:]
		}
		row = append(row, cell)
		if text = strings.TrimPrefix(rest, "\t"); text != rest {
			if text != "" {
				continue
			}
			row = append(row, "")
		}
		rows, row = append(rows, row), nil
		text = strings.TrimPrefix(text, "\n")
	}
	return rows
}

// quotedCell returns the cell in quotes at the beginning of a text, and what follows it.
func quotedCell(text string) (cell, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", false
	}
	for at := 1; ; {
		end := strings.IndexByte(text[at:], '"')
		if end < 0 {
			return "", "", false
		}
		at += end + 1
		if strings.HasPrefix(text[at:], `"`) {
			at++
			continue
		}
		rest = text[at:]
		return strings.ReplaceAll(text[1:at-1], `""`, `"`), rest, rest == "" || rest[0] == '\t' || rest[0] == '\n'
	}
}

// writeTable returns the text of rows.
func writeTable(rows [][]string) string {
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				b.WriteByte('\t')
			}
			if strings.HasPrefix(cell, `"`) || strings.ContainsAny(cell, "\t\n\r") {
				cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
			}
			b.WriteString(cell)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
