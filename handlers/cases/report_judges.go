package cases

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/wording"
	view "sluice/views/cases"
	"sluice/views/components"
)

// judgeVerdicts returns what judges say about a run, with the marks of people.
func (c *call) judgeVerdicts(t *cases.Test, file *cases.File, k *cases.Case, v *cases.Verdict) (list []view.JudgeVerdict, err error) {
	if v == nil {
		return nil, nil
	}
	var marks []cases.JudgeMark
	var agreements map[string]cases.Agreement
	for _, o := range v.Checks {
		judge := file.JudgeOf(k, o.Check)
		if o.Kind != cases.Judge || judge == nil || o.State != cases.Passed && o.State != cases.Failed {
			continue
		}
		if agreements == nil {
			if marks, err = c.s.Store.ListJudgeMarks(c.Ctx(), t, k.ID); err != nil {
				return nil, err
			}
			if agreements, err = c.s.Store.CountJudgeMarks(c.Ctx(), t.WorkspaceID, t.FlowID); err != nil {
				return nil, err
			}
		}
		a := agreements[judge.JudgeHash()]
		one := view.JudgeVerdict{Check: o.Check, Name: cmp.Or(judge.Name, wording.Fit(flow.Text(judge.Value), shownValue)), State: string(o.State), Reason: wording.Sentence(o.Reason), Repeat: v.Repeat, Agreement: agreementText(a), Warning: a.Warning()}
		if one.Warning == "" && !a.MayDecide() {
			one.Warning = "It cannot decide a gate alone: that needs 95 %."
		}
		if i := slices.IndexFunc(marks, func(m cases.JudgeMark) bool {
			return m.Candidate == v.Candidate && m.Repeat == v.Repeat && m.Check == o.Check
		}); i >= 0 {
			one.Marked = map[bool]string{true: "right", false: "wrong"}[marks[i].Right]
		}
		list = append(list, one)
	}
	return list, nil
}

// agreementText says how often people agree with a judge.
func agreementText(a cases.Agreement) string {
	if a.Marks == 0 {
		return "No verdict of this judge is marked yet."
	}
	return fmt.Sprintf("People agree with %d of %s.", a.Agreed, flow.Count(a.Marks, "verdict"))
}

// markVerdict is POST marks: a person marks a verdict of a judge as right or wrong.
func markVerdict(c *call, f *flow.Flow, t *cases.Test, _ *flow.Run) error {
	m := cases.JudgeMark{Case: c.FormValue("case"), Check: c.FormValue("check"), Right: c.FormValue("right") == "yes"}
	m.Candidate, _ = strconv.Atoi(c.FormValue("candidate")) // a wrong number names no verdict
	m.Repeat, _ = strconv.Atoi(c.FormValue("repeat"))
	if err := c.refused(c.tests().MarkVerdict(c.Ctx(), c.Actor(), t, m)); err != nil {
		return err
	}
	return c.Redirect(view.ReportPath(string(f.ID), t.ID) + "?" + url.Values{"case": {m.Case}, "with": {c.FormValue("candidate")}}.Encode() + "#judge-marks")
}

// saveNotes is POST notes.
func saveNotes(c *call, f *flow.Flow, t *cases.Test, _ *flow.Run) error {
	err := c.tests().SetNotes(c.Ctx(), c.Actor(), t, c.FormValue("notes"))
	if err == nil {
		c.Toast(components.ToneOK, "The notes are saved.")
	}
	if err := c.refused(err); err != nil {
		return err
	}
	return c.Redirect(view.ReportPath(string(f.ID), t.ID))
}
