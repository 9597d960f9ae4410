package core

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/db/parts"
	"sluice/flow"
	"sluice/flow/sorting"
)

// stepColumns are the columns of a step in the order of stepRows.
var stepColumns = []column{
	{"run_id", text}, {"path", text}, {"workspace_id", text}, {"node", text}, {"kind", text}, {"state", text}, {"attempt", integer}, {"failures", integer},
	{"node_hash", text}, {"input_hash", text}, {"input_tokens", integer}, {"output_tokens", integer}, {"cost_nano_usd", integer}, {"cached_tokens", integer},
	{"reasoning_tokens", integer}, {"unpriced_steps", integer}, {"seq", integer}, {"output_seq", integer}, {"started_at", integer}, {"ended_at", integer},
	{"wait_until", integer}, {"untrusted", integer}, {"error", text}, {"saved", text}, {"input", text}, {"outputs", text}, {"attempts", text},
}

var (
	// stepOutputs is the index of the column outputs in stepColumns.
	stepOutputs = slices.Index(stepColumns, column{"outputs", text})
	// stepContent is the index of the first column in stepColumns that counts toward
	// a quota: error, saved, input, outputs and attempts.
	stepContent = slices.Index(stepColumns, column{"error", text})
)

// maxStepRows bounds the rows of one statement. SQLite accepts 32,766 parameters.
const maxStepRows = 64

// stepStatements holds the upsert of n rows at index n. sqlc cannot generate a
// statement for a varying number of rows, and one statement per step is three
// times slower.
var stepStatements = func() (list [maxStepRows + 1]string) {
	for n := 1; n <= maxStepRows; n++ {
		list[n] = stepStatement(n)
	}
	return list
}()

// stepStatement returns the upsert of a number of steps. The text depends only on that
// number, so prepared statements can be reused.
func stepStatement(rows int) string {
	return "INSERT INTO steps (" + names("", stepColumns) + ") VALUES " + dbconn.Placeholders(rows, len(stepColumns)) +
		" ON CONFLICT (run_id, path) DO UPDATE SET " + assignExcluded(stepColumns[3:]) + endReservation
}

// endReservation releases the budget reservation of a step that stops running. A step
// that waits with a saved state keeps it, because its call still costs money.
const endReservation = ", reserved = CASE WHEN excluded.state = 'running' OR (excluded.state = 'waiting' AND excluded.saved <> '') THEN steps.reserved ELSE 0 END"

// UsageOf returns the usage in the columns of a row.
func UsageOf(input, output, cached, reasoning, unpriced int64, cost flow.NanoUSD) flow.Usage {
	return flow.Usage{InputTokens: input, OutputTokens: output, CachedTokens: cached, ReasoningTokens: reasoning, UnpricedSteps: unpriced, CostNanoUSD: cost}
}

// stepRows flattens steps into parameters.
func stepRows(texts *dbconn.Texts, run *flow.Run, steps []flow.Step) []any {
	args := make([]any, 0, len(steps)*len(stepColumns))
	for i := range steps {
		s := &steps[i]
		args = append(args, string(run.ID), s.Path, string(run.WorkspaceID), s.Node, s.Kind, string(s.State),
			int64(s.Attempt), int64(s.Failures), s.NodeHash, s.InputHash,
			s.Usage.InputTokens, s.Usage.OutputTokens, int64(s.Usage.CostNanoUSD), s.Usage.CachedTokens, s.Usage.ReasoningTokens, s.Usage.UnpricedSteps, s.Seq, s.OutputSeq,
			dbconn.Micros(s.StartedAt), dbconn.Micros(s.EndedAt), dbconn.Micros(s.WaitUntil), dbconn.BoolInt(s.Untrusted),
			dbconn.EncodeError(s.Error), texts.EncodeAny(s.Saved), texts.EncodeMap(s.Input), texts.EncodeMap(s.Outputs), dbconn.EncodeList(s.Attempts))
	}
	return args
}

// stepSizes returns the number of bytes of flattened steps that count toward a
// quota, by path.
func stepSizes(args []any) map[string]int64 {
	sizes := make(map[string]int64, len(args)/len(stepColumns)+1)
	for row := range slices.Chunk(args, len(stepColumns)) {
		var n int
		for _, text := range row[stepContent:] {
			n += len(text.(string))
		}
		sizes[row[1].(string)] = int64(n)
	}
	return sizes
}

// takeParts replaces the large outputs of bulky steps in flattened rows by a mark, and
// returns them by path. It returns nil if no outputs are large.
func takeParts(rows []any, steps []flow.Step) (large map[string]string) {
	for i := range steps {
		at := i*len(stepColumns) + stepOutputs
		outputs := rows[at].(string)
		if !steps[i].Bulky || len(outputs) <= parts.MaxRow {
			continue
		}
		if large == nil {
			large = map[string]string{}
		}
		large[steps[i].Path], rows[at] = outputs, parts.Mark
	}
	return large
}

// sizeOfSteps returns the sum of stepSizes.
func sizeOfSteps(args []any) (n int64) {
	for _, size := range stepSizes(args) {
		n += size
	}
	return n
}

// writeSteps upserts flattened steps.
func (tx *Tx) writeSteps(args []any) error {
	for chunk := range slices.Chunk(args, maxStepRows*len(stepColumns)) {
		if _, err := tx.DBTX.ExecContext(tx.Ctx, stepStatements[len(chunk)/len(stepColumns)], chunk...); err != nil {
			return fmt.Errorf("write steps: %w", err)
		}
	}
	return nil
}

// allSteps is the number of an event before the first.
const allSteps = -1

// FindSteps returns the steps of a run, by path.
func (s Execution) FindSteps(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Step, error) {
	return s.findSteps(ctx, ws, runID, allSteps, map[string]int64{})
}

// FindChangedSteps returns the steps of a run that have an event with a number above after, and those
// that run or wait, by path. A client that reconnects has the start of a running step, but not its text.
func (s Execution) FindChangedSteps(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, after int64) ([]flow.Step, error) {
	return s.findSteps(ctx, ws, runID, after, map[string]int64{})
}

// FindStepOutputs returns the outputs of one step, without reading the others. It returns nil if there
// is no such step, or if its outputs are stored in parts.
func (s Execution) FindStepOutputs(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, path string) (map[string]any, error) {
	text, err := s.DB.Reads.FindStepOutputs(ctx, gen.FindStepOutputsParams{RunID: runID, Path: path, WorkspaceID: ws})
	if dbconn.IsNoRows(err) || text == parts.Mark {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the outputs of %s:%s: %w", runID, path, err)
	}
	return dbconn.Decode[map[string]any](text)
}

// findSteps also adds the size of each step to sizes.
func (s Execution) findSteps(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, after int64, sizes map[string]int64) ([]flow.Step, error) {
	what := "steps of " + string(runID)
	if err := takeMemory(ctx, what, func() (int64, error) {
		return s.DB.Reads.WeighSteps(ctx, gen.WeighStepsParams{RunID: runID, After: after})
	}); err != nil {
		return nil, err
	}
	rows, err := s.DB.Reads.ListSteps(ctx, gen.ListStepsParams{RunID: runID, WorkspaceID: ws, After: after})
	if err != nil {
		return nil, dbconn.Unreadable(fmt.Errorf("list steps of %s: %w", runID, err), "run", runID)
	}
	return s.decodeSteps(ctx, runID, after, rows, sizes)
}

// FindNodeSteps returns the steps of the nodes of a run, by path: all but sub-steps.
func (s Execution) FindNodeSteps(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Step, error) {
	rows, err := s.DB.Reads.ListNodeSteps(ctx, gen.ListNodeStepsParams{RunID: runID, WorkspaceID: ws})
	if err != nil {
		return nil, dbconn.Unreadable(fmt.Errorf("list steps of %s: %w", runID, err), "run", runID)
	}
	return s.decodeSteps(ctx, runID, allSteps, rows, map[string]int64{})
}

// FindStep returns one step of a run, or nil.
func (s Execution) FindStep(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, path string) (*flow.Step, error) {
	row, err := s.DB.Reads.FindStep(ctx, gen.FindStepParams{RunID: runID, WorkspaceID: ws, Path: path})
	if dbconn.IsNoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read step %s of %s: %w", path, runID, err)
	}
	steps, err := s.decodeSteps(ctx, runID, allSteps, []gen.Step{row}, map[string]int64{})
	if err != nil {
		return nil, err
	}
	return &steps[0], nil
}

// FindStepHeads returns the steps of a run whose path begins with a prefix, without input, outputs,
// attempts and saved state, in the order of flow.CompareSubSteps.
func (s Execution) FindStepHeads(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, prefix string) ([]flow.Step, error) {
	rows, err := s.DB.Reads.ListStepHeads(ctx, gen.ListStepHeadsParams{RunID: runID, WorkspaceID: ws, Prefix: prefix, PrefixLength: int32(len(prefix))})
	return partialSteps(runID, rows, err)
}

// FindTracedSteps returns what a trace shows of the steps of a run: without input, outputs and saved state, in the order of
// flow.CompareSubSteps.
func (s Execution) FindTracedSteps(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Step, error) {
	rows, err := s.DB.Reads.ListTracedSteps(ctx, gen.ListTracedStepsParams{RunID: runID, WorkspaceID: ws})
	return partialSteps(runID, rows, err)
}

// FindCaseSteps returns the steps of a run of a test case, with the outputs of webhooks and searches only, in the order of flow.CompareSubSteps.
func (s Execution) FindCaseSteps(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Step, error) {
	rows, err := s.DB.Reads.ListCaseSteps(ctx, gen.ListCaseStepsParams{RunID: runID, WorkspaceID: ws})
	return partialSteps(runID, rows, err)
}

// FindStepOutlines returns the sub-steps of a run without outputs and saved states, and with inputs and
// attempts only where they are short, in the order of flow.CompareSubSteps.
func (s Execution) FindStepOutlines(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Step, error) {
	rows, err := s.DB.Reads.ListStepOutlines(ctx, gen.ListStepOutlinesParams{RunID: runID, WorkspaceID: ws})
	return partialSteps(runID, rows, err)
}

// partialSteps decodes rows that have some of the columns of steps, as their query returned them, and
// sorts the steps by flow.CompareSubSteps. Columns are matched by name, so that a query alone decides
// what it reads.
func partialSteps[R any](runID flow.RunID, rows []R, err error) ([]flow.Step, error) {
	if err != nil {
		return nil, dbconn.Unreadable(fmt.Errorf("list steps of %s: %w", runID, err), "run", runID)
	}
	of, step := reflect.TypeFor[R](), reflect.TypeFor[gen.Step]()
	columns := make([]int, of.NumField())
	for i := range columns {
		field, known := step.FieldByName(of.Field(i).Name)
		if !known {
			panic("steps have no column " + of.Field(i).Name)
		}
		columns[i] = field.Index[0]
	}
	steps := make([]flow.Step, len(rows))
	for i := range rows {
		var r gen.Step
		from, to := reflect.ValueOf(&rows[i]).Elem(), reflect.ValueOf(&r).Elem()
		for k, column := range columns {
			to.Field(column).Set(from.Field(k))
		}
		if steps[i], err = stepOf(&r); err != nil {
			return nil, dbconn.Unreadable(fmt.Errorf("step %s of %s: %w", r.Path, runID, err), "run", runID)
		}
	}
	sorting.By(steps, func(a, b flow.Step) int { return flow.CompareSubSteps(a.Path, b.Path) })
	return steps, nil
}

// decodeSteps decodes rows and adds the size of each to sizes.
func (s Execution) decodeSteps(ctx context.Context, runID flow.RunID, after int64, rows []gen.Step, sizes map[string]int64) (steps []flow.Step, err error) {
	if err := parts.Join(ctx, s.DB.Reads, runID, after, rows, sizes); err != nil {
		return nil, err
	}
	texts := make([]string, 0, 3*len(rows))
	for i := range rows {
		texts = append(texts, rows[i].Input, rows[i].Outputs, rows[i].Saved)
	}
	if err := countMemory(ctx, "steps of "+string(runID), texts...); err != nil {
		return nil, err
	}
	steps = make([]flow.Step, len(rows))
	for i := range rows {
		r := &rows[i]
		sizes[r.Path] += int64(len(r.Error) + len(r.Saved) + len(r.Input) + len(r.Outputs) + len(r.Attempts))
		if steps[i], err = stepOf(r); err != nil {
			return nil, dbconn.Unreadable(fmt.Errorf("step %s of %s: %w", rows[i].Path, runID, err), "run", runID)
		}
	}
	sorting.By(steps, func(a, b flow.Step) int { return strings.Compare(a.Path, b.Path) })
	return steps, nil
}

// stepOf decodes a row whose outputs were joined; see parts.Join.
func stepOf(r *gen.Step) (s flow.Step, err error) {
	s = flow.Step{
		Path: r.Path, Node: r.Node, Kind: r.Kind, State: flow.StepState(r.State),
		Attempt: int(r.Attempt), Failures: int(r.Failures), NodeHash: r.NodeHash, InputHash: r.InputHash,
		Usage: UsageOf(r.InputTokens, r.OutputTokens, r.CachedTokens, r.ReasoningTokens, r.UnpricedSteps, r.CostNanoUsd),
		Seq:   r.Seq, OutputSeq: r.OutputSeq,
		StartedAt: dbconn.TimeOf(r.StartedAt), EndedAt: dbconn.TimeOf(r.EndedAt), WaitUntil: dbconn.TimeOf(r.WaitUntil), Untrusted: r.Untrusted != 0,
	}
	if s.Error, err = dbconn.Decode[*flow.Error](r.Error); err != nil {
		return s, err
	}
	if s.Saved, err = dbconn.Decode[any](r.Saved); err != nil {
		return s, err
	}
	if s.Input, err = dbconn.Decode[map[string]any](r.Input); err != nil {
		return s, err
	}
	if s.Outputs, err = dbconn.Decode[map[string]any](r.Outputs); err != nil {
		return s, err
	}
	s.Attempts, err = dbconn.Decode[[]flow.Attempt](r.Attempts)
	return s, err
}

// DurationOf returns the duration that a column holds in microseconds.
func DurationOf(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
