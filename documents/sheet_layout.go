package documents

import (
	"bytes"
	"encoding/xml"
	"slices"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"
)

// sheetLayout is what a sheet says about its rows and columns beside their cells (SpreadsheetML, ECMA-376 part 1, section
// 18.3): which columns are hidden, and which cells are merged into one.
type sheetLayout struct {
	hiddenColumns []columnRange
	merged        []mergedCells // by their first row
	active        []*mergedCells
	longNumbers   bool // a number may have more digits than Excel shows
}

// columnRange is columns from first to last, counted from 0.
type columnRange struct{ first, last int }

// mergedCells are cells that Excel shows as one, whose value only the first one has.
type mergedCells struct {
	top, bottom, left, right int // rows are counted from 1, columns from 0
	value                    string
}

const (
	// maxMerged bounds the merged cells of a sheet that are filled.
	maxMerged = 100_000
	// maxMergedColumns is the width up to which merged cells are filled in each column. Wider ones are titles.
	maxMergedColumns = 100
)

// sheetParts returns the names of the parts of all sheets by the names of the sheets.
func sheetParts(data []byte) map[string]string {
	parts := map[string]string{}
	f, err := openOffice(data)
	if err != nil {
		return parts
	}
	list, _ := f.related(f.mainPart(), "sheet") // those found before a damage
	for _, s := range list {
		parts[s.name] = s.part
	}
	return parts
}

// readSheetLayout reads what precedes and follows the cells in the XML of a sheet. The cells are skipped, since a parser
// takes long for them.
func readSheetLayout(data []byte) *sheetLayout {
	l := &sheetLayout{longNumbers: hasLongNumbers(data)}
	if begin := bytes.Index(data, []byte("sheetData")); begin >= 0 {
		l.read(data[:begin])
	}
	if end := bytes.LastIndex(data, []byte("sheetData>")); end >= 0 {
		l.read(data[end:])
	}
	slices.SortStableFunc(l.merged, func(a, b mergedCells) int { return a.top - b.top })
	return l
}

// read reads elements until the XML ends or is damaged.
func (l *sheetLayout) read(data []byte) {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.Strict = false
	for {
		token, err := d.RawToken()
		if err != nil {
			return
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch a := attributes(start); start.Name.Local {
		case "col":
			first, err1 := strconv.Atoi(a["min"])
			last, err2 := strconv.Atoi(a["max"])
			if (a["hidden"] == "1" || a["hidden"] == "true" || a["width"] == "0") && err1 == nil && err2 == nil {
				l.hiddenColumns = append(l.hiddenColumns, columnRange{first - 1, last - 1})
			}
		case "mergeCell":
			if m, ok := parseMerged(a["ref"]); ok && len(l.merged) < maxMerged {
				l.merged = append(l.merged, m)
			}
		}
	}
}

// parseMerged reads a reference such as A3:B7.
func parseMerged(ref string) (m mergedCells, ok bool) {
	from, to, isRange := strings.Cut(ref, ":")
	left, top, err1 := excelize.CellNameToCoordinates(from)
	right, bottom, err2 := excelize.CellNameToCoordinates(to)
	if !isRange || err1 != nil || err2 != nil || right < left || bottom < top {
		return m, false
	}
	return mergedCells{top: top, bottom: bottom, left: left - 1, right: right - 1}, true
}

// columnHidden reports whether a column, counted from 0, is hidden.
func (l *sheetLayout) columnHidden(i int) bool {
	return slices.ContainsFunc(l.hiddenColumns, func(c columnRange) bool { return i >= c.first && i <= c.last })
}

// marked returns the cells of a row for the text, with a mark after a hidden row, and in the header after the name of a
// hidden column.
func (l *sheetLayout) marked(cells []string, hidden, header bool) []string {
	if !hidden && (!header || len(l.hiddenColumns) == 0) {
		return cells
	}
	cells = slices.Clone(cells)
	for i := range cells {
		if header && l.columnHidden(i) {
			cells[i] = strings.TrimSpace(cells[i] + " [hidden column]")
		}
	}
	if hidden {
		cells = append(cells, "[hidden row]")
	}
	return cells
}

// fill gives all cells of a merged area that lie in a row the value of the area, as a person sees it. It must be
// called for each row in order. A row without cells of its own stays empty. visited is how many areas were looked at.
func (l *sheetLayout) fill(row int, cells []string) (filled []string, visited int) {
	l.active = slices.DeleteFunc(l.active, func(m *mergedCells) bool { return m.bottom < row })
	for len(l.merged) > 0 && l.merged[0].top <= row {
		m := &l.merged[0]
		l.merged = l.merged[1:]
		if m.top == row && m.left < len(cells) {
			m.value = cells[m.left]
		}
		if m.value != "" && m.bottom >= row {
			l.active = append(l.active, m)
		}
	}
	if len(cells) == 0 {
		return cells, len(l.active)
	}
	for _, m := range l.active {
		right := m.right
		if right-m.left >= maxMergedColumns {
			right = m.left
		}
		for i := m.left; i <= right; i++ {
			for len(cells) <= i {
				cells = append(cells, "")
			}
			if cells[i] == "" {
				cells[i] = m.value
			}
		}
		visited += right - m.left
	}
	return cells, visited + len(l.active)
}

// longDigits is how many digits Excel shows of a number. Programs write longer ones, such as IDs.
const longDigits = 15

// hasLongNumbers reports whether the XML of a sheet has a number with more than longDigits digits before its point.
func hasLongNumbers(data []byte) bool {
	for {
		at := bytes.Index(data, []byte("v>"))
		if at < 0 {
			return false
		}
		data = data[at+2:]
		end := bytes.IndexByte(data[:min(len(data), 400)], '<')
		if end > longDigits || end > 3 && bytes.ContainsAny(data[:end], "eE") {
			if _, long := exactNumber(string(data[:end])); long {
				return true
			}
		}
	}
}

// exactNumbers replaces shown numbers that lost digits by those that are stored.
func exactNumbers(shown, stored []string) {
	for i := range min(len(shown), len(stored)) {
		if shown[i] == stored[i] {
			continue
		}
		if exact, long := exactNumber(stored[i]); long {
			shown[i] = exact
		}
	}
}

// exactNumber returns a stored number with all its digits, and whether it has more than longDigits of them before its
// point. Numbers with an exponent are written out.
func exactNumber(s string) (exact string, long bool) {
	const maxDigits = 40
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(s), "e")
	digits := strings.TrimPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if whole == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return "", false
	}
	if hasExponent {
		n, err := strconv.Atoi(exponent)
		if err != nil || n < longDigits || n > maxDigits {
			return "", false
		}
		whole += fraction + strings.Repeat("0", max(0, n-len(fraction)))
		fraction = ""
		if n < len(whole)-1 {
			whole, fraction = whole[:n+1], whole[n+1:]
		}
	}
	whole = strings.TrimLeft(whole, "0")
	if len(whole) <= longDigits {
		return "", false
	}
	exact = whole
	if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
		exact += "." + fraction
	}
	if strings.HasPrefix(mantissa, "-") {
		exact = "-" + exact
	}
	return exact, true
}
