// Package parts stores the outputs of steps that are too large for their row.
//
// Reading the steps of a run, and rewriting a row, take time in proportion to the size of
// the rows. The lists of a map may have 16 MiB, so large outputs of such steps are stored
// apart from the row, and joined when the step is read. The package begins no transaction:
// its caller writes the row and the parts in one.
package parts

import (
	"context"
	"fmt"
	"strings"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/sorting"
)

const (
	// MaxRow is the size in bytes above which the outputs of a bulky step leave its row.
	MaxRow = 1 << 20
	// partSize is the size of a part in bytes.
	partSize = 1 << 20
	// Mark is the value of the column outputs if the outputs are in parts. Outputs are
	// otherwise a JSON object or empty, so they never equal it.
	Mark = "@"
)

// Write stores outputs by path, in place of those of an earlier write.
func Write(ctx context.Context, q *gen.Queries, runID flow.RunID, outputs map[string]string) error {
	for _, path := range sorting.Keys(outputs) {
		if err := q.DeleteStepParts(ctx, gen.DeleteStepPartsParams{RunID: runID, Path: path}); err != nil {
			return fmt.Errorf("replace the outputs of %s:%s: %w", runID, path, err)
		}
		left := outputs[path]
		for part := int64(0); left != ""; part++ {
			n := min(len(left), partSize)
			err := q.InsertStepPart(ctx, gen.InsertStepPartParams{RunID: runID, Path: path, Part: part, Content: []byte(left[:n])})
			if err != nil {
				return fmt.Errorf("write part %d of the outputs of %s:%s: %w", part, runID, path, err)
			}
			left = left[n:]
		}
	}
	return nil
}

// Join puts outputs that are stored in parts into the rows of their steps, which are those with an
// event after a number and those that have not ended. The stored bytes include each mark, so Join adds its size to sizes before it
// replaces it.
func Join(ctx context.Context, q *gen.Queries, runID flow.RunID, after int64, rows []gen.Step, sizes map[string]int64) error {
	joined := map[string]*strings.Builder{}
	for i := range rows {
		if rows[i].Outputs == Mark {
			joined[rows[i].Path] = &strings.Builder{}
		}
	}
	if len(joined) == 0 {
		return nil
	}
	list, err := q.ListStepParts(ctx, gen.ListStepPartsParams{RunID: runID, After: after})
	if err != nil {
		return dbconn.Unreadable(fmt.Errorf("read the outputs of %s: %w", runID, err), "run", runID)
	}
	for _, p := range list {
		if b := joined[p.Path]; b != nil {
			b.Write(p.Content)
		}
	}
	for i := range rows {
		if b := joined[rows[i].Path]; b != nil {
			rows[i].Outputs = b.String()
			sizes[rows[i].Path] += int64(len(Mark))
		}
	}
	return nil
}
