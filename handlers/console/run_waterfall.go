package console

import (
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/items"
	"sluice/flow/wording"
	"sluice/handlers/console/timeline"
	"sluice/views/components"
	consoleview "sluice/views/console"
)

// maxFallDepth is the largest number of levels of child runs in a waterfall.
const maxFallDepth = 4

// waterfallBuilder builds the rows of a waterfall: the steps of a run, and below a step that
// runs another flow, the steps of one of its child runs.
type waterfallBuilder struct {
	c          *call
	link       consoleview.RunLink
	begin, end time.Time
	w          consoleview.Waterfall
	detail     *consoleview.StepView // of the selected step
}

// waterfall returns the steps of a run over time, and the details of the selected one.
func (c *call) waterfall(v *runView, link consoleview.RunLink) (consoleview.Waterfall, *consoleview.StepView, error) {
	f := &waterfallBuilder{c: c, link: link}
	f.begin, f.end = v.span(c.s.Now())
	f.w = consoleview.Waterfall{Done: v.run.Progress.Done, Total: v.run.Progress.Total, Span: max(f.end.Sub(f.begin), time.Millisecond)}
	err := f.add(v, "", 0)
	return f.w, f.detail, err
}

// add adds the steps of a run. prefix is the path of its item, and level its depth.
func (f *waterfallBuilder) add(v *runView, prefix string, level int) error {
	for i := range v.steps {
		s := &v.steps[i]
		path := prefix + s.Path
		row := v.fallRow(s, f.begin, f.end)
		to := f.link.WithStep(path)
		row.Path, row.Depth, row.Inside, row.Href, row.Attrs, row.Current = path, row.Depth+2*level, level > 0, to.Path(), to.Attrs(), path == f.link.Step
		if row.Current {
			f.detail = v.stepView(s.Path, f.c.s.Kinds)
			if f.detail.Path = path; level > 0 {
				f.detail.MayRerun, f.detail.RunPath = false, components.RunPath(string(v.run.ID))
			}
		}
		children := v.children[s.Path]
		if children == nil || level == maxFallDepth || v.run.Erased != "" {
			f.w.Rows = append(f.w.Rows, row)
			continue
		}
		if err := f.addChild(v, children, row, level); err != nil {
			return err
		}
	}
	return nil
}

// addChild adds a step that runs another flow, and its open item. A single child run is
// open until the user closes it.
func (f *waterfallBuilder) addChild(v *runView, s *flow.Children, row consoleview.WaterfallRow, level int) error {
	item, open := parseItem(f.link.Step, row.Path)
	first := 0
	if s.Failed > 0 && v.isMap(s.Caller.Path, s) {
		failures, err := f.c.s.Store.ListFailures(f.c.Ctx(), s.Caller, maxFailures)
		if err != nil {
			return err
		}
		if len(failures) > 0 {
			first = items.Cause(failures).Item
		}
		for _, fail := range failures {
			if !fail.At.IsZero() {
				row.Failures = append(row.Failures, max(0, fail.At.Sub(f.begin)))
			}
		}
	}
	if !open && f.link.Step != row.Path && !v.isMap(s.Caller.Path, s) {
		open = true
	}
	if s.Total > 0 {
		to := f.link.WithStep(consoleview.ItemPath(row.Path, first))
		if open {
			to = f.link.WithStep(row.Path)
		}
		row.Fold = &consoleview.WaterfallFold{Open: open, Link: to}
	}
	f.w.Rows = append(f.w.Rows, row)
	if !open {
		return nil
	}
	f.w.Shared = true
	return f.addItem(v, s, row, item, level)
}

// addItem adds an item of a step with the steps of its run.
func (f *waterfallBuilder) addItem(v *runView, s *flow.Children, above consoleview.WaterfallRow, item, level int) error {
	path := consoleview.ItemPath(above.Path, item)
	to := f.link.WithStep(path)
	row := consoleview.WaterfallRow{
		Path: path, Label: "Item " + strconv.Itoa(item), State: string(flow.StepPending), Depth: above.Depth + 1, Note: "not started yet", Href: to.Path(), Attrs: to.Attrs(),
		Current: path == f.link.Step, Item: true,
	}
	results, err := f.c.s.Store.ReadChildren(f.c.Ctx(), f.c.WorkspaceID(), s.Caller, item, item+1)
	if err != nil {
		return err
	}
	if len(results) == 0 {
		f.show(row, &flow.ChildResult{Item: item}, nil)
		return nil
	}
	r := &results[0]
	row.State, row.Note = string(r.State), ""
	if r.RunID == "" {
		row.Note = "could not start"
		f.show(row, r, nil)
		return nil
	}
	run, err := f.c.s.Store.FindRun(f.c.Ctx(), f.c.WorkspaceID(), "", r.RunID)
	if err != nil {
		return err
	}
	child, err := f.c.viewRun(run)
	if err != nil {
		return err
	}
	row.Open = components.RunPath(string(run.ID))
	if !v.isMap(s.Caller.Path, s) {
		row.Label = child.flow.Name
	}
	if run.Caller == nil || run.Caller.RunID != s.Caller.RunID {
		row.State, row.Note = string(flow.StepReused), "taken over from an earlier run"
		f.show(row, r, child)
		return nil
	}
	begin, end := child.span(f.c.s.Now())
	b := timeline.Span(f.begin, begin, end, row.State)
	b.Title = b.State + " after " + consoleview.Precisely(b.From) + ", took " + consoleview.Precisely(b.To-b.From)
	row.Bars, row.Began, row.Duration = []consoleview.WaterfallBar{b}, true, end.Sub(begin)
	f.show(row, r, child)
	return f.add(child, path+"/", level+1)
}

// show adds the row of an item, and its details if it is selected.
func (f *waterfallBuilder) show(row consoleview.WaterfallRow, r *flow.ChildResult, child *runView) {
	f.w.Rows = append(f.w.Rows, row)
	if !row.Current {
		return
	}
	d := &consoleview.StepView{Path: row.Path, Label: row.Label, State: row.State, RunPath: row.Open, Inputs: valueViews(r.Inputs), Outputs: valueViews(r.Outputs)}
	if row.Note != "" && r.Inputs == nil {
		d.Note = wording.Sentence(row.Note)
	}
	f.detail = d
	if r.Error == nil {
		return
	}
	if child == nil {
		child = &runView{run: &flow.Run{}}
	}
	d.Error = child.runError(r.Error)
	if failed := child.step(r.Error.Node); failed != nil {
		d.About = strings.TrimSpace("failed at “" + child.label(failed.Node) + "”")
		tries := failed.Tries()
		for i, a := range tries {
			d.Tries = append(d.Tries, child.tryLine(failed, a, i == len(tries)-1))
		}
	}
}
