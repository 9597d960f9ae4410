package db

import (
	"context"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/forms"
)

// FindForm returns the form of a flow in any workspace, or CodeNotFound if it was
// never saved. The caller must check access.
func (s *Forms) FindForm(ctx context.Context, flowID flow.FlowID) (*forms.Form, error) {
	r, err := s.DB.Reads.FindForm(ctx, flowID)
	if err != nil {
		return nil, dbconn.NotFoundErr(err, "form")
	}
	settings, err := dbconn.Decode[forms.Settings](r.Settings)
	if err != nil {
		return nil, err
	}
	return &forms.Form{
		FlowID: r.FlowID, WorkspaceID: r.WorkspaceID, On: r.IsOn == 1, Settings: settings,
		Day: r.Day, Taken: r.Taken, UpdatedAt: dbconn.TimeOf(r.UpdatedAt),
	}, nil
}

// SaveForm sets the form of a flow. It keeps the number of runs started today.
func (s *Forms) SaveForm(ctx context.Context, f *forms.Form) error {
	return s.DB.Update(ctx, "flow", func(tx *core.Tx) (int64, error) {
		return tx.Queries.SaveForm(tx.Ctx, gen.SaveFormParams{
			FlowID: f.FlowID, WorkspaceID: f.WorkspaceID, IsOn: dbconn.BoolInt(f.On), Settings: dbconn.EncodeAny(f.Settings), UpdatedAt: s.DB.NowMicros(),
		})
	})
}

// TakeFormRun counts one more run of the day and reports whether the form may start
// it.
func (s *Forms) TakeFormRun(ctx context.Context, flowID flow.FlowID, day, most int64) (taken bool, err error) {
	err = s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		n, err := tx.Queries.TakeFormRun(tx.Ctx, gen.TakeFormRunParams{FlowID: flowID, Day: day, Most: most})
		taken = n == 1
		return err
	})
	return taken, err
}

// ReturnFormRun reverts TakeFormRun for a run that was not started.
func (s *Forms) ReturnFormRun(ctx context.Context, flowID flow.FlowID, day int64) error {
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		return tx.Queries.ReturnFormRun(tx.Ctx, gen.ReturnFormRunParams{FlowID: flowID, Day: day})
	})
}
