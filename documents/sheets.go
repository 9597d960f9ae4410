package documents

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"

	"sluice/flow/wording"
)

const (
	// maxCells is the maximum number of rows and cells of a workbook that are visited. A filled
	// cell adds at least two bytes of text, so MaxText is reached first unless most are empty.
	maxCells = MaxText / 2
	// maxTables bounds all tables in bytes.
	maxTables = 4 << 20
	// maxColumns is the maximum number of columns of a table.
	maxColumns = 1000
)

// readSheets reads the cells of each sheet as Excel displays them: dates, percentages and
// currencies in the format of the cell, formulas as their last result. Dates whose format
// depends on the reader's locale are ISO 8601, since a server has no such locale and 03/04
// means different days in different countries.
func (r *reading) readSheets() (*Document, error) {
	book, err := openBook(r.data)
	if err != nil {
		return nil, err
	}
	sheets := book.GetSheetList()
	numbers, truncated, err := r.choosePages(len(sheets), "sheet")
	if err != nil {
		return nil, err
	}
	w := &sheetReader{book: book, left: maxCells, tableBytes: maxTables,
		out: &Document{Format: "xlsx", Pages: len(sheets), Truncated: truncated}, parts: sheetParts(r.data)}
	for _, n := range numbers {
		w.readSheet(sheets[n-1])
		if w.left < 0 || w.texts.full() {
			w.out.Truncated = true
			break
		}
	}
	w.out.Text = w.texts.String()
	if !w.filled && !w.out.Truncated {
		return nil, refuse("The workbook has no text in its cells: it may have only charts and pictures, which are not read. Save it as a PDF, then turn on Page images.")
	}
	if properties, err := book.GetDocProps(); err == nil {
		w.out.Title = strings.TrimSpace(properties.Title)
	}
	return w.out, nil
}

// sheetReader converts the sheets of a workbook to text and tables.
type sheetReader struct {
	book       *excelize.File
	texts      pageTexts
	out        *Document
	left       int               // rows and cells that can still be visited
	tableBytes int               // bytes that can still be added to tables
	parts      map[string]string // names of the sheets' parts
	filled     bool              // a cell has content

	raw, clean string // the last cell before and after oneLine: hostile sheets repeat long ones
}

// readSheet adds a sheet. If the sheet is damaged, the rows before the damage are kept.
func (w *sheetReader) readSheet(name string) {
	var text strings.Builder
	text.WriteString("# " + name)
	table := &tableWriter{table: Table{Name: name, Rows: []map[string]string{}}, left: &w.tableBytes}
	if state := w.visibility(name); state != "" {
		text.WriteString(" (" + state + ")")
		table.table.Hidden = true
		w.out.warn("The sheet %s is %s.", wording.Truncate(name, 60), state)
	}
	layout := readSheetLayout(w.part(name))
	rows, err := w.book.Rows(name)
	if err == nil {
		err = w.readRows(rows, w.exactRows(name, layout), &text, table, layout)
	}
	if notSheet := (excelize.ErrSheetNotExist{}); err != nil && !errors.As(err, &notSheet) && !strings.Contains(err.Error(), "not a worksheet") {
		w.out.Truncated = true
	}
	w.texts.add(text.String())
	w.out.Truncated = w.out.Truncated || table.full
	if table.header != nil {
		t := table.finish()
		for i, column := range t.Columns {
			if layout.columnHidden(i) {
				t.HiddenColumns = append(t.HiddenColumns, column)
			}
		}
		if table.hidden || len(t.HiddenColumns) > 0 {
			w.out.warn("The sheet %s has hidden rows or columns. They are marked.", wording.Truncate(name, 60))
		}
		w.out.Tables = append(w.out.Tables, t)
	}
}

// visibility returns how a sheet is hidden, or "" if Excel shows it. Very hidden sheets cannot be shown with
// Excel's menu.
func (w *sheetReader) visibility(name string) string {
	if w.book.WorkBook == nil {
		return ""
	}
	for _, s := range w.book.WorkBook.Sheets.Sheet {
		if s.Name == name {
			return map[string]string{"hidden": "hidden", "veryHidden": "very hidden"}[s.State]
		}
	}
	return ""
}

// part returns the XML of a sheet, which is in memory.
func (w *sheetReader) part(name string) []byte {
	content, _ := w.book.Pkg.Load(w.parts[name])
	data, _ := content.([]byte)
	return data
}

// exactRows returns a second reader of a sheet, whose cells are as stored, or nil for a sheet without long numbers.
func (w *sheetReader) exactRows(name string, layout *sheetLayout) *excelize.Rows {
	if !layout.longNumbers {
		return nil
	}
	rows, err := w.book.Rows(name)
	if err != nil {
		return nil
	}
	return rows
}

// readRows adds the rows of a sheet to its text and to its table, without empty rows
// and without empty cells at the end of a row. It stops when the text is full, or when
// too many rows and cells of the workbook were visited.
func (w *sheetReader) readRows(rows, exact *excelize.Rows, text *strings.Builder, table *tableWriter, layout *sheetLayout) error {
	defer rows.Close() //nolint:errcheck // it is in memory
	if exact != nil {
		defer exact.Close() //nolint:errcheck // it is in memory
	}
	for number := 1; rows.Next() && w.left >= 0 && text.Len() <= MaxText; number++ {
		hidden := rows.GetRowOpts().Hidden
		cells, err := rows.Columns()
		if err != nil {
			return err
		}
		if exact != nil && exact.Next() {
			stored, err := exact.Columns(excelize.Options{RawCellValue: true})
			if err != nil {
				return err
			}
			exactNumbers(cells, stored)
		}
		w.left -= 1 + len(cells)
		for i, cell := range cells {
			cells[i] = w.oneLine(cell)
		}
		cells, visited := layout.fill(number, trimCells(cells))
		w.left -= visited
		if len(cells) == 0 {
			continue
		}
		w.filled = true
		text.WriteString("\n" + strings.Join(layout.marked(cells, hidden, table.header == nil), "\t"))
		table.add(cells, hidden)
	}
	return rows.Error()
}

// trimCells removes the empty cells at the end of a row.
func trimCells(cells []string) []string {
	for len(cells) > 0 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	return cells
}

// oneLine returns the text of a cell without the breaks and repeated blanks that
// would make the lines and tabs of a sheet ambiguous.
func (w *sheetReader) oneLine(cell string) string {
	if cell != w.raw {
		w.raw, w.clean = cell, oneLine(cell)
	}
	return w.clean
}

// tableWriter builds a table from rows.
type tableWriter struct {
	table  Table
	header []string
	left   *int // bytes
	full   bool // rows or columns were left out
	hidden bool // Excel hides a row, which may be the header or left out
}

// add adds a row, which Excel may hide, or makes it the header if it is the first one. The budget counts
// a row as JSON, names of columns included, because that is how tables travel to
// the parent: long names in a header cost their length in every row.
func (t *tableWriter) add(cells []string, hidden bool) {
	t.hidden = t.hidden || hidden
	if len(cells) > maxColumns {
		cells, t.full = cells[:maxColumns], true
	}
	if t.header == nil {
		t.header = columnNames(cells)
		for _, name := range t.header {
			*t.left -= jsonSize(name)
		}
		if *t.left < 0 {
			t.header, t.full = []string{}, true
		}
		return
	}
	if *t.left -= rowSize; *t.left < 0 {
		t.full = true
		return
	}
	row := make(map[string]string, len(cells))
	for i, cell := range cells {
		if i == len(t.header) { // wider than the header
			name := unusedName(columnLetters(i), t.header)
			t.header = append(t.header, name)
			*t.left -= jsonSize(name)
		}
		if cell != "" {
			row[t.header[i]] = cell
			*t.left -= jsonSize(cell) + jsonSize(t.header[i])
		}
	}
	if *t.left < 0 {
		t.full = true
		return
	}
	if hidden {
		t.table.HiddenRows = append(t.table.HiddenRows, len(t.table.Rows))
	}
	t.table.Rows = append(t.table.Rows, row)
}

// rowSize is what a row counts beside its cells, in bytes: as JSON it is short, but the parent makes a map of it.
const rowSize = 48

// jsonSize returns the length of a text as JSON at most, with quotes and a separator.
func jsonSize(s string) int {
	n := len(s) + 3
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c == 0x7f || c == 0xe2 { // the last one begins U+2028
			n += 5
		}
	}
	return n
}

// finish returns the table.
func (t *tableWriter) finish() Table {
	t.table.Columns = t.header
	return t.table
}

// columnNames returns unique column names for a header: a column without a name gets its
// letters, such as AB, and a repeated name gets a number.
func columnNames(cells []string) (names []string) {
	names = []string{}
	for i, cell := range cells {
		if cell == "" {
			cell = columnLetters(i)
		}
		names = append(names, unusedName(cell, names))
	}
	return names
}

// unusedName returns the name, with a number appended if it is taken. Column names
// become the members of an object, so they must differ.
func unusedName(name string, used []string) string {
	free := name
	for n := 2; slices.Contains(used, free); n++ {
		free = name + " " + strconv.Itoa(n)
	}
	return free
}

// columnLetters returns the name of a column, counted from 0, such as AB.
func columnLetters(i int) string {
	name, err := excelize.ColumnNumberToName(i + 1)
	if err != nil {
		return strconv.Itoa(i + 1)
	}
	return name
}
