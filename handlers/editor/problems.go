package editor

import (
	"net/http"

	editorview "sluice/views/editor"
)

// showProblems is GET /flows/{id}/problems: the problems that keep the draft from
// running.
func (c *call) showProblems(d *draft) error {
	panel, err := c.problemsOf(d)
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, editorview.Problems(panel))
}

// problemsOf returns the panel of a draft's problems. The page, its fragment and the response to
// edits all use it, so that they agree.
func (c *call) problemsOf(d *draft) (editorview.ProblemsPanel, error) {
	missing, err := c.missingCredentials(d)
	return editorview.ProblemsOf(string(d.flow.ID), d.Document, c.s.Kinds, d.problems, missing), err
}
