package api

import (
	"context"
	"errors"
	"io"
	"slices"

	"sluice/documents"
	"sluice/flow"
	"sluice/flow/contract"
	"sluice/nodes/batches"
)

// maxMembers bounds the different members of the rows of a table without a header.
const maxMembers = 10_000

// openTable opens the table of a batch.
func (s batchServer) openTable(ctx context.Context, ws flow.WorkspaceID, file string) (*documents.Rows, func(), error) {
	f, content, err := s.Files.OpenFile(ctx, ws, file)
	if err != nil {
		return nil, nil, err
	}
	rows, err := s.Tables.OpenRows(ctx, string(ws), f.Name, f.MIME, content)
	if err != nil {
		_ = content.Close() // it was only read
		return nil, nil, tableError(err)
	}
	return rows, func() {
		rows.Close()
		_ = content.Close() // it was only read
	}, nil
}

// tableError returns what a person can fix about a table with its code.
func tableError(err error) error {
	if wrong, ok := errors.AsType[*documents.Error](err); ok {
		return flow.Errorf(flow.CodeBatchInvalid, "%s", wrong.Message)
	}
	return err
}

// checkTable reads the header and the first rows, and completes the spec. It holds one row at a time, because each may have 1 MiB.
func (c *Call) checkTable(spec *batches.Spec, inputs []contract.Input, b *batchRequest) error {
	if _, err := c.findFile(c.Key, b.file); err != nil {
		return err
	}
	checked := 0
	var problems []flow.Problem
	check := func(row documents.Row) {
		if detail := rowProblem(c.Request().Context(), spec, inputs, row); detail != "" && len(problems) < flow.MaxRowErrors {
			problems = append(problems, flow.RowProblem(row.Number, checked, detail))
		}
		checked++
	}
	match := func(columns []string) error {
		var wrong []flow.Problem
		if spec.Columns = columns; len(columns) > maxMembers {
			return flow.Errorf(flow.CodeBatchInvalid, "The rows have more than %d different members.", maxMembers)
		}
		if spec.Inputs, wrong = batches.Match(inputs, columns, b.columns); len(wrong) > 0 {
			return &flow.Error{Code: flow.CodeBatchInvalid, Message: "The columns do not fit the inputs of the flow. " + wrong[0].Detail + ".", Fields: wrong}
		}
		return nil
	}
	rows := 0
	var members columnNames // of JSON Lines, which have no header
	err := c.eachFirstRow(spec, b.file, func(header []string, row documents.Row) error {
		if rows++; header == nil {
			members.add(row)
			return nil
		}
		if rows == 1 {
			if err := match(slices.Clone(header)); err != nil {
				return err
			}
		}
		check(row)
		return nil
	})
	switch {
	case err != nil:
		return err
	case rows == 0:
		return flow.Errorf(flow.CodeBatchInvalid, "The file has no rows.")
	case checked == 0:
		if err := match(members.list); err != nil {
			return err
		}
		if err := c.eachFirstRow(spec, b.file, func(_ []string, row documents.Row) error { check(row); return nil }); err != nil {
			return err
		}
	}
	if len(problems) > 0 && !spec.SkipInvalid {
		return &flow.Error{Code: flow.CodeBatchInvalid, Message: "Rows are invalid, so nothing was started. " + problems[0].Detail, Fields: problems}
	}
	return nil
}

// eachFirstRow calls each with the header of a table, nil for JSON Lines, and the rows that are checked before a batch is accepted.
func (c *Call) eachFirstRow(spec *batches.Spec, file string, each func(header []string, row documents.Row) error) error {
	rows, done, err := batchServer{c.s}.openTable(c.Request().Context(), c.Key.WorkspaceID, file)
	if err != nil {
		return err
	}
	defer done()
	for n := 0; n < batches.CheckedRows && (spec.Sample == 0 || n < spec.Sample); n++ {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return tableError(err)
		}
		if err := each(rows.Columns, row); err != nil {
			return err
		}
	}
	return nil
}

// rowProblem says what is wrong with a row, or returns "".
func rowProblem(ctx context.Context, spec *batches.Spec, inputs []contract.Input, row documents.Row) string {
	given, wrong := spec.InputsOf(ctx, row.Values)
	if wrong != nil {
		return wrong.Message
	}
	if _, bad := contract.Check(inputs, given, true); len(bad) > 0 {
		return contract.Reasons(bad) + "."
	}
	return ""
}

// columnNames are the members of rows, in the order of their first occurrence.
type columnNames struct {
	list  []string
	known map[string]bool
}

// add adds those of a row.
func (n *columnNames) add(row documents.Row) {
	if n.known == nil {
		n.known = map[string]bool{}
	}
	for name := range row.Values.All() {
		if !n.known[name] && len(n.list) <= maxMembers {
			n.known[name], n.list = true, append(n.list, name)
		}
	}
}
