package cases

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/wording"
	view "sluice/views/cases"
	"sluice/views/components"
	"sluice/views/layout"
)

// Prefixes of the columns of the grid, which has a row for each case.
const (
	inColumn  = "in."
	outColumn = "out."
)

// gridColumn is a column of the grid.
type gridColumn struct {
	view.GridColumn
	in      *contract.Input // of an input
	output  string          // whose expected value it has
	numbers bool            // cases expect numbers there
}

// grid is the cases of a flow as a table.
type grid struct {
	f       *flow.Flow
	file    *cases.File
	columns []gridColumn // the first has names
}

// newGrid returns the grid of a flow. It has no columns for files and secrets, which no cell can hold; cases keep theirs.
func (c *call) newGrid(f *flow.Flow) (*grid, error) {
	file, _, err := c.s.Store.FindCaseFile(c.Ctx(), f.WorkspaceID, f.ID)
	if err != nil {
		return nil, err
	}
	g := &grid{f: f, file: file, columns: []gridColumn{{GridColumn: view.GridColumn{Name: "name", Label: "Name"}}}}
	var outputs []string
	if d, _ := document.ParseDocument(f.Draft); d != nil {
		for _, in := range contract.Inputs(d, c.s.Kinds) {
			if !in.Secret && in.Type != flow.TypeFile && in.Items != flow.TypeFile {
				g.columns = append(g.columns, gridColumn{GridColumn: view.GridColumn{Name: inColumn + in.Name, Label: in.Name, Type: string(in.Type)}, in: &in})
			}
		}
		for _, o := range contract.Outputs(d, c.s.Kinds) {
			outputs = append(outputs, o.Name)
		}
	}
	for i := range file.Cases {
		for name := range file.Cases[i].Expected.All() {
			outputs = append(outputs, name)
		}
	}
	seen := map[string]bool{}
	for _, name := range outputs {
		if seen[name] {
			continue
		}
		seen[name] = true
		numbers := slices.ContainsFunc(file.Cases, func(k cases.Case) bool {
			v, has := k.Expected.Lookup(name)
			return has && flow.TypeOf(v) == string(flow.TypeNumber)
		})
		g.columns = append(g.columns, gridColumn{GridColumn: view.GridColumn{Name: outColumn + name, Label: name, Type: "expected"}, output: name, numbers: numbers})
	}
	return g, nil
}

// cell returns what a case has in a column, as people type it.
func (c *gridColumn) cell(k *cases.Case) string {
	switch {
	case c.in != nil:
		v, has := k.Inputs.Lookup(c.in.Name)
		if s, isText := v.(string); isText && c.in.Type == flow.TypeText || !has {
			return s
		}
		return string(flow.EncodeJSON(v))
	case c.output != "":
		if v, has := k.Expected.Lookup(c.output); has {
			return valueText(v)
		}
		return ""
	}
	if k.Name != "" {
		return k.Name
	}
	return k.ID
}

// commaNumber matches a number with a comma.
var commaNumber = regexp.MustCompile(`^[+-]?\d[\d.]*,\d+$`)

// number reads a number in a cell.
func (c *gridColumn) number(text string) (any, error) {
	text = strings.TrimSpace(text)
	if v, err := flow.DecodeJSON([]byte(text)); err == nil && flow.TypeOf(v) == string(flow.TypeNumber) {
		return v, nil
	}
	if commaNumber.MatchString(text) {
		whole, part, _ := strings.Cut(strings.ReplaceAll(text, ".", ""), ",")
		if len(part) == 3 {
			return nil, flow.Errorf(flow.CodeInputInvalid, "“%s” has a comma. Write %s%s or %s.%s.", text, whole, part, whole, part)
		}
		return nil, flow.Errorf(flow.CodeInputInvalid, "“%s” has a comma. Write %s.%s.", text, whole, part)
	}
	return nil, flow.Errorf(flow.CodeInputInvalid, "Write a number, such as 1.5.")
}

// value reads a cell that is not empty.
func (c *gridColumn) value(text string) (any, error) {
	switch {
	case c.in == nil && c.numbers && commaNumber.MatchString(strings.TrimSpace(text)):
		return c.number(text)
	case c.in == nil:
		return textValue(text), nil
	case c.in.Type == flow.TypeText:
		return text, nil
	case c.in.Type == flow.TypeNumber:
		return c.number(text)
	case c.in.Type == flow.TypeBoolean:
		if word := strings.ToLower(strings.TrimSpace(text)); word == "true" || word == "false" {
			return word == "true", nil
		}
		return nil, flow.Errorf(flow.CodeInputInvalid, "Write TRUE or FALSE.")
	}
	v, err := flow.DecodeJSON([]byte(text))
	if err != nil {
		return nil, flow.Errorf(flow.CodeInputInvalid, "Write JSON, such as [1, 2].")
	}
	return v, nil
}

// read applies a row to a case, which may be nil. It returns nil for an empty row. fail records what is wrong in a column.
func (g *grid) read(row []string, old *cases.Case, fail func(column int, text string)) *cases.Case {
	k := &cases.Case{Inputs: &flow.Object{}}
	if old != nil {
		own := *old
		k = &own
		k.Inputs = old.Inputs.Clone()
	}
	expected := k.Expected.Clone()
	if expected == nil {
		expected = &flow.Object{}
	}
	empty, expects := true, false
	for i := range g.columns {
		c, text := &g.columns[i], ""
		if i < len(row) {
			text = row[i]
		}
		blank := strings.TrimSpace(text) == ""
		if empty = empty && blank; i == 0 {
			if text = strings.TrimSpace(text); old == nil || text != c.cell(old) {
				k.Name = text
			}
			continue
		}
		if old != nil && text == c.cell(old) || old == nil && blank {
			continue
		}
		name, values := c.output, expected
		if c.in != nil {
			name, values = c.in.Name, k.Inputs
		} else {
			expects = true
		}
		if blank {
			values.Delete(name)
		} else if v, err := c.value(text); err != nil {
			fail(i, flow.AsError(err).Message)
		} else {
			values.Set(name, v)
		}
	}
	if empty && old == nil {
		return nil
	}
	if strings.TrimSpace(row[0]) == "" {
		fail(0, "Enter a name.")
	}
	switch {
	case expects && expected.Len() > 0:
		k = k.Expect(expected)
	case expects:
		k.Expected = nil
	}
	if old == nil {
		if k.ID = idOf(k.Name); k.ID == "" && k.Name != "" {
			fail(0, "Use letters or digits in the name.")
		}
		if k.Name == k.ID {
			k.Name = ""
		}
	}
	return k
}

// plan reads all rows of a table. It returns the cases that are new or changed.
func (g *grid) plan(c *call, text string) (list []*cases.Case, a view.GridAnswer) {
	seen := map[string]bool{}
	for i := range g.file.Cases {
		seen[g.file.Cases[i].ID] = true
	}
	rows := readTable(text)
	for i, row := range rows[min(1, len(rows)):] {
		a.Rows++
		failed := false
		fail := func(column int, text string) {
			failed = true
			a.Errors = append(a.Errors, view.GridError{Row: i, Column: column, Label: g.columns[column].Label, Text: text})
		}
		id := row[0]
		if row = row[1:]; len(row) == 0 {
			row = []string{""}
		}
		old := g.file.Find(id)
		if id != "" && old == nil {
			fail(0, "This case was deleted. Reload the grid.")
			continue
		}
		k := g.read(row, old, fail)
		if k == nil || old != nil && old.Same(k) || failed {
			continue
		}
		if old == nil && seen[k.ID] {
			fail(0, fmt.Sprintf("There is a case %s. Choose another name.", k.ID))
			continue
		}
		seen[k.ID] = true
		_, err := c.tests().ParseCase(k.Object())
		if err != nil {
			g.problems(flow.AsError(err), fail)
			continue
		}
		if list = append(list, k); old == nil {
			a.Fresh++
		} else {
			a.Changed++
		}
	}
	if n := len(g.file.Cases) + a.Fresh; n > cases.MaxCases {
		a.Message = fmt.Sprintf("A flow has at most %d cases; these are %d.", cases.MaxCases, n)
	}
	return list, a
}

// problems places the problems of a case in its cells.
func (g *grid) problems(e *flow.Error, fail func(column int, text string)) {
	for _, p := range e.Fields {
		parts := strings.SplitN(strings.TrimPrefix(p.Pointer, "/"), "/", 3)
		at := -1
		if len(parts) > 1 {
			prefix := map[string]string{"inputs": inColumn, "expected": outColumn}[parts[0]]
			at = slices.IndexFunc(g.columns, func(c gridColumn) bool { return prefix != "" && c.Name == prefix+parts[1] })
		}
		fail(max(0, at), wording.Sentence(p.Detail))
	}
	if len(e.Fields) == 0 {
		fail(0, e.Message)
	}
}

// header returns the first row of the table.
func (g *grid) header() []string {
	names := []string{"id"}
	for i := range g.columns {
		names = append(names, g.columns[i].Name)
	}
	return names
}

// page returns the page of the grid. text is a table that was sent and could not be saved, or "".
func (g *grid) page(text string, a view.GridAnswer) view.GridPage {
	p := view.GridPage{FlowID: string(g.f.ID), Flow: g.f.Name, LiveVersion: g.f.LiveVersion, Set: flow.Hash(g.file.Encode()), Answer: a, Most: cases.MaxCases}
	for i := range g.columns {
		p.Columns = append(p.Columns, g.columns[i].GridColumn)
	}
	table := [][]string{g.header()}
	if text != "" {
		table = readTable(text)
	} else {
		for i := range g.file.Cases {
			row := []string{g.file.Cases[i].ID}
			for k := range g.columns {
				row = append(row, g.columns[k].cell(&g.file.Cases[i]))
			}
			table = append(table, row)
		}
	}
	for _, row := range table[min(1, len(table)):] {
		r := view.GridRow{ID: row[0], Cells: make([]string, len(g.columns))}
		copy(r.Cells, row[1:])
		p.Rows = append(p.Rows, r)
	}
	p.Text = writeTable(table)
	return p
}

// showGrid is GET grid.
func showGrid(c *call, f *flow.Flow) error {
	g, err := c.newGrid(f)
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, view.Grid(c.Page("Grid", layout.SectionFlows), g.page("", view.GridAnswer{})))
}

// saveGrid is POST grid: it checks the table or, without an error, saves all of it. The script gets JSON.
func saveGrid(c *call, f *flow.Flow) error {
	g, err := c.newGrid(f)
	if err != nil {
		return err
	}
	text := c.FormValue("table")
	list, a := g.plan(c, text)
	if rows := readTable(text); len(rows) == 0 || !slices.Equal(rows[0], g.header()) {
		a.Message = "The first row must be: " + strings.Join(g.header(), ", ") + ". The inputs or outputs of the flow may have changed; reload the grid."
	} else if c.FormValue("set") != flow.Hash(g.file.Encode()) {
		a.Message = "The cases were changed meanwhile. Copy your rows, reload the grid, and paste them."
	}
	if c.FormValue("act") != "check" && len(a.Errors) == 0 && a.Message == "" {
		err := c.tests().SetCases(c.Ctx(), c.Actor(), f, list)
		if e, ok := c.problem(err); ok {
			a.Message, err = e.Message, nil
		} else if err == nil {
			a.To = view.ListPath(string(f.ID))
			c.Toast(components.ToneOK, fmt.Sprintf("Saved: %d new, %d changed.", a.Fresh, a.Changed))
		}
		if err != nil {
			return err
		}
	}
	switch {
	case strings.Contains(c.Request().Header.Get("Accept"), "application/json"):
		return c.JSON(http.StatusOK, a)
	case a.To != "":
		return c.Redirect(a.To)
	}
	return c.Render(http.StatusUnprocessableEntity, view.Grid(c.Page("Grid", layout.SectionFlows), g.page(text, a)))
}
