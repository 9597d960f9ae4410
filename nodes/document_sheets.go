package nodes

import (
	"strconv"
	"strings"

	"sluice/flow"
)

const (
	// maxSheetColumn is the last column an XLSX can have.
	maxSheetColumn = 16_384
	// maxSheetCells is how many rows and cells are visited. A cell with something
	// in it takes two bytes of the text at least, so only empty ones are left out.
	maxSheetCells = flow.MaxTextBytes / 2
)

// readSheets reads each sheet as a heading and lines whose cells are separated
// by tabs.
func (r reading) readSheets(f *officeFile, out *readText) error {
	sheets, err := f.related("xl/workbook.xml", "sheet")
	if err != nil {
		return err
	}
	shared, err := f.sharedTexts()
	if err != nil {
		return err
	}
	numbers, refused := r.choose(len(sheets), "sheet")
	out.Pages, out.Refused = len(sheets), refused
	numbers, out.Truncated = r.firstPages(numbers)
	var texts pageTexts
	left := maxSheetCells
	for _, n := range numbers {
		w := &sheetWriter{shared: shared, left: left}
		if err := f.walk(sheets[n-1].part, xmlVisitor{begin: w.begin, end: w.end, text: w.text, enough: w.full}); err != nil {
			return err
		}
		left = w.left
		texts.add("# " + sheets[n-1].name + "\n" + strings.TrimRight(w.out.String(), "\n"))
		if w.full() || texts.full() {
			out.Truncated = true
			break
		}
	}
	out.Text = texts.String()
	return nil
}

// sharedTexts are the texts that cells refer to by number.
func (f *officeFile) sharedTexts() ([]string, error) {
	var list []string
	var b strings.Builder
	inText, phonetic := false, false
	err := f.walk("xl/sharedStrings.xml", xmlVisitor{
		begin: func(name string, _ map[string]string) {
			inText = name == "t"
			phonetic = phonetic || name == "rPh" // how to pronounce it, not a part of it
		},
		end: func(name string) {
			inText = false
			switch name {
			case "rPh":
				phonetic = false
			case "si":
				list = append(list, oneLine(b.String()))
				b.Reset()
			}
		},
		text: func(s string) {
			if inText && !phonetic {
				b.WriteString(s)
			}
		},
	})
	return list, err
}

// sheetWriter makes lines of the rows of a sheet.
type sheetWriter struct {
	shared  []string
	left    int // rows and cells that may still be visited
	out     strings.Builder
	column  int  // of the cell at hand, counted from 0
	written int  // tabs of the row so far
	any     bool // the row has a value
	kind    string
	value   strings.Builder
	inValue bool
}

func (w *sheetWriter) begin(name string, attributes map[string]string) {
	switch name {
	case "row":
		w.left--
		w.written, w.column, w.any = 0, -1, false
	case "c":
		w.left--
		w.column++
		if at := columnOf(attributes["r"]); at >= 0 {
			w.column = at
		}
		w.kind = attributes["t"]
		w.value.Reset()
	}
	w.inValue = name == "v" || name == "t"
}

func (w *sheetWriter) text(s string) {
	if w.inValue {
		w.value.WriteString(s)
	}
}

func (w *sheetWriter) end(name string) {
	w.inValue = false
	switch {
	case name == "row" && w.any:
		w.out.WriteByte('\n')
	case name == "c" && w.column < maxSheetColumn:
		w.writeCell(w.cell())
		w.value.Reset() // a second end of the same cell writes nothing
		w.kind = ""
	}
}

// full reports whether no more is visited or fits into a value.
func (w *sheetWriter) full() bool { return w.left < 0 || w.out.Len() > flow.MaxTextBytes }

// oneLine is a text without the breaks and repeated blanks that would make the
// lines and tabs of a sheet ambiguous.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (w *sheetWriter) writeCell(text string) {
	if text == "" {
		return
	}
	for ; w.written < w.column; w.written++ {
		w.out.WriteByte('\t')
	}
	w.out.WriteString(text)
	w.any = true
}

// cell is the text of the cell at hand, as one line.
func (w *sheetWriter) cell() string {
	value := w.value.String()
	switch w.kind {
	case "s":
		if i, err := strconv.Atoi(value); err == nil && i >= 0 && i < len(w.shared) {
			return w.shared[i]
		}
		return ""
	case "b":
		return strings.ToUpper(strconv.FormatBool(value == "1"))
	}
	return oneLine(value)
}

// columnOf is the column of a reference such as AB12, counted from 0, or -1.
func columnOf(reference string) int {
	n := 0
	for _, c := range reference {
		if c < 'A' || c > 'Z' || n > maxSheetColumn {
			break
		}
		n = n*26 + int(c-'A') + 1
	}
	return n - 1
}
