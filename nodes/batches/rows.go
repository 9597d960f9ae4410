package batches

import (
	"context"
	"errors"
	"io"
	"iter"

	"sluice/documents"
	"sluice/flow"
	"sluice/flow/contract"
)

// Tables opens tables.
type Tables interface {
	OpenRows(ctx context.Context, group, name, mime string, content io.ReadSeeker) (*documents.Rows, error)
}

// Rows returns the rows of a file as inputs of child runs. The file is read while they are taken, so memory stays flat for any size.
func (s *Spec) Rows(ctx context.Context, tables Tables, in *flow.In, file any) iter.Seq2[flow.ChildRow, error] {
	return func(yield func(flow.ChildRow, error) bool) {
		n := 0
		err := eachRow(ctx, tables, in, file, func(_ []string, row documents.Row) bool {
			inputs, wrong := s.InputsOf(ctx, row.Values)
			n++
			return yield(flow.ChildRow{Number: row.Number, Inputs: inputs, Error: wrong}, nil) && n != s.Sample
		})
		if err != nil {
			yield(flow.ChildRow{}, err)
		}
	}
}

// MatchFile returns how the inputs of a flow are made of the rows of a file: from the columns or expressions in chosen, or else
// from columns with their names, or else they are as in given for every row. inputs is nil if those of the flow are not known: each column is
// then an input.
func MatchFile(ctx context.Context, tables Tables, in *flow.In, file any, inputs []contract.Input, chosen map[string]string, given *flow.Object) (*Spec, error) {
	var columns []string
	known, rows := map[string]bool{}, 0
	err := eachRow(ctx, tables, in, file, func(header []string, row documents.Row) bool {
		if rows++; header != nil {
			columns = header
			return false
		}
		for name := range row.Values.All() { // JSON Lines
			if !known[name] {
				known[name], columns = true, append(columns, name)
			}
		}
		return rows < CheckedRows
	})
	if err != nil {
		return nil, err
	}
	if rows == 0 {
		return &Spec{}, nil
	}
	if inputs == nil {
		for _, name := range append(columns, given.Names()...) {
			inputs = append(inputs, contract.Input{Name: name})
		}
		for name := range chosen {
			inputs = append(inputs, contract.Input{Name: name})
		}
	}
	for i := range inputs {
		inputs[i].Required = inputs[i].Required && !given.Has(inputs[i].Name)
	}
	sources, problems := Match(inputs, columns, chosen)
	if len(problems) > 0 {
		return nil, &flow.Error{Code: flow.CodeBatchInvalid, Message: "The columns do not fit the inputs of the flow: " + problems[0].Detail + ".", Fields: problems}
	}
	return &Spec{Inputs: sources, given: given}, nil
}

// eachRow calls each with the header of a file, nil for JSON Lines, and its rows, until it returns false.
func eachRow(ctx context.Context, tables Tables, in *flow.In, file any, each func(header []string, row documents.Row) bool) error {
	f, content, err := in.OpenFile(ctx, file)
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // it was only read
	rows, err := tables.OpenRows(ctx, string(in.WorkspaceID), f.Name, f.MIME, content)
	if err != nil {
		return tableError(err)
	}
	defer rows.Close()
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return tableError(err)
		}
		if !each(rows.Columns, row) {
			return nil
		}
	}
}

// tableError returns what a person can fix about a table with its code.
func tableError(err error) error {
	if wrong, ok := errors.AsType[*documents.Error](err); ok {
		return &flow.Error{Code: flow.CodeBatchInvalid, Message: wrong.Error()}
	}
	return err
}
