package library

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/sorting"
	"sluice/flow/value"
)

// FromRuns asks for test cases that are made from runs.
type FromRuns struct {
	Runs    []flow.RunID   // these; none: those of Filter
	Filter  flow.RunFilter // its states default to all that have ended
	Sample  int            // how many cases; 0: 50
	Spread  cases.Spread
	Secrets map[string]string // by secret input: the credential that its cases name
	Tags    []string
	Preview bool // nothing is stored
	// Instead is stored in place of the suggested case of the only run, which a person has changed.
	Instead *cases.Case
}

// FromRun is the outcome for a run.
type FromRun struct {
	RunID   flow.RunID
	Case    *cases.Case // nil if the run was left out
	Created bool
	Skipped string // why the run was left out
	// Unrecorded are nodes whose results cannot be recorded, because they go into a field for a secret: the case needs stubs of them.
	Unrecorded []string
}

const (
	// fromRunsSample is how many cases are made of the runs of a filter by default.
	fromRunsSample = 50
	// fromRunsLooked is how many runs of a filter are looked at.
	fromRunsLooked = 1_000
	fromRunsPage   = 100
)

// FromRuns makes test cases from runs of a flow, and stores them with recordings of the steps of the runs that left the process. Runs
// with the inputs of a case, or of another run, are left out. A run that was asked for by its ID and cannot become a case is an error.
func (s *Tests) FromRuns(ctx context.Context, by flow.Actor, f *flow.Flow, r FromRuns) ([]FromRun, error) {
	if s.Past == nil {
		return nil, flow.Errorf(flow.CodeInternal, "This server cannot make cases from runs.")
	}
	if err := s.allCanTest(ctx); err != nil {
		return nil, err
	}
	file, _, err := s.Store.FindCaseFile(ctx, f.WorkspaceID, f.ID)
	if err != nil {
		return nil, err
	}
	known := map[string]string{} // IDs of cases by the hash of their inputs
	for i := range file.Cases {
		hash, err := s.inputsHash(ctx, f.WorkspaceID, file.Cases[i].Inputs)
		if err != nil {
			return nil, err
		}
		known[hash] = file.Cases[i].ID
	}
	if len(r.Runs) > 0 {
		list := make([]FromRun, 0, len(r.Runs))
		for _, id := range r.Runs {
			run, err := s.Store.FindRun(ctx, f.WorkspaceID, f.ID, id)
			if err != nil {
				return nil, err
			}
			one, err := s.fromRun(ctx, by, f, run, &r, known)
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		return list, nil
	}
	runs, err := s.runsOf(ctx, f, &r)
	if err != nil {
		return nil, err
	}
	var list []FromRun
	for i, made := 0, 0; i < len(runs) && made < cmp.Or(r.Sample, fromRunsSample); i++ {
		run, err := s.Store.FindRun(ctx, f.WorkspaceID, f.ID, runs[i].ID)
		if flow.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		one, err := s.fromRun(ctx, by, f, run, &r, known)
		if e := flow.AsError(err); err != nil && e.Code != flow.CodeInternal && e.Code != flow.CodeQuotaExceeded && e.Code != flow.CodeStorageFull {
			one, err = FromRun{RunID: run.ID, Skipped: e.Message}, nil
		}
		if err != nil {
			return nil, err
		}
		if one.Case != nil {
			made++
		}
		list = append(list, one)
	}
	return list, nil
}

// runsOf returns the runs of a filter in the order in which they become cases.
func (s *Tests) runsOf(ctx context.Context, f *flow.Flow, r *FromRuns) ([]flow.Run, error) {
	filter := r.Filter
	filter.WorkspaceID, filter.FlowID, filter.Limit = f.WorkspaceID, f.ID, fromRunsPage
	if len(filter.States) == 0 {
		filter.States = []flow.RunState{flow.RunSucceeded, flow.RunFailed}
	}
	var runs []flow.Run
	branches := map[flow.RunID]string{}
	for len(runs) < fromRunsLooked {
		page, err := s.Store.ListRuns(ctx, filter)
		if err != nil {
			return nil, err
		}
		for i := range page {
			run := page[i]
			run.Inputs, run.Outputs, run.Metadata = nil, nil, nil // they may be large, and are read again
			if r.Spread == cases.SpreadSwitch {
				heads, err := s.Store.FindStepHeads(ctx, f.WorkspaceID, run.ID, "")
				if err != nil {
					return nil, err
				}
				branches[run.ID] = cases.BranchesOf(heads)
			}
			runs = append(runs, run)
		}
		if len(page) < filter.Limit {
			break
		}
		filter.BeforeID = string(page[len(page)-1].ID)
	}
	switch r.Spread {
	case cases.SpreadStatus:
		runs = cases.PickEvenly(runs, func(run flow.Run) string {
			if run.Error != nil {
				return string(run.State) + " " + string(run.Error.Code)
			}
			return string(run.State)
		})
	case cases.SpreadSwitch:
		runs = cases.PickEvenly(runs, func(run flow.Run) string { return branches[run.ID] })
	}
	return runs, nil
}

// fromRun makes a case from a run, and stores it unless only a preview was asked for.
func (s *Tests) fromRun(ctx context.Context, by flow.Actor, f *flow.Flow, run *flow.Run, r *FromRuns, known map[string]string) (out FromRun, err error) {
	out.RunID = run.ID
	if err := cases.MayBecome(run); err != nil {
		return out, err
	}
	past, err := s.Past(ctx, run)
	if err != nil {
		return out, err
	}
	c := cases.FromPast(run, past, r.Secrets)
	c.Tags = r.Tags
	if r.Instead != nil {
		c = r.Instead
	}
	hash, err := s.inputsHash(ctx, f.WorkspaceID, c.Inputs)
	if err != nil {
		return out, err
	}
	if id, has := known[hash]; has {
		out.Skipped = fmt.Sprintf("The case %s has the same inputs.", id)
		return out, nil
	}
	if _, problems := cases.ParseCase(c.Object(), nil); len(problems) > 0 {
		return out, caseInvalid(problems)
	}
	out.Case, out.Unrecorded, known[hash] = c, past.Unrecorded, c.ID
	if r.Preview {
		return out, nil
	}
	if err := s.saveRecordings(ctx, f, past); err != nil {
		return out, err
	}
	out.Created, err = s.SetCase(ctx, by, f, c)
	return out, err
}

// OfRun returns the cases that were made from a run. With erase, it deletes them, also in reports and in earlier revisions of the file.
func (s *Tests) OfRun(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, runID flow.RunID, erase bool) ([]cases.OfRun, error) {
	list, err := s.Store.ListCasesOfRun(ctx, ws, runID)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if !erase {
			continue
		}
		f, err := s.Library.Store.FindFlow(ctx, ws, list[i].FlowID)
		if err != nil {
			return nil, err
		}
		if err := s.DeleteCase(ctx, by, f, list[i].ID); err != nil && !flow.IsNotFound(err) {
			return nil, err
		}
		list[i].Erased = true
	}
	if !erase {
		return list, nil
	}
	run, err := s.Store.FindRun(ctx, ws, "", runID)
	if err != nil {
		return nil, err
	}
	flows := []flow.FlowID{run.FlowID}
	for i := range list {
		flows = append(flows, list[i].FlowID)
	}
	slices.Sort(flows)
	for _, id := range slices.Compact(flows) {
		if err := s.Store.EraseCopies(ctx, ws, id, runID); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// inputsHash returns a hash of inputs in which files count by their content, and credentials do not count.
func (s *Tests) inputsHash(ctx context.Context, ws flow.WorkspaceID, given *flow.Object) (string, error) {
	files, err := s.Store.FindFiles(ctx, ws, flow.FileIDs(given))
	if err != nil {
		return "", err
	}
	inputs := map[string]any{}
	for name, v := range given.All() {
		if _, isRef := flow.SecretRef(v); !isRef {
			inputs[name] = v
		}
	}
	return value.Hash([]any{flow.MapFiles(inputs, func(id string, file map[string]any) map[string]any {
		if f := files[id]; f != nil {
			return map[string]any{"sha256": f.Hash}
		}
		return file
	})}), nil
}

// backtest returns cases made of the runs of a filter, with the checks that hold for all cases of the flow and checks of the outputs of the
// runs. Only the recordings of the runs are stored. Runs that did not succeed have nothing to compare with and are left out.
func (s *Tests) backtest(ctx context.Context, f *flow.Flow, of *cases.File, r *FromRuns) (*cases.File, error) {
	if s.Past == nil {
		return nil, flow.Errorf(flow.CodeInternal, "This server cannot test on runs.")
	}
	own := *r
	own.Filter.States = []flow.RunState{flow.RunSucceeded}
	runs, err := s.runsOf(ctx, f, &own)
	if err != nil {
		return nil, err
	}
	file := &cases.File{Defaults: of.Defaults}
	known := map[string]bool{}
	for i := 0; i < len(runs) && len(file.Cases) < cmp.Or(r.Sample, fromRunsSample); i++ {
		run, err := s.Store.FindRun(ctx, f.WorkspaceID, f.ID, runs[i].ID)
		if flow.IsNotFound(err) || err == nil && cases.MayBecome(run) != nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		past, err := s.Past(ctx, run)
		if e := flow.AsError(err); err != nil && e.Code != flow.CodeInternal {
			continue // it is too large, or its document is one of an earlier release
		}
		if err != nil {
			return nil, err
		}
		c := cases.FromPast(run, past, r.Secrets)
		hash, err := s.inputsHash(ctx, f.WorkspaceID, c.Inputs)
		if err != nil {
			return nil, err
		}
		if _, problems := cases.ParseCase(c.Object(), nil); known[hash] || len(problems) > 0 {
			continue
		}
		known[hash] = true
		file.Cases = append(file.Cases, *c)
		if err := s.saveRecordings(ctx, f, past); err != nil {
			return nil, err
		}
	}
	if len(file.Cases) == 0 {
		return nil, testInvalid("/cases/runs", "unknown", "no run that succeeded matches the filter and is saved")
	}
	sorting.By(file.Cases, func(a, b cases.Case) int { return strings.Compare(a.ID, b.ID) })
	return file, nil
}

// saveRecordings stores the recordings of a run.
func (s *Tests) saveRecordings(ctx context.Context, f *flow.Flow, past *cases.Past) error {
	for i := range past.Recordings {
		past.Recordings[i].FlowID = f.ID
		if _, err := s.Store.SaveRecording(ctx, &past.Recordings[i]); err != nil {
			return err
		}
	}
	return nil
}
