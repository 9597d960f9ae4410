package cases

import "sluice/views/components"

// GridPath returns the path of the cases of a flow as a grid.
func GridPath(flowID string) string { return ListPath(flowID) + "/grid" }

// GridPage is the cases of a flow as a table that people edit and paste into.
type GridPage struct {
	FlowID, Flow string
	LiveVersion  int64
	Set          string // hash of the cases that are shown
	Columns      []GridColumn
	Rows         []GridRow
	Text         string // the table as spreadsheets write it, with the IDs of cases and a header
	Most         int    // rows
	Answer       GridAnswer
}

// GridColumn is a column of the grid.
type GridColumn struct {
	Name  string // in the header of the text, such as in.ticket
	Label string
	Type  string // of an input, or "expected"
}

// GridRow is a case.
type GridRow struct {
	ID    string // "" for a new one
	Cells []string
}

// GridAnswer says what saving a table would do, or did.
type GridAnswer struct {
	Rows    int         `json:"rows"`
	Fresh   int         `json:"fresh"`
	Changed int         `json:"changed"`
	Errors  []GridError `json:"errors"`
	Message string      `json:"message"` // why nothing can be saved
	To      string      `json:"to"`      // the page to show after saving
}

// GridError is what is wrong with a cell.
type GridError struct {
	Row    int    `json:"row"` // from 0, without the header
	Column int    `json:"column"`
	Label  string `json:"label"` // of the column
	Text   string `json:"text"`
}

// where says which cell an error is about.
func (e GridError) where() string {
	return "Row " + components.Count(e.Row+1) + ", " + e.Label + ": " + e.Text
}

// about says what a column has.
func (c GridColumn) about() string {
	switch c.Type {
	case "expected":
		return "expected"
	case "":
		return ""
	}
	return "input, " + c.Type
}
