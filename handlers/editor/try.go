package editor

import (
	"context"
	"net/http"
	"time"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/views/components"
	editorview "sluice/views/editor"
)

// tryTimeout bounds a try, waiting for a free process included.
const tryTimeout = 30 * time.Second

// tryNode is POST /flows/{id}/node/{node}/try: it runs the code of a node alone, as it is
// typed now, on the values that the last run had. Nothing is recorded.
func (c *call) tryNode(t *draftNode) error {
	field := t.kind.CodeField()
	if field == nil {
		return web.ErrNotFound
	}
	in := &flow.In{WorkspaceID: c.WorkspaceID(), FlowID: t.flow.ID, Path: t.node.ID, Node: t.node.ID, Config: map[string]any{}, Ports: map[string]any{}}
	for _, f := range t.kind.Fields {
		if v, typed := t.node.Config[f.Name]; typed {
			in.Config[f.Name] = v
		} else if f.Default != nil {
			in.Config[f.Name] = f.Default
		}
	}
	if typed := c.FormValue("text." + field.Name); typed != "" {
		in.Config[field.Name] = typed
	}
	tried := &editorview.Tried{}
	run, err := c.fillTried(tried, t, in)
	if err != nil {
		return err
	}
	in.Origin = func(context.Context) (flow.Origin, error) { return originOfTry(run, t.node.ID, c.s.Now()), nil }
	ctx, cancel := context.WithTimeout(c.Ctx(), tryTimeout)
	defer cancel()
	start := time.Now()
	out, err := t.kind.Run(ctx, in)
	tried.Took, tried.Log = time.Since(start), out.Log
	if ctx.Err() != nil {
		err = flow.Errorf(flow.CodeStepTimeout, "The code did not end within %v.", tryTimeout)
	}
	if err != nil {
		tried.Trouble = troubleOf(flow.AsError(err))
	}
	for _, name := range sortedKeys(out.Outputs) {
		tried.Outputs = append(tried.Outputs, components.ValueView{Name: name, Value: out.Outputs[name]})
	}
	if c.IsFragment() {
		return c.Render(http.StatusOK, editorview.TriedResult(tried))
	}
	p, err := c.pane(t)
	if err != nil {
		return err
	}
	p.ShowTried(field.Name, tried)
	return c.renderPane(http.StatusOK, p)
}

// originOfTry is the origin that the code had in the last run, unless that was a rerun.
func originOfTry(run *flow.Run, node string, now time.Time) flow.Origin {
	if run == nil {
		return flow.Origin{Time: now, Seed: "try"}
	}
	return flow.Origin{Time: run.CreatedAt, Seed: run.ID + ":" + node}
}

// fillTried gives the node the values of the last run: what the nodes before it gave, or
// else what it was given itself. It returns that run, or nil.
func (c *call) fillTried(tried *editorview.Tried, t *draftNode, in *flow.In) (*flow.Run, error) {
	run, err := c.findRunOrLast(t.flow.ID, "")
	if err != nil {
		return nil, err
	}
	before := map[string]map[string]any{}
	if run != nil {
		tried.RunID = run.ID
		steps, err := c.s.Store.FindSteps(c.Ctx(), c.WorkspaceID(), run.ID)
		if err != nil {
			return nil, err
		}
		for i := range steps {
			if s := &steps[i]; s.Path == t.node.ID {
				for name, value := range s.Input {
					if f := t.kind.Field(name); f != nil && !f.Typed {
						in.Config[name] = value
					}
				}
			} else if s.Path == s.Node {
				before[s.Node] = s.Outputs
			}
		}
	}
	for _, e := range t.Document.Edges {
		node, port := e.Source()
		if value, given := before[node][port]; given && e.ToNode() == t.node.ID {
			_, to := e.Target()
			in.Config[to] = value
		}
	}
	for _, f := range t.kind.Fields {
		if value, given := in.Config[f.Name]; given && !f.Typed {
			tried.Inputs = append(tried.Inputs, components.ValueView{Name: f.Name, Value: value})
		} else if !f.Typed && f.Required {
			tried.Missing = append(tried.Missing, f.Name)
		}
	}
	return run, nil
}
