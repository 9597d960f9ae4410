package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/flow"
)

const (
	// maxFiles bounds the files in the inputs of one run.
	maxFiles = 1000
	// sweepEvery is how often what crashes left of files is looked for.
	sweepInterval = time.Hour
	// orphanAge is how old such content must be: it might just be being saved.
	minOrphanAge = time.Hour
)

// fileCheck looks up the files in the inputs of one run.
type fileChecker struct {
	r      *Runner
	ws     string
	key    *flow.Key
	given  map[string]any // what the caller gave; the rest is the flow's own or the parent's
	found  map[string]*flow.File
	usable map[string]bool
}

// resolveFiles replaces every file in the values by what the store knows of
// it, whatever the caller wrote, and lists their IDs. To the problems it adds
// files that are not there, another's, or not accepted.
func (r *Runner) resolveFiles(ctx context.Context, s flow.Start, inputs []flow.Input, values map[string]any, problems []flow.Problem) (ids []string, _ []flow.Problem, err error) {
	c := &fileChecker{r: r, ws: s.WorkspaceID, key: s.Key, given: s.Given, found: map[string]*flow.File{}, usable: map[string]bool{}}
	for i := range inputs {
		in := &inputs[i]
		own := flow.FileIDs(values[in.Name])
		if len(own) == 0 || hasProblem(problems, in) {
			continue
		}
		if ids = append(ids, own...); len(ids) > maxFiles {
			return nil, append(problems, tooManyFiles(in)), nil
		}
		bad, err := c.check(ctx, in, values[in.Name], own)
		if err != nil {
			return nil, nil, err
		}
		if bad != nil {
			problems = append(problems, *bad)
			continue
		}
		values[in.Name] = flow.MapFiles(values[in.Name], func(id string, _ map[string]any) map[string]any { return c.found[id].Value() })
	}
	slices.Sort(ids)
	return slices.Compact(ids), problems, nil
}

func hasProblem(problems []flow.Problem, in *flow.Input) bool {
	return slices.ContainsFunc(problems, func(p flow.Problem) bool { return p.Pointer == flow.Pointer(in.Name) })
}

func tooManyFiles(in *flow.Input) flow.Problem {
	return flow.Problem{Pointer: flow.Pointer(in.Name), Code: "too_large", Node: in.Node, Detail: fmt.Sprintf("a run takes at most %d files", maxFiles)}
}

// check finds what is wrong with the files of one input, one problem at most.
func (c *fileChecker) check(ctx context.Context, in *flow.Input, value any, ids []string) (*flow.Problem, error) {
	files, err := c.r.store.FindFiles(ctx, c.ws, ids)
	if err != nil {
		return nil, err
	}
	given := c.given[in.Name] != nil
	for _, id := range ids {
		f := files[id]
		ok, err := c.mayUse(ctx, f, given)
		if err != nil {
			return nil, err
		}
		if !ok {
			p := in.NoFile(map[string]any{"file": id})
			return &p, nil
		}
		c.found[id] = f
	}
	if id, isFile := flow.FileID(value); isFile && in.Type == flow.TypeFile && !in.Accepts(c.found[id]) {
		p := in.NotAccepted(c.found[id])
		return &p, nil
	}
	return nil, nil
}

// may tells whether a file is there for whoever starts the run. A file of the
// flow itself, or of the run that is run again, comes with it for everybody.
func (c *fileChecker) mayUse(ctx context.Context, f *flow.File, given bool) (bool, error) {
	if f == nil || c.key == nil || !given || c.usable[f.ID] {
		return f != nil, nil
	}
	uses, err := c.r.store.FileUses(ctx, c.ws, f.ID)
	if err != nil {
		return false, err
	}
	c.usable[f.ID] = flow.MayUseFile(c.key, f, uses)
	return c.usable[f.ID], nil
}

// lostFile is the refusal of a run whose file was erased while it was started.
func fileErasedError(err error, files []string) error {
	if len(files) == 0 || !errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
		return err
	}
	return flow.Errorf(flow.CodeInputInvalid, "A file of the inputs was erased while the run was being started. Upload it again with POST /v1/files.")
}

// tidyFiles erases uploads that nobody used and removes the content of what is
// erased, and once in a while what crashes left behind.
func (r *Runner) cleanUpFiles(ctx context.Context) error {
	if err := r.inBatches(ctx, func() (int, error) { return r.store.RemoveErasedFiles(ctx, expireBatch) }); err != nil {
		return err
	}
	if since := r.now().Sub(r.lastSweep); !r.lastSweep.IsZero() && since.Abs() < sweepInterval {
		return nil
	}
	if err := r.inBatches(ctx, func() (int, error) { return r.store.ExpireFiles(ctx, r.now(), expireBatch) }); err != nil {
		return err
	}
	err := r.store.SweepFiles(ctx, r.now().Add(-minOrphanAge))
	if err == nil {
		r.lastSweep = r.now()
	}
	return err
}
