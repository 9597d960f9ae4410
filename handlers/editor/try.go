package editor

import (
	"context"
	"net/http"
	"time"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/handlers/web"
	"sluice/views/components"
	editorview "sluice/views/editor"
)

// tryTimeout bounds a try, including the wait for a free process.
const tryTimeout = 30 * time.Second

// tryNode is POST /flows/{id}/node/{node}/try: it runs only the code of a node, as submitted,
// with the input values of the last run. Nothing is recorded.
func (c *call) tryNode(t *draftNode) error {
	field := t.kind.CodeField()
	if field == nil {
		return web.ErrNotFound
	}
	in := &flow.In{WorkspaceID: c.WorkspaceID(), FlowID: t.flow.ID, Path: t.node.ID, Node: t.node.ID, Config: map[string]any{}, Ports: map[string]any{}}
	for _, f := range t.kind.Fields {
		if v, has := f.ValueOrDefault(t.node); has {
			in.Config[f.Name] = v
		}
	}
	if typed := c.FormValue("text." + field.Name); typed != "" {
		in.Config[field.Name] = typed
	}
	run, steps, err := c.lastSteps(t.flow.ID)
	if err != nil {
		return err
	}
	tried := &editorview.Tried{LastRun: run != nil}
	setLastInputs(t, in.Config, steps)
	for _, f := range t.kind.Fields {
		if value, given := in.Config[f.Name]; given && !f.Typed {
			tried.Inputs = append(tried.Inputs, components.ValueView{Name: f.Name, Value: value})
		} else if !f.Typed && f.Required {
			tried.Missing = append(tried.Missing, f.Name)
		}
	}
	in.Origin = func(context.Context) (flow.Origin, error) { return originOfTry(run, t.node.ID, c.s.Now()), nil }
	ctx, cancel := context.WithTimeout(c.Ctx(), tryTimeout)
	defer cancel()
	start := time.Now()
	out, err := t.kind.Run(ctx, in)
	tried.Duration, tried.Log = time.Since(start), out.Log
	if ctx.Err() != nil {
		err = flow.Errorf(flow.CodeStepTimeout, "The code did not finish within %v.", tryTimeout)
	}
	if err != nil {
		tried.Failure = failureOf(flow.AsError(err))
	}
	for _, name := range sorting.Keys(out.Outputs) {
		tried.Outputs = append(tried.Outputs, components.ValueView{Name: name, Value: out.Outputs[name]})
	}
	if c.IsFragment() {
		return c.Render(http.StatusOK, editorview.TriedResult(tried))
	}
	p, err := c.nodePane(t)
	if err != nil {
		return err
	}
	p.ShowTried(field.Name, tried)
	return c.renderPane(http.StatusOK, p)
}

// originOfTry returns the origin that the code had in the last run, so that times and random
// numbers are the same, or a new one without a run. If the run is a rerun, it may differ.
func originOfTry(run *flow.Run, node string, now time.Time) flow.Origin {
	if run == nil {
		return flow.Origin{Time: now, Seed: "try"}
	}
	return flow.Origin{Time: run.CreatedAt, Seed: string(run.ID) + ":" + node}
}

// setLastInputs sets the inputs of a node to values of a run: the outputs of the connected
// nodes, or else the inputs that the node itself had.
func setLastInputs(t *draftNode, config map[string]any, steps map[string]*flow.Step) {
	if own := steps[t.node.ID]; own != nil {
		for name, value := range own.Input {
			if f := t.kind.Field(name); f != nil && !f.Typed {
				config[name] = value
			}
		}
	}
	for _, e := range t.Document.Edges {
		from, port := e.Source()
		node, to := e.Target()
		if source := steps[from]; source != nil && node == t.node.ID {
			if value, given := source.Outputs[port]; given {
				config[to] = value
			}
		}
	}
}
