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
	{Name: "children", Type: flow.TypeText},
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
	again, err := readRerun(req.body)
	if err != nil {
		return err
	}
	if parent.Draft && !c.Key.Has(flow.ScopeManage) {
		return ErrMissingScope(flow.ScopeManage)
	}
	if err := c.calls().CheckRerun(c.Request().Context(), parent); err != nil {
		return err
	}
	given := again.Given
	again.Start, again.ParentRunID = c.newStart(req), parent.ID
	again.Given = given
	release, err := c.holdFor(again.Wait)
	if err != nil {
		return err
	}
	started, err := s.Runner.Rerun(c.Request().Context(), again)
	release()
	return c.answerStart(req, started, err)
}

// The versions of other flows that a rerun may run: those of its parent, or the live ones.
const (
	childrenRecorded = "recorded"
	childrenLive     = "live"
)

// readRerun reads the body. Without inputs Given is nil: the run uses those of its
// parent.
func readRerun(body *flow.Object) (again flow.Rerun, err error) {
	values, list := contract.Check(rerunBody, body, false)
	wrong := problems(list)
	for i := range wrong {
		wrong[i].Detail = strings.Replace(wrong[i].Detail, "this flow has no input", "a rerun has no option", 1)
	}
	if again.From, _ = values.Get("from").(string); again.From == "" && body.Get("from") == "" {
		wrong.add("/from", "invalid", "wanted the ID of a node; leave it out to rerun the steps that did not succeed")
	}
	if v := values.Get("inputs"); v != nil {
		object, ok := flow.AsObject(v)
		if again.Given = object; !ok {
			wrong.add("/inputs", "wrong_type", "wanted an object, got "+flow.TypeOf(v))
		}
	}
	switch values.Get("children") {
	case nil, childrenRecorded:
	case childrenLive:
		again.ChildVersions = flow.ChildrenLive
	default:
		wrong.add("/children", "invalid", `wanted "live" or "recorded"`)
	}
	return again, wrong.err()
}
