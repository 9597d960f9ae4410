package api

import (
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
)

// rerunBody declares the fields of the body of a rerun.
var rerunBody = []contract.Input{
	{Name: "from", Type: flow.TypeText},
	{Name: "inputs", Type: flow.TypeJSON},
}

// rerun is POST rerun: a new run with the document of an earlier one.
func (s *Server) rerun(c *Call) error {
	parent, err := c.findRun()
	if err != nil {
		return err
	}
	if !s.Runner.Accepts() {
		return ErrDraining()
	}
	req, err := c.readStart(true)
	if err != nil {
		return err
	}
	from, inputs, err := readRerun(req.body)
	if err != nil {
		return err
	}
	if parent.Draft && !c.Key.Has(flow.ScopeManage) {
		return ErrMissingScope(flow.ScopeManage)
	}
	again := flow.Rerun{Start: c.newStart(req), ParentRunID: parent.ID, From: from}
	again.Given = inputs
	release, err := c.holdFor(again.Wait)
	if err != nil {
		return err
	}
	started, err := s.Runner.Rerun(c.Request().Context(), again)
	release()
	return c.answerStart(req, started, err)
}

// readRerun reads the body. Without inputs they are nil: the run uses those of its
// parent.
func readRerun(body map[string]any) (from string, inputs map[string]any, err error) {
	values, list := contract.Check(rerunBody, body, false)
	wrong := problems(list)
	for i := range wrong {
		wrong[i].Detail = strings.Replace(wrong[i].Detail, "this flow has no input", "a rerun has no option", 1)
	}
	if from, _ = values["from"].(string); from == "" && body["from"] == "" {
		wrong.add("/from", "invalid", "wanted the ID of a node; leave it out to run again what did not succeed")
	}
	if v := values["inputs"]; v != nil {
		object, ok := v.(map[string]any)
		if inputs = object; !ok {
			wrong.add("/inputs", "wrong_type", "wanted an object, got "+flow.TypeOf(v))
		}
	}
	return from, inputs, wrong.err()
}
