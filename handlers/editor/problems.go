package editor

import (
	"net/http"

	"sluice/views"
)

// showProblems is GET /flows/{id}/problems: what keeps the draft from running.
func (c *call) showProblems() error {
	d, err := c.findDraft()
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, views.Problems(c.problemsOf(d)))
}

func (c *call) problemsOf(d *draft) views.ProblemsPanel {
	return views.ProblemsOf(d.flow.ID, d.Document, c.s.Kinds, d.problems)
}
