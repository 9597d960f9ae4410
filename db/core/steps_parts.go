package core

import (
	"context"
	"fmt"
	"strings"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// Reading the steps of a run, and rewriting a row, cost as much as the rows are large. The
// lists of a map may have 16 MiB, so large outputs of such steps are stored apart from the
// row, in parts, and joined when the step is read.

const (
	// maxRowOutputs is the size in bytes above which the outputs of a bulky step leave
	// its row.
	maxRowOutputs = 1 << 20
	// partSize is the size of a part in bytes.
	partSize = 1 << 20
	// apart begins the column outputs of a step whose outputs are in parts. Outputs
	// are a JSON object, which cannot begin with it.
	apart = "@"
)

// takeParts replaces the large outputs of bulky steps in flattened rows by a mark, and
// returns them by path. It returns nil if there are none.
func takeParts(rows []any, steps []flow.Step) (parts map[string]string) {
	for i := range steps {
		at := i*len(stepColumns) + stepOutputs
		outputs := rows[at].(string)
		if !steps[i].Bulky || len(outputs) <= maxRowOutputs {
			continue
		}
		if parts == nil {
			parts = map[string]string{}
		}
		parts[steps[i].Path], rows[at] = outputs, apart
	}
	return parts
}

// writeParts stores outputs that takeParts has taken, in place of those of an earlier
// write.
func (tx *Tx) writeParts(runID string, parts map[string]string) error {
	for _, path := range flow.SortedNames(parts) {
		if err := tx.DeleteStepParts(tx.Ctx, gen.DeleteStepPartsParams{RunID: runID, Path: path}); err != nil {
			return fmt.Errorf("replace the outputs of %s:%s: %w", runID, path, err)
		}
		left := parts[path]
		for part := int64(0); left != ""; part++ {
			n := min(len(left), partSize)
			err := tx.InsertStepPart(tx.Ctx, gen.InsertStepPartParams{RunID: runID, Path: path, Part: part, Content: []byte(left[:n])})
			if err != nil {
				return fmt.Errorf("write part %d of the outputs of %s:%s: %w", part, runID, path, err)
			}
			left = left[n:]
		}
	}
	return nil
}

// joinParts puts outputs that are stored in parts into the rows of their steps. The marks
// are counted in sizes, because the rows lose them.
func (s Execution) joinParts(ctx context.Context, runID string, rows []gen.Step, sizes map[string]int64) error {
	joined := map[string]*strings.Builder{}
	for i := range rows {
		if rows[i].Outputs == apart {
			joined[rows[i].Path] = &strings.Builder{}
		}
	}
	if len(joined) == 0 {
		return nil
	}
	parts, err := s.Reads.ListStepParts(ctx, runID)
	if err != nil {
		return dbconn.Unreadable(fmt.Errorf("read the outputs of %s: %w", runID, err), "run", runID)
	}
	for _, p := range parts {
		if b := joined[p.Path]; b != nil {
			b.Write(p.Content)
		}
	}
	for i := range rows {
		if b := joined[rows[i].Path]; b != nil {
			rows[i].Outputs = b.String()
			sizes[rows[i].Path] += int64(len(apart))
		}
	}
	return nil
}

// WaitingSteps lists what the waiting steps of a run are, without their content.
func (s Execution) WaitingSteps(ctx context.Context, ws flow.WorkspaceID, runID string) ([]flow.WaitingStep, error) {
	rows, err := s.Reads.ListWaitingSteps(ctx, gen.ListWaitingStepsParams{RunID: runID, WorkspaceID: ws})
	if err != nil {
		return nil, fmt.Errorf("list the waiting steps of %s: %w", runID, err)
	}
	return dbconn.MapRows(rows, func(r gen.ListWaitingStepsRow) flow.WaitingStep {
		return flow.WaitingStep{Kind: r.Kind, HasState: r.HasState != 0}
	}), nil
}
