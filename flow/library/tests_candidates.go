package library

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/document"
	"sluice/flow/sorting"
	"sluice/flow/wording"
)

// candidate finds the document of a candidate, and checks one that is not a stored version.
func (s *Tests) candidate(ctx context.Context, key *flow.Key, f *flow.Flow, r *CandidateRequest, pointer string) (*cases.Candidate, []byte, error) {
	c := &cases.Candidate{Version: r.Version, Draft: r.Draft, Set: r.Set}
	var data []byte
	var err error
	switch {
	case r.Document != nil:
		c.Version, c.Label, data = 0, "the document", r.Document
	case r.Draft:
		c.Version, c.Label, data = 0, "the draft", f.Draft
	case r.Version == 0 && f.LiveVersion == 0:
		return nil, nil, flow.Errorf(flow.CodeNotPublished, "This flow has no published version. Test its draft, or publish it.")
	default:
		c.Version = cmp.Or(r.Version, f.LiveVersion)
		c.Label = fmt.Sprintf("version %d", c.Version)
		v, err := s.Library.Store.FindVersion(ctx, f.WorkspaceID, f.ID, c.Version)
		if flow.IsNotFound(err) {
			return nil, nil, testInvalid(pointer+"/version", "unknown", fmt.Sprintf("this flow has no version %d", c.Version))
		}
		if err != nil {
			return nil, nil, err
		}
		if data, err = s.Library.Store.FindDocument(ctx, f.WorkspaceID, v.DocumentHash); err != nil {
			return nil, nil, err
		}
	}
	if len(r.Set) > 0 {
		d, problems := document.ParseDocument(data)
		if d == nil {
			return nil, nil, documentInvalid(problems)
		}
		if name := cases.SetFields(d, r.Set); name != "" {
			return nil, nil, testInvalid(pointer+flow.Pointer("set", name), "unknown", fmt.Sprintf("there is no node for %q; write NODE.FIELD", name))
		}
		data = d.Compact()
		c.Label += " with " + setText(r.Set)
	}
	if !r.checked && (r.Document != nil || len(r.Set) > 0) {
		if data, err = s.checkCandidate(ctx, key, f, data); err != nil {
			return nil, nil, err
		}
	} else if r.Draft {
		d, err := s.Library.Check(data)
		if err != nil {
			return nil, nil, err
		}
		data = d.Compact()
	}
	c.Hash = flow.DocumentHash(data)
	return c, data, nil
}

// checkCandidate checks a document as for publishing.
func (s *Tests) checkCandidate(ctx context.Context, key *flow.Key, f *flow.Flow, data []byte) ([]byte, error) {
	d, problems := document.ParseDocument(data)
	if d == nil {
		return nil, documentInvalid(problems)
	}
	if err := s.Library.FillContracts(ctx, f.WorkspaceID, d); err != nil {
		return nil, err
	}
	if err := s.Library.CheckSent(d, problems); err != nil {
		return nil, err
	}
	own := *f
	own.Draft = d.Compact()
	if _, err := s.Library.CheckDraft(ctx, &own); err != nil {
		return nil, err
	}
	return own.Draft, s.mayCall(ctx, key, f, d)
}

// mayCall returns an error if a document runs flows that a key with a list of flows does not have.
func (s *Tests) mayCall(ctx context.Context, key *flow.Key, f *flow.Flow, d *flow.Document) error {
	for i := range d.Nodes {
		n := &d.Nodes[i]
		ref, _ := n.Config["flow"].(string)
		if k := s.Library.Kinds.Find(n.Kind); k == nil || !k.StartsRuns() {
			continue
		}
		if err := s.mayUse(ctx, key, f, ref, "The node "+n.ID); err != nil {
			return err
		}
	}
	return nil
}

// mayUse returns an error if a key with a list of flows does not have the one that something runs.
func (s *Tests) mayUse(ctx context.Context, key *flow.Key, f *flow.Flow, ref, what string) error {
	if key == nil || len(key.Flows) == 0 || ref == "" {
		return nil
	}
	id := flow.FlowID(ref)
	if document.ValidSlug(ref) {
		found, err := s.Library.Store.FindFlowID(ctx, f.WorkspaceID, ref)
		if err != nil && !flow.IsNotFound(err) {
			return err
		}
		id = found
	}
	if id != "" && !key.Allows(id) {
		return flow.Errorf(flow.CodeFlowNotAllowed, "%s runs the flow %s, which this key may not use.", what, ref)
	}
	return nil
}

// maxSetValue is how much of a value the name of a candidate has.
const maxSetValue = 40

// setText names the settings of a candidate with their values: several candidates may differ in nothing else.
func setText(set map[string]any) string {
	var list []string
	for _, field := range sorting.Keys(set) {
		list = append(list, field+" = "+wording.Fit(strings.Join(strings.Fields(flow.Text(set[field])), " "), maxSetValue))
	}
	return strings.Join(list, ", ")
}
