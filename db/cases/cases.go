// Package cases stores the cases of flows, the tests that run them, and recorded results of steps.
package cases

import (
	"context"
	"encoding/json"
	"fmt"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/cases"
)

// Cases stores cases, tests and recordings.
type Cases struct{ DB *core.DB }

// FindCaseFile returns the cases of a flow with what holds for all of them, and the sources of the cases by ID. In a transaction it sees
// what that wrote.
func (s *Cases) FindCaseFile(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) (*cases.File, map[string]string, error) {
	rows, err := s.DB.In(ctx).ListCases(ctx, gen.ListCasesParams{FlowID: flowID, WorkspaceID: ws})
	if err != nil {
		return nil, nil, fmt.Errorf("list the cases of %s: %w", flowID, err)
	}
	settings, err := s.DB.In(ctx).FindCaseSettings(ctx, gen.FindCaseSettingsParams{FlowID: flowID, WorkspaceID: ws})
	if err != nil && !dbconn.IsNoRows(err) {
		return nil, nil, fmt.Errorf("find the settings of the cases of %s: %w", flowID, err)
	}
	f := &cases.File{}
	if settings != "" {
		if f, err = cases.Decode([]byte(settings)); err != nil {
			return nil, nil, dbconn.Unreadable(err, "flow", flowID)
		}
	}
	sources := map[string]string{}
	for i := range rows {
		c, err := cases.DecodeCase(rows[i].Body)
		if err != nil {
			return nil, nil, dbconn.Unreadable(err, "case", rows[i].ID)
		}
		f.Cases, sources[c.ID] = append(f.Cases, *c), rows[i].Source
	}
	return f, sources, nil
}

// CountCases returns how many cases a flow has.
func (s *Cases) CountCases(ctx context.Context, flowID flow.FlowID) (int, error) {
	n, err := s.DB.Reads.CountCases(ctx, flowID)
	if err != nil {
		return 0, fmt.Errorf("count the cases of %s: %w", flowID, err)
	}
	return int(n), nil
}

// SaveCase adds a case to a flow, or replaces the one with its ID. Files that it refers to are kept.
func (s *Cases) SaveCase(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, c *cases.Case, source string) error {
	body := string(flow.EncodeJSON(c.Object()))
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if _, err := tx.Queries.HoldFlow(tx.Ctx, gen.HoldFlowParams{ID: flowID, WorkspaceID: ws}); err != nil {
			return dbconn.NotFoundErr(err, "flow")
		}
		was, err := tx.Queries.FindCase(tx.Ctx, gen.FindCaseParams{FlowID: flowID, ID: c.ID, WorkspaceID: ws})
		if err != nil && !dbconn.IsNoRows(err) {
			return fmt.Errorf("find the case %s: %w", c.ID, err)
		}
		n, failed := tx.Queries.MeasureCases(tx.Ctx, flowID)
		if failed != nil {
			return fmt.Errorf("count the cases of %s: %w", flowID, failed)
		}
		if err != nil && n.Cases >= cases.MaxCases {
			return flow.Errorf(flow.CodeQuotaExceeded, "The flow has %d cases, the most that are possible. Delete some.", n.Cases)
		}
		if grown := int64(len(body) - len(was.Body)); grown > 0 && n.Bytes+grown > cases.MaxBytes {
			return flow.Errorf(flow.CodeQuotaExceeded, "The cases of the flow would have %s together; the limit is %s. Delete some, or make them smaller.", flow.Size(n.Bytes+grown), flow.Size(cases.MaxBytes))
		}
		err = tx.Queries.SaveCase(tx.Ctx, gen.SaveCaseParams{FlowID: flowID, ID: c.ID, WorkspaceID: ws, Body: body, Source: source, FromRun: string(c.FromRun), ChangedAt: s.DB.NowMicros()})
		if err != nil {
			return fmt.Errorf("save the case %s: %w", c.ID, err)
		}
		if err := keepFiles(tx, ws, c.Object()); err != nil {
			return err
		}
		return tx.TrackWithinQuota(ws, flow.Storage{Bytes: int64(len(body) - len(was.Body))})
	})
}

// keepFiles keeps the files that a value refers to when the runs with them are erased.
func keepFiles(tx *core.Tx, ws flow.WorkspaceID, v any) error {
	for _, id := range flow.FileIDs(v) {
		if err := tx.Queries.KeepFile(tx.Ctx, gen.KeepFileParams{ID: id, WorkspaceID: ws}); err != nil {
			return fmt.Errorf("keep %s: %w", id, err)
		}
	}
	return nil
}

// ListCasesOfRun returns the cases that were made from a run.
func (s *Cases) ListCasesOfRun(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]cases.OfRun, error) {
	rows, err := s.DB.Reads.ListCasesOfRun(ctx, gen.ListCasesOfRunParams{FromRun: string(runID), WorkspaceID: ws})
	if err != nil {
		return nil, fmt.Errorf("list the cases of %s: %w", runID, err)
	}
	return dbconn.MapRows(rows, func(r gen.ListCasesOfRunRow) cases.OfRun { return cases.OfRun{FlowID: r.FlowID, ID: r.ID} }), nil
}

// SetCaseSource records where a case was applied from.
func (s *Cases) SetCaseSource(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, id, source string) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		return tx.Queries.SetCaseSource(tx.Ctx, gen.SetCaseSourceParams{FlowID: flowID, ID: id, WorkspaceID: ws, Source: source})
	})
}

// DeleteCase deletes a case. Tests that ran it keep their version of it.
func (s *Cases) DeleteCase(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, id string) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		size, err := tx.Queries.DeleteCase(tx.Ctx, gen.DeleteCaseParams{FlowID: flowID, ID: id, WorkspaceID: ws})
		if err != nil {
			return dbconn.NotFoundErr(err, "case")
		}
		tx.TrackBytes(ws, -size)
		return nil
	})
}

// SaveCaseSettings stores what holds for all cases of a flow: defaults and gate.
func (s *Cases) SaveCaseSettings(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, f *cases.File) error {
	body := string((&cases.File{Defaults: f.Defaults, Gate: f.Gate}).Encode())
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		return tx.Queries.SaveCaseSettings(tx.Ctx, gen.SaveCaseSettingsParams{FlowID: flowID, WorkspaceID: ws, Body: body})
	})
}

// CreateTest stores a test with the cases and the documents that it runs, by their hashes.
// runs are those of a backtest: what the cases have of them is erased with them.
func (s *Cases) CreateTest(ctx context.Context, t *cases.Test, set []byte, documents map[string][]byte, runs []flow.RunID) error {
	spec, err := json.Marshal(t.Spec)
	if err != nil {
		return fmt.Errorf("encode a test: %w", err)
	}
	t.CreatedAt = dbconn.TimeOf(s.DB.NowMicros())
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		growth := int64(flow.StorageItem + len(spec))
		added, err := addCaseSet(tx, t, string(set), runs)
		if err != nil {
			return fmt.Errorf("store cases: %w", err)
		}
		growth += added
		for hash, document := range documents {
			size, err := tx.AddDocument(t.WorkspaceID, hash, document)
			if err != nil {
				return err
			}
			growth += size
		}
		err = tx.Queries.InsertTest(tx.Ctx, gen.InsertTestParams{
			ID: t.ID, WorkspaceID: t.WorkspaceID, FlowID: t.FlowID, SetHash: t.Spec.Set, Spec: string(spec), MadeBy: t.MadeBy, CreatedAt: dbconn.Micros(t.CreatedAt),
		})
		if err != nil {
			return fmt.Errorf("store a test: %w", err)
		}
		return tx.TrackWithinQuota(t.WorkspaceID, flow.Storage{Bytes: growth})
	})
}

// DeleteTest deletes a test that could not start. One that has a run stays.
func (s *Cases) DeleteTest(ctx context.Context, t *cases.Test) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		bytes, err := tx.Queries.DeleteTest(tx.Ctx, gen.DeleteTestParams{ID: t.ID, WorkspaceID: t.WorkspaceID})
		if dbconn.IsNoRows(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("delete the test %s: %w", t.ID, err)
		}
		tx.TrackBytes(t.WorkspaceID, -(flow.StorageItem + bytes))
		return nil
	})
}

// FindTest returns a test by its ID.
func (s *Cases) FindTest(ctx context.Context, ws flow.WorkspaceID, id string) (*cases.Test, error) {
	r, err := s.DB.In(ctx).FindTest(ctx, gen.FindTestParams{ID: id, WorkspaceID: ws})
	return foundTest(r, err)
}

// FindTestOfRun returns the test that a run executes.
func (s *Cases) FindTestOfRun(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) (*cases.Test, error) {
	r, err := s.DB.Reads.FindTestOfRun(ctx, gen.FindTestOfRunParams{RunID: runID, WorkspaceID: ws})
	return foundTest(r, err)
}

func foundTest(r gen.Test, err error) (*cases.Test, error) {
	if err != nil {
		return nil, dbconn.NotFoundErr(err, "test")
	}
	return testOf(&r)
}

func testOf(r *gen.Test) (*cases.Test, error) {
	t := &cases.Test{ID: r.ID, WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, RunID: r.RunID, MadeBy: r.MadeBy, CreatedAt: dbconn.TimeOf(r.CreatedAt), Notes: r.Notes, NotesBy: r.NotesBy}
	if err := json.Unmarshal([]byte(r.Spec), &t.Spec); err != nil {
		return nil, dbconn.Unreadable(err, "test", r.ID)
	}
	if r.Digest != "" {
		if err := json.Unmarshal([]byte(r.Digest), &t.Digest); err != nil {
			return nil, dbconn.Unreadable(err, "test", r.ID)
		}
	}
	return t, nil
}

// SaveTestDigest stores what a test found.
func (s *Cases) SaveTestDigest(ctx context.Context, t *cases.Test) error {
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		err := tx.Queries.SetTestDigest(tx.Ctx, gen.SetTestDigestParams{Digest: string(flow.EncodeJSON(t.Digest)), ID: t.ID, WorkspaceID: t.WorkspaceID})
		if err != nil {
			return fmt.Errorf("store what %s found: %w", t.ID, err)
		}
		return nil
	})
}

// ListTests returns the tests of a flow, newest first, below an ID.
func (s *Cases) ListTests(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, before string, limit int) ([]cases.Test, error) {
	rows, err := s.DB.Reads.ListTests(ctx, gen.ListTestsParams{FlowID: flowID, WorkspaceID: ws, BeforeID: before, MaxRows: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list the tests of %s: %w", flowID, err)
	}
	list := make([]cases.Test, len(rows))
	for i := range rows {
		t, err := testOf(&rows[i])
		if err != nil {
			return nil, err
		}
		list[i] = *t
	}
	return list, nil
}

// FindCaseSet returns a version of the cases of a flow by its hash.
func (s *Cases) FindCaseSet(ctx context.Context, ws flow.WorkspaceID, hash string) (*cases.File, error) {
	body, err := s.DB.Reads.FindCaseSet(ctx, gen.FindCaseSetParams{WorkspaceID: ws, Hash: hash})
	if err != nil {
		return nil, dbconn.NotFoundErr(err, "version of the cases")
	}
	f, err := cases.Decode([]byte(body))
	if err != nil {
		return nil, dbconn.Unreadable(err, "cases", hash)
	}
	return f, nil
}

// SaveJudgeMark stores what a person said of the verdict of a judge. Another mark of the same verdict replaces it.
func (s *Cases) SaveJudgeMark(ctx context.Context, t *cases.Test, m *cases.JudgeMark) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		return tx.Queries.SaveJudgeMark(tx.Ctx, gen.SaveJudgeMarkParams{
			TestID: t.ID, Candidate: int64(m.Candidate), CaseID: m.Case, N: int64(m.Repeat), CheckLabel: m.Check, WorkspaceID: t.WorkspaceID, FlowID: t.FlowID, Judge: m.Judge, Agrees: dbconn.BoolInt(m.Right), MadeBy: m.By, CreatedAt: s.DB.NowMicros(),
		})
	})
}

// ListJudgeMarks returns what people said of the verdicts on a case in a test.
func (s *Cases) ListJudgeMarks(ctx context.Context, t *cases.Test, id string) ([]cases.JudgeMark, error) {
	rows, err := s.DB.Reads.ListJudgeMarks(ctx, gen.ListJudgeMarksParams{TestID: t.ID, CaseID: id, WorkspaceID: t.WorkspaceID})
	if err != nil {
		return nil, fmt.Errorf("list the marks of judges in %s: %w", t.ID, err)
	}
	return dbconn.MapRows(rows, func(r gen.ListJudgeMarksRow) cases.JudgeMark {
		return cases.JudgeMark{Candidate: int(r.Candidate), Case: id, Repeat: int(r.N), Check: r.CheckLabel, Right: r.Agrees != 0}
	}), nil
}

// SaveTestNotes stores what a person wrote about the report of a test.
func (s *Cases) SaveTestNotes(ctx context.Context, t *cases.Test) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		was, err := tx.Queries.FindTest(tx.Ctx, gen.FindTestParams{ID: t.ID, WorkspaceID: t.WorkspaceID})
		if err != nil {
			return dbconn.NotFoundErr(err, "test")
		}
		if err := tx.Queries.SetTestNotes(tx.Ctx, gen.SetTestNotesParams{Notes: t.Notes, NotesBy: t.NotesBy, ID: t.ID, WorkspaceID: t.WorkspaceID}); err != nil {
			return fmt.Errorf("store the notes of %s: %w", t.ID, err)
		}
		return tx.TrackWithinQuota(t.WorkspaceID, flow.Storage{Bytes: int64(len(t.Notes) - len(was.Notes))})
	})
}

// CountJudgeMarks returns how many verdicts of each judge of a flow people marked, and how many of these as right.
func (s *Cases) CountJudgeMarks(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) (map[string]cases.Agreement, error) {
	rows, err := s.DB.Reads.CountJudgeMarks(ctx, gen.CountJudgeMarksParams{FlowID: flowID, WorkspaceID: ws})
	if err != nil {
		return nil, fmt.Errorf("count the marks of judges of %s: %w", flowID, err)
	}
	m := map[string]cases.Agreement{}
	for _, r := range rows {
		m[r.Judge] = cases.Agreement{Marks: int(r.Marks), Agreed: int(r.Agreed)}
	}
	return m, nil
}
