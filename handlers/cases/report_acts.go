package cases

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/document"
	view "sluice/views/cases"
	"sluice/views/components"
)

// expectResult is POST expect: the outputs of a candidate become the expected ones of a case.
func expectResult(c *call, f *flow.Flow, t *cases.Test, _ *flow.Run) error {
	id, candidate := c.FormValue("case"), c.FormValue("candidate")
	with, _ := strconv.Atoi(candidate)
	_, err := c.tests().Expect(c.Ctx(), c.Actor(), f, t, id, with)
	if err == nil {
		c.Toast(components.ToneOK, "These outputs are expected from now on.")
	}
	if c.FormValue("from") == "cases" {
		return c.backToList(f, url.Values{"case": {id}}, err)
	}
	if err := c.refused(err); err != nil {
		return err
	}
	return c.Redirect(view.ReportPath(string(f.ID), t.ID) + "?" + url.Values{"case": {id}, "with": {candidate}}.Encode())
}

// draftCandidate is POST draft: the document of a candidate becomes the draft.
func draftCandidate(c *call, f *flow.Flow, t *cases.Test, _ *flow.Run) error {
	i, err := strconv.Atoi(c.FormValue("candidate"))
	back := view.ReportPath(string(f.ID), t.ID)
	if err != nil || i < 0 || i >= len(t.Spec.Candidates) {
		return c.Redirect(back)
	}
	k := &t.Spec.Candidates[i]
	if k.Version > 0 && len(k.Set) == 0 {
		_, err = c.s.Library.RestoreVersion(c.Ctx(), c.Actor(), f.WorkspaceID, f.ID, k.Version, rand.Text())
	} else {
		err = c.replaceDraft(f, t, k)
	}
	if err != nil {
		if err = c.refused(err); err != nil {
			return err
		}
		return c.Redirect(back)
	}
	c.Toast(components.ToneOK, candidateName(k)+" is the draft now.")
	return c.Redirect(components.FlowPath(string(f.ID)))
}

// replaceDraft sets the fields of a candidate in the draft. A candidate that was not the draft replaces it.
func (c *call) replaceDraft(f *flow.Flow, t *cases.Test, k *cases.Candidate) error {
	data := f.Draft
	if !k.Draft {
		found, err := c.s.Store.FindDocument(c.Ctx(), t.WorkspaceID, k.Hash)
		if err != nil {
			return err
		}
		data = found
	}
	d, _ := document.ParseDocument(data)
	if d == nil {
		return fmt.Errorf("read a document of %s", t.ID)
	}
	if name := cases.SetFields(d, k.Set); name != "" {
		return flow.Errorf(flow.CodeInputInvalid, "The draft no longer has the node of %s.", name)
	}
	return c.s.Library.ReplaceDraft(c.Ctx(), f, c.Actor(), f.Rev, d, false)
}

// downloadReport is GET download: the report in a format of the API.
func downloadReport(c *call, f *flow.Flow, t *cases.Test, _ *flow.Run) error {
	format := c.QueryParam("format")
	r, err := http.NewRequestWithContext(c.Ctx(), http.MethodGet, c.s.PublicURL+"/v1/flow/"+string(f.ID)+"/tests/"+t.ID+"?"+url.Values{"format": {format}}.Encode(), http.NoBody)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	r.RemoteAddr, r.RequestURI = c.Request().RemoteAddr, r.URL.RequestURI()
	name := "report." + map[string]string{"csv": "csv", "junit": "xml", "markdown": "md"}[format]
	if format == "json" || format == "" {
		name = "report.json"
	}
	c.Response().Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	c.s.API(&flow.Key{WorkspaceID: c.WorkspaceID(), Name: c.Member.Name, UserID: c.Member.UserID, Scopes: []flow.Scope{flow.ScopeRead}}, c.Response(), r)
	return nil
}
