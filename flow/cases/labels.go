package cases

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"sluice/documents/delimited"
	"sluice/flow"
)

// Label says which outputs of a case are right.
type Label struct {
	Row      int // as spreadsheets number it: the header is row 1
	Case     *Case
	Expected *flow.Object // by output; outputs without a value in the row are not in it
}

// LabelProblem is what is wrong with a row of a table of labels. Row 1 is the header.
type LabelProblem struct {
	Row    int    `json:"row"`
	Column string `json:"column"`
	Detail string `json:"detail"`
}

// labelColumns are the names that the column with the cases may have.
var labelColumns = []string{"case", "id", "name"}

// maxLabelProblems is how many problems are reported.
const maxLabelProblems = 100

// ParseLabels reads a CSV table: a row for each case, with its ID or name in the column case, and a column for each output. An empty cell says
// nothing about its output. Cells are read as what the case expects already, or else as JSON if they are, and as text.
func ParseLabels(text string, f *File, outputs []string) (labels []Label, problems []LabelProblem) {
	fail := func(row int, column, format string, args ...any) {
		if len(problems) < maxLabelProblems {
			problems = append(problems, LabelProblem{row, column, fmt.Sprintf(format, args...)})
		}
	}
	text = strings.TrimPrefix(text, "\ufeff")
	r := delimited.NewReader(strings.NewReader(text), 0, 0)
	_, cells, err := r.Read()
	header := slices.Clone(cells)
	if err != nil {
		fail(1, "", "the table is empty; the first row names the columns: case, and outputs of the flow")
		return nil, problems
	}
	at := -1
	known := map[string]bool{}
	for _, name := range outputs {
		known[name] = true
	}
	seen := map[string]bool{}
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
		switch name := header[i]; {
		case name == "":
		case at < 0 && !known[name] && slices.Contains(labelColumns, strings.ToLower(name)):
			at = i
		case !known[name]:
			fail(1, name, "the flow has no output %q%s", name, flow.Closest(name, known))
		case seen[name]:
			fail(1, name, "two columns have this name")
		}
		seen[header[i]] = true
	}
	if at < 0 {
		fail(1, "", "one column must be named case, with the ID or the name of a case in each row")
	}
	if len(problems) > 0 {
		return nil, problems
	}
	labeled := map[string]int{}
	for {
		row, record, err := r.Read()
		if err == io.EOF {
			break
		}
		if wrong, ok := errors.AsType[*delimited.Error](err); ok {
			fail(wrong.Line, "", "%s", wrong.Reason)
		}
		if err != nil {
			return labels, problems
		}
		if !slices.ContainsFunc(record, func(cell string) bool { return strings.TrimSpace(cell) != "" }) {
			continue
		}
		who := ""
		if at < len(record) {
			who = strings.TrimSpace(record[at])
		}
		c, wrong := f.findLabeled(who)
		if wrong != "" {
			fail(row, header[at], "%s", wrong)
			continue
		}
		if first := labeled[c.ID]; first > 0 {
			fail(row, header[at], "row %d is about the case %s too", first, c.ID)
			continue
		}
		labeled[c.ID] = row
		l := Label{Row: row, Case: c, Expected: &flow.Object{}}
		fits := true
		for i, cell := range record {
			if i >= len(header) {
				if strings.TrimSpace(cell) != "" {
					fail(row, "", "has more cells than the header")
					fits = false
				}
				break
			}
			if i == at || header[i] == "" || strings.TrimSpace(cell) == "" {
				continue
			}
			v, wrong := c.labelValue(header[i], cell)
			if wrong != "" {
				fail(row, header[i], "%s", wrong)
				fits = false
				continue
			}
			l.Expected.Set(header[i], v)
		}
		if fits && l.Expected.Len() > 0 {
			labels = append(labels, l)
		}
	}
	return labels, problems
}

// findLabeled finds a case by its ID, or by its name if only one has it.
func (f *File) findLabeled(who string) (c *Case, wrong string) {
	if who == "" {
		return nil, "names no case"
	}
	if c := f.Find(who); c != nil {
		return c, ""
	}
	for i := range f.Cases {
		if f.Cases[i].Name != who {
			continue
		}
		if c != nil {
			return nil, fmt.Sprintf("the cases %s and %s have this name; write the ID", c.ID, f.Cases[i].ID)
		}
		c = &f.Cases[i]
	}
	if c == nil {
		return nil, fmt.Sprintf("there is no case %q", who)
	}
	return c, ""
}

// labelValue reads a cell as the type that an output of the case has.
func (c *Case) labelValue(output, cell string) (v any, wrong string) {
	was, has := c.Expected.Lookup(output)
	if !has {
		if i := slices.IndexFunc(c.Checks, func(k Check) bool { return k.Kind == Equals && k.Output == output }); i >= 0 {
			was, has = c.Checks[i].Value, true
		}
	}
	parsed, err := flow.DecodeJSON([]byte(strings.TrimSpace(cell)))
	if b, isBool := spreadsheetBool(cell); isBool {
		parsed, err = b, nil
	}
	if has && was != nil {
		switch kind := flow.TypeOf(was); {
		case kind == "text":
			return cell, ""
		case err != nil || flow.TypeOf(parsed) != kind:
			return nil, fmt.Sprintf("must be %s, as the case expects now, not %s", typeWord(kind), strconv.Quote(cell))
		}
		return parsed, ""
	}
	if err != nil || bytes.HasPrefix(bytes.TrimSpace([]byte(cell)), []byte(`"`)) && flow.TypeOf(parsed) != "text" {
		return cell, ""
	}
	return parsed, ""
}

// typeWord returns a type with its article.
func typeWord(kind string) string {
	if kind == "object" {
		return "an object"
	}
	if kind == "boolean" {
		return "true or false"
	}
	return "a " + kind
}

// spreadsheetBool reads true and false as spreadsheets write them.
func spreadsheetBool(cell string) (value, is bool) {
	switch strings.ToLower(strings.TrimSpace(cell)) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// Labeled returns the case of a label with its outputs as expected ones. Others stay.
func (l *Label) Labeled() *Case {
	now := l.Case.Expect(l.Expected)
	all := l.Case.Expected.Clone()
	if all == nil {
		all = &flow.Object{}
	}
	for name, v := range l.Expected.All() {
		all.Set(name, v)
	}
	now.Expected = all
	return now
}
