package api

import "sluice/flow"

// rerunBody declares the body of a rerun. Without inputs, the run uses those of its parent.
var rerunBody = Body[flow.Rerun]{Name: "Rerun", Of: "a rerun", Unknown: "unknown", Optional: true, Example: map[string]any{"from": "write"}, Fields: []Field[flow.Rerun]{
	Member("from", "The node to run again, with everything that depends on it. Of an agent, the path of a turn or a call: what came before is reused.", fromType.OrAbsent(), func(r *flow.Rerun) *string { return &r.From }),
	Member("arguments", "New arguments of the call at from, such as agent.3.1. The values that the flow binds stay. Needs the scope manage.", ObjectType.OrAbsent(), func(r *flow.Rerun) **flow.Object { return &r.Arguments }),
	Member("inputs", "New inputs. Default: those of the first run.", ObjectType.OrAbsent(), func(r *flow.Rerun) **flow.Object { return &r.Given }),
	Member("children", "The version that steps run of other flows: the one that the first run recorded, or the one that is live now.",
		rerunChildrenType.OrAbsent().With("default", "recorded"), func(r *flow.Rerun) *flow.ChildVersions { return &r.ChildVersions }),
	Member("skip_failed", "Go on without the items of a Map that failed: their results are null. The others run if they have not succeeded.", BoolType.OrAbsent().With("default", false), func(r *flow.Rerun) *bool { return &r.SkipFailed }),
}}

var (
	fromType = Type[string]{Schema: TextType.Schema, Read: func(v any) (string, []flow.Problem) {
		if v == "" {
			return "", []flow.Problem{{Code: "invalid", Detail: "wanted the ID of a node; leave it out to rerun the steps that did not succeed"}}
		}
		return TextType.read(v)
	}}
	rerunChildrenType = childVersions(map[string]flow.ChildVersions{"recorded": flow.ChildrenRecorded, "live": flow.ChildrenLive}, "recorded", "live")
)

// rerun is POST rerun: a new run with the document of an earlier one.
func (s *Server) rerun(c *Call) error {
	parent, err := c.findRun()
	if err != nil {
		return err
	}
	if !s.Runner.Accepts() {
		return ErrDraining()
	}
	req, err := c.readStart(rerunBody.Optional)
	if err != nil {
		return err
	}
	var again flow.Rerun
	set, wrong := rerunBody.Read(req.body.Map())
	if err := Invalid(wrong...); err != nil {
		return err
	}
	set(&again)
	if (parent.Draft || again.Arguments != nil) && !c.Key.Has(flow.ScopeManage) {
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
