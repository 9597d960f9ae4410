package jobs

import (
	"fmt"
	"iter"

	"sluice/flow"
)

// pages returns the items of a request, childPage at a time, so that those of a table are never in memory
// together.
func pages(req flow.ChildRequest) iter.Seq2[[]flow.ChildRow, error] {
	rows := req.Rows
	if rows == nil {
		rows = func(yield func(flow.ChildRow, error) bool) {
			for _, inputs := range req.Items {
				if !yield(flow.ChildRow{Inputs: inputs}, nil) {
					return
				}
			}
		}
	}
	return func(yield func([]flow.ChildRow, error) bool) {
		page := make([]flow.ChildRow, 0, childPage)
		for row, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			if page = append(page, row); len(page) == childPage {
				if !yield(page, nil) {
					return
				}
				page = page[:0]
			}
		}
		if len(page) > 0 {
			yield(page, nil)
		}
	}
}

// invalidRows collects the first rows of a table that cannot start.
type invalidRows struct {
	count  int
	fields []flow.Problem
}

// add adds a row; number is its place in the file.
func (r *invalidRows) add(number, item int, e *flow.Error) {
	if r.count++; len(r.fields) < flow.MaxRowErrors {
		r.fields = append(r.fields, flow.RowProblem(number, item, e.Message))
	}
}

// err returns the error for all of them.
func (r *invalidRows) err() error {
	what := "1 row is invalid"
	if r.count > 1 {
		what = fmt.Sprintf("%d rows are invalid", r.count)
	}
	return &flow.Error{Code: flow.CodeBatchInvalid, Message: what + ", so nothing was started. " + r.fields[0].Detail, Fields: r.fields}
}
