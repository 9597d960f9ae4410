package cases

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/library"
	view "sluice/views/cases"
	"sluice/views/components"
	"sluice/views/layout"
)

// Sizes of the page that compares candidates.
const (
	shownVersions = 10
	modelRows     = 3
)

// showCompare is GET compare.
func showCompare(c *call, f *flow.Flow) error {
	page, err := c.comparePage(f)
	if err != nil {
		return err
	}
	page.Draft, page.Mode, page.Baseline = true, string(flow.CaseFill), "none"
	if f.LiveVersion > 0 {
		page.Baseline = "live"
	}
	return c.Render(http.StatusOK, view.Compare(c.Page("Compare", layout.SectionFlows), *page))
}

// comparePage returns the page without choices.
func (c *call) comparePage(f *flow.Flow) (*view.ComparePage, error) {
	page := &view.ComparePage{FlowID: string(f.ID), Flow: f.Name, LiveVersion: f.LiveVersion, Writers: c.writers(f), Errors: components.Errors{}, Models: make([]view.ModelRow, modelRows)}
	n, err := c.s.Store.CountCases(c.Ctx(), f.ID)
	if err != nil {
		return nil, err
	}
	page.Cases = n
	versions, err := c.s.Store.ListVersions(c.Ctx(), f.WorkspaceID, f.ID)
	if err != nil {
		return nil, err
	}
	page.Baselines = []components.Option{{Value: "none", Label: "Nothing"}}
	if f.LiveVersion > 0 {
		page.Baselines = append(page.Baselines, components.Option{Value: "live", Label: fmt.Sprintf("v%d, live", f.LiveVersion)})
	}
	page.Baselines = append(page.Baselines, components.Option{Value: "draft", Label: "Draft"})
	for i := range versions[:min(len(versions), shownVersions)] {
		v := view.CompareVersion{Number: versions[i].Number, Label: fmt.Sprintf("v%d", versions[i].Number)}
		if v.Number == f.LiveVersion {
			v.Label += ", live"
		} else {
			page.Baselines = append(page.Baselines, components.Option{Value: strconv.FormatInt(v.Number, 10), Label: v.Label})
		}
		page.Versions = append(page.Versions, v)
	}
	page.Fields = []components.Option{{Value: "", Label: "Choose…"}}
	d, _ := document.ParseDocument(f.Draft)
	if d == nil {
		return page, nil
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		k := c.s.Kinds.Find(n.Kind)
		if k == nil || n.Disabled {
			continue
		}
		for _, field := range k.Fields {
			if field.Type == flow.FieldModel {
				page.Fields = append(page.Fields, components.Option{Value: n.ID + "." + field.Name, Label: document.NodeTitle(n, k) + ": " + flow.Text(n.Config[field.Name])})
			}
		}
	}
	return page, nil
}

// startCompare is POST compare: it starts a test of the chosen candidates.
func startCompare(c *call, f *flow.Flow) error {
	page, err := c.comparePage(f)
	if err != nil {
		return err
	}
	r := c.readCompare(page)
	if c.FormValue("act") == "estimate" {
		var text string
		if len(page.Errors) == 0 {
			text, err = c.estimate(f, r)
		}
		if e, ok := c.problem(err); ok {
			text, err = e.Message, nil
		}
		if err != nil {
			return err
		}
		return c.Render(http.StatusOK, view.Estimate(text))
	}
	if len(page.Errors) == 0 {
		t, err := c.start(f, r)
		if err == nil {
			return c.Redirect(view.ReportPath(string(f.ID), t.ID))
		}
		e, ok := c.problem(err)
		if !ok {
			return err
		}
		page.Errors[""] = e.Message
	}
	return c.Render(http.StatusUnprocessableEntity, view.Compare(c.Page("Compare", layout.SectionFlows), *page))
}

// readCompare reads the choices into the page, and returns what they ask for.
func (c *call) readCompare(page *view.ComparePage) library.TestRequest {
	form := c.Request().PostForm
	page.Draft, page.Baseline, page.Mode, page.Tags, page.MaxUSD = form.Get("draft") != "", form.Get("baseline"), form.Get("mode"), form.Get("tags"), strings.TrimSpace(form.Get("max_usd"))
	r := library.TestRequest{Mode: flow.CaseMode(page.Mode)}
	if !slices.Contains(flow.CaseModes, r.Mode) {
		r.Mode = flow.CaseFill
	}
	if r.Mode == flow.CaseLive {
		page.Allow = form["allow"]
		r.Allow = page.Allow
	}
	if page.Draft {
		r.Candidates = append(r.Candidates, library.CandidateRequest{Draft: true})
	}
	for i := range page.Versions {
		v := &page.Versions[i]
		if v.Chosen = slices.Contains(form["version"], strconv.FormatInt(v.Number, 10)); v.Chosen {
			r.Candidates = append(r.Candidates, library.CandidateRequest{Version: v.Number})
		}
	}
	for i := range page.Models {
		m := &page.Models[i]
		m.Field, m.Model = form.Get(fmt.Sprintf("model.%d.field", i)), strings.TrimSpace(form.Get(fmt.Sprintf("model.%d.name", i)))
		switch {
		case m.Field == "" && m.Model == "":
		case m.Field == "" || m.Model == "":
			m.Error = "Choose a node and enter a model."
			page.Errors[""] = m.Error
		default:
			r.Candidates = append(r.Candidates, library.CandidateRequest{Draft: true, Set: map[string]any{m.Field: m.Model}})
		}
	}
	if len(r.Candidates) == 0 && len(page.Errors) == 0 {
		page.Errors[""] = "Choose a candidate."
	}
	r.Tags = tagsOf(page.Tags)
	switch page.Baseline {
	case "live":
		r.Baseline = &library.CandidateRequest{}
	case "draft":
		r.Baseline = &library.CandidateRequest{Draft: true}
	default:
		if n, err := strconv.ParseInt(page.Baseline, 10, 64); err == nil && n > 0 {
			r.Baseline = &library.CandidateRequest{Version: n}
		}
	}
	if page.MaxUSD != "" {
		most, ok := flow.ParseUSD(page.MaxUSD)
		if !ok || most <= 0 {
			page.Errors["max_usd"] = "Enter an amount such as 5 or 0.50."
		}
		r.MaxUSD = most
	}
	return r
}
