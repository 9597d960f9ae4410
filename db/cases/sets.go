package cases

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/cases"
)

// addCaseSet stores the version of the cases that a test runs, or locks the stored one, so that it is not deleted meanwhile. It returns how
// many bytes that takes. If cases of a stored version were erased, it is written again: somebody made the same cases again.
func addCaseSet(tx *core.Tx, t *cases.Test, body string, runs []flow.RunID) (growth int64, err error) {
	ws, hash := t.WorkspaceID, t.Spec.Set
	for range 2 { // a version may be deleted between the first statement and the next
		added, err := tx.Queries.InsertCaseSet(tx.Ctx, gen.InsertCaseSetParams{WorkspaceID: ws, Hash: hash, Body: body})
		if err != nil {
			return 0, err
		}
		if added > 0 {
			growth = int64(len(body))
			break
		}
		held, err := tx.Queries.LockCaseSet(tx.Ctx, gen.LockCaseSetParams{WorkspaceID: ws, Hash: hash})
		if err != nil {
			return 0, err
		}
		if held == 0 {
			continue
		}
		size, err := tx.Queries.FindCaseSetSize(tx.Ctx, gen.FindCaseSetSizeParams{WorkspaceID: ws, Hash: hash})
		if err != nil {
			return 0, err
		}
		if growth = int64(len(body)) - size; growth != 0 {
			if err := tx.Queries.WriteCaseSet(tx.Ctx, gen.WriteCaseSetParams{WorkspaceID: ws, Hash: hash, Body: body}); err != nil {
				return 0, err
			}
		}
		break
	}
	for _, run := range runs {
		if err := tx.Queries.AddBacktestRun(tx.Ctx, gen.AddBacktestRunParams{RunID: run, WorkspaceID: ws, SetHash: hash}); err != nil {
			return 0, err
		}
	}
	return growth, nil
}

// dropCaseSet deletes a version of cases that no test names any more.
func dropCaseSet(tx *core.Tx, ws flow.WorkspaceID, hash string) error {
	if _, err := tx.Queries.LockCaseSet(tx.Ctx, gen.LockCaseSetParams{WorkspaceID: ws, Hash: hash}); err != nil { // a test may be stored that runs it
		return fmt.Errorf("lock cases: %w", err)
	}
	sizes, err := tx.Queries.DeleteUnusedCaseSet(tx.Ctx, gen.DeleteUnusedCaseSetParams{WorkspaceID: ws, Hash: hash})
	if err != nil {
		return fmt.Errorf("delete cases: %w", err)
	}
	for _, size := range sizes {
		tx.TrackBytes(ws, -size)
		if err := tx.Queries.DeleteBacktestRuns(tx.Ctx, gen.DeleteBacktestRunsParams{WorkspaceID: ws, SetHash: hash}); err != nil {
			return fmt.Errorf("delete cases: %w", err)
		}
	}
	return nil
}

// SetOfRun is a version of cases that has content of a run.
type SetOfRun struct {
	WorkspaceID flow.WorkspaceID
	Hash        string
	RunID       flow.RunID
}

// EraseFromSets removes what versions of cases have of runs.
func EraseFromSets(tx *core.Tx, list []SetOfRun) error {
	type set struct {
		ws   flow.WorkspaceID
		hash string
	}
	runs := map[set][]flow.RunID{}
	for _, l := range list {
		s := set{l.WorkspaceID, l.Hash}
		runs[s] = append(runs[s], l.RunID)
	}
	order := slices.SortedFunc(maps.Keys(runs), func(a, b set) int { return cmp.Compare(string(a.ws)+a.hash, string(b.ws)+b.hash) }) // no deadlocks
	for _, s := range order {
		if _, err := tx.Queries.LockCaseSet(tx.Ctx, gen.LockCaseSetParams{WorkspaceID: s.ws, Hash: s.hash}); err != nil {
			return fmt.Errorf("lock cases: %w", err)
		}
		body, err := tx.Queries.FindCaseSet(tx.Ctx, gen.FindCaseSetParams{WorkspaceID: s.ws, Hash: s.hash})
		if dbconn.IsNoRows(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("find cases: %w", err)
		}
		f, err := cases.Decode([]byte(body))
		if err != nil {
			return dbconn.Unreadable(err, "cases", s.hash)
		}
		if !f.Erase(func(id flow.RunID) bool { return slices.Contains(runs[s], id) }) {
			continue
		}
		now := string(f.Encode())
		if err := tx.Queries.WriteCaseSet(tx.Ctx, gen.WriteCaseSetParams{WorkspaceID: s.ws, Hash: s.hash, Body: now}); err != nil {
			return fmt.Errorf("erase cases: %w", err)
		}
		tx.TrackBytes(s.ws, int64(len(now)-len(body)))
	}
	return nil
}

// EraseCopies removes what versions of the cases of a flow, and earlier revisions of its tests file, have of a run.
func (s *Cases) EraseCopies(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) error {
	pattern := "%" + string(runID) + "%"
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		hashes, err := tx.Queries.ListCaseSetsWith(tx.Ctx, gen.ListCaseSetsWithParams{WorkspaceID: ws, FlowID: flowID, Pattern: pattern})
		if err != nil {
			return fmt.Errorf("find the cases of %s: %w", runID, err)
		}
		sets := dbconn.MapRows(hashes, func(hash string) SetOfRun { return SetOfRun{ws, hash, runID} })
		if err := EraseFromSets(tx, sets); err != nil {
			return err
		}
		revisions, err := tx.Queries.ListCaseRevisionsWith(tx.Ctx, gen.ListCaseRevisionsWithParams{OwnerID: string(flowID), Name: companionName, WorkspaceID: ws, Pattern: pattern})
		if err != nil {
			return fmt.Errorf("find the revisions with %s: %w", runID, err)
		}
		for _, r := range revisions {
			f, err := cases.Decode([]byte(r.Body))
			if err != nil {
				return dbconn.Unreadable(err, "revision", fmt.Sprint(r.Rev))
			}
			if !f.Erase(func(id flow.RunID) bool { return id == runID }) {
				continue
			}
			err = tx.Queries.EraseRevision(tx.Ctx, gen.EraseRevisionParams{OwnerID: string(flowID), Name: companionName, Rev: r.Rev, Body: string(f.Encode())})
			if err != nil {
				return fmt.Errorf("erase the revision %d: %w", r.Rev, err)
			}
		}
		return nil
	})
}

// companionName is the name of the companion with cases.
const companionName = "tests"
