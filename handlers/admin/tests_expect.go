package admin

import (
	"context"
	"fmt"

	"sluice/flow"
	"sluice/flow/cases"
)

// invalidTest returns an error for a member of a request about a test.
func invalidTest(pointer, code, detail string) error {
	return &flow.Error{Code: flow.CodeInputInvalid, Message: "Invalid request: " + detail + ".", Fields: []flow.Problem{{Pointer: pointer, Code: code, Detail: detail}}}
}

// expect makes the outputs of a case in a report what the case expects: its expected values, and the values of its checks equals. A case
// that checked no value gets the check expected.
func (s testServer) expect(ctx context.Context, by flow.Actor, f *flow.Flow, t *cases.Test, id string, candidate int) (*cases.Case, error) {
	if candidate < 0 || candidate >= len(t.Spec.Candidates) {
		return nil, invalidTest("/candidate", "unknown", fmt.Sprintf("the test has %s", flow.Count(len(t.Spec.Candidates), "candidate")))
	}
	_, report, _, err := s.Report(ctx, t)
	if err != nil {
		return nil, err
	}
	var result *cases.CaseResult
	for i := range report.Cases {
		if report.Cases[i].ID == id {
			result = &report.Cases[i].Results[candidate]
		}
	}
	file, _, err := s.Server.Store.FindCaseFile(ctx, f.WorkspaceID, f.ID)
	if err != nil {
		return nil, err
	}
	found := file.Find(id)
	if result == nil || found == nil {
		return nil, invalidTest("/case", "unknown", fmt.Sprintf("the test or the flow has no case %q", id))
	}
	noResult := flow.Errorf(flow.CodeRunNotEnded, "The case %s has no outputs in this report: its run has not succeeded, or its content is gone.", id)
	if result.RunID == "" {
		return nil, noResult
	}
	run, err := s.Server.Store.FindRun(ctx, f.WorkspaceID, "", result.RunID)
	if flow.IsNotFound(err) || err == nil && (run.Outputs == nil || run.State != flow.RunSucceeded || run.Erased != "") {
		return nil, noResult
	}
	if err != nil {
		return nil, err
	}
	now := found.Expect(run.Outputs)
	_, err = s.SetCase(ctx, by, f, now)
	return now, err
}
