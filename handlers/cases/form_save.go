package cases

import (
	"cmp"
	"net/http"
	"net/url"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/library"
	view "sluice/views/cases"
	"sluice/views/components"
)

// newCase is GET new: an empty case, or one made from a run.
func newCase(c *call, f *flow.Flow) error {
	id := flow.RunID(c.QueryParam("run"))
	if id == "" {
		m, err := c.newForm(f, nil, true)
		if err != nil {
			return err
		}
		return m.show(http.StatusOK)
	}
	made, err := c.fromRun(f, library.FromRuns{Runs: []flow.RunID{id}, Preview: true})
	if err != nil {
		if err = c.refused(err); err != nil {
			return err
		}
		return c.Redirect(components.RunPath(string(id)))
	}
	if made.Case == nil {
		c.Toast(components.ToneNone, made.Skipped)
		return c.Redirect(view.ListPath(string(f.ID)))
	}
	m, err := c.newForm(f, made.Case, true)
	if err != nil {
		return err
	}
	m.page.Unrecorded = made.Unrecorded
	return m.show(http.StatusOK)
}

// fromRun makes a case from a run.
func (c *call) fromRun(f *flow.Flow, r library.FromRuns) (library.FromRun, error) {
	list, err := c.tests().FromRuns(c.Ctx(), c.Actor(), f, r)
	if err != nil || len(list) == 0 {
		return library.FromRun{}, err
	}
	return list[0], nil
}

// editCase is GET case.
func editCase(c *call, f *flow.Flow, _ *cases.File, k *cases.Case) error {
	m, err := c.newForm(f, k, false)
	if err != nil {
		return err
	}
	return m.show(http.StatusOK)
}

// createCase is POST new.
func createCase(c *call, f *flow.Flow) error { return c.saveCase(f, nil) }

// changeCase is POST case.
func changeCase(c *call, f *flow.Flow, _ *cases.File, k *cases.Case) error { return c.saveCase(f, k) }

// saveCase stores the case of a form. The form is shown again with another row for a check, or with what is wrong.
func (c *call) saveCase(f *flow.Flow, old *cases.Case) error {
	typed := c.NewInputs(f.WorkspaceID, c.s.MaxFile)
	fields, err := c.ReadInputFields(typed)
	if err != nil {
		return err
	}
	base, run := old, flow.RunID(fields["from_run"])
	if old == nil && run != "" {
		made, err := c.fromRun(f, library.FromRuns{Runs: []flow.RunID{run}, Preview: true})
		if err != nil || made.Case == nil {
			if err == nil {
				c.Toast(components.ToneNone, made.Skipped)
			}
			return c.backToList(f, nil, err)
		}
		base = made.Case
	}
	m, err := c.newForm(f, base, old == nil)
	if err != nil {
		return err
	}
	typed.Filled = true
	typed.Parse(fields)
	body := m.read(fields, typed)
	if fields["act"] == "add" {
		m.page.Checks = append(m.page.Checks, view.CheckRow{})
		m.clear()
		return m.show(http.StatusOK)
	}
	k, err := m.check(body, old)
	if err == nil && k != nil {
		err = c.store(f, k, old == nil)
	}
	if e, ok := c.problem(err); ok {
		m.place(e)
		err = nil
	}
	if err != nil {
		return err
	}
	if m.wrong() {
		return m.show(http.StatusUnprocessableEntity)
	}
	back := url.Values{"case": {k.ID}}
	if fields["act"] == "run" {
		_, err = c.start(f, library.TestRequest{Candidates: []library.CandidateRequest{{Draft: true}}, Mode: flow.CaseFill, Cases: []string{k.ID}})
	}
	return c.backToList(f, back, err)
}

// store stores a case. A new one that was made from a run gets the recordings of its steps.
func (c *call) store(f *flow.Flow, k *cases.Case, fresh bool) error {
	if !fresh || k.FromRun == "" {
		_, err := c.tests().SetCase(c.Ctx(), c.Actor(), f, k)
		return err
	}
	made, err := c.fromRun(f, library.FromRuns{Runs: []flow.RunID{k.FromRun}, Instead: k})
	if err == nil && made.Case == nil {
		err = flow.Errorf(flow.CodeInputInvalid, "%s", made.Skipped)
	}
	return err
}

// deleteCase is POST delete.
func deleteCase(c *call, f *flow.Flow, _ *cases.File, k *cases.Case) error {
	if err := c.tests().DeleteCase(c.Ctx(), c.Actor(), f, k.ID); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "“"+cmp.Or(k.Name, k.ID)+"” was deleted.")
	return c.Redirect(view.ListPath(string(f.ID)))
}
