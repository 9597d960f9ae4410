package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/sorting"
)

const (
	// maxFiles bounds the files in the inputs of one run.
	maxFiles = 1000
	// sweepInterval is the interval between searches for content that crashes left
	// behind.
	sweepInterval = time.Hour
	// minOrphanAge is the age from which content without a row counts as orphaned.
	// Younger content may belong to an upload in progress.
	minOrphanAge = time.Hour
)

// fileChecker checks the files in the inputs of one run.
type fileChecker struct {
	r       *Runner
	ws      flow.WorkspaceID
	key     *flow.Key    // that starts the run; nil for a user
	given   *flow.Object // inputs from the caller; others are the flow's defaults or the parent's
	found   map[string]*flow.File
	allowed map[string]bool // file IDs that the key may or may not use
}

// resolveFiles replaces every file in the values by the stored file's metadata,
// whatever metadata the caller sent, and returns the IDs without duplicates. It
// appends a problem for each input with a file that is missing, not accessible or
// of a type that the input does not accept.
func (r *Runner) resolveFiles(ctx context.Context, s flow.Start, inputs []contract.Input, values *flow.Object, problems []flow.Problem) (ids []string, _ []flow.Problem, err error) {
	c := &fileChecker{r: r, ws: s.WorkspaceID, key: s.Key, given: s.Given, found: map[string]*flow.File{}, allowed: map[string]bool{}}
	for i := range inputs {
		in := &inputs[i]
		v := values.Get(in.Name)
		problems = append(problems, r.checkRemoteFiles(in, v)...)
		inputIDs := flow.FileIDs(v)
		if len(inputIDs) == 0 || hasProblem(problems, in) {
			continue
		}
		if ids = append(ids, inputIDs...); len(ids) > maxFiles {
			return nil, append(problems, tooManyFiles(in)), nil
		}
		problem, err := c.check(ctx, in, v, inputIDs)
		if err != nil {
			return nil, nil, err
		}
		if problem != nil {
			problems = append(problems, *problem)
			continue
		}
		values.Set(in.Name, flow.MapFiles(v, func(id string, _ map[string]any) map[string]any { return c.found[id].Value() }))
	}
	sorting.Strings(ids)
	return slices.Compact(ids), problems, nil
}

// checkRemoteFiles returns the problem with the first address in the value of an
// input that must not be fetched. Names are not looked up here: the fetch itself
// judges the addresses that they resolve to.
func (r *Runner) checkRemoteFiles(in *contract.Input, value any) []flow.Problem {
	remote := in.RemoteFiles(value)
	if len(remote) > maxFiles {
		return []flow.Problem{tooManyFiles(in)}
	}
	for _, i := range slices.Sorted(maps.Keys(remote)) {
		if remote[i].IsData() || r.cfg.CheckURL == nil {
			continue
		}
		if err := r.cfg.CheckURL(remote[i].URL); err != nil {
			return []flow.Problem{{Pointer: flow.Pointer(in.Name), Code: "invalid_url", Node: in.Node, Detail: strings.TrimSuffix(err.Error(), ".")}}
		}
	}
	return nil
}

// hasProblem reports whether an input has a problem already. Then its files are not
// checked.
func hasProblem(problems []flow.Problem, in *contract.Input) bool {
	return slices.ContainsFunc(problems, func(p flow.Problem) bool { return p.InField(in.Name) })
}

// tooManyFiles is the problem of a run with more than maxFiles files.
func tooManyFiles(in *contract.Input) flow.Problem {
	return flow.Problem{Pointer: flow.Pointer(in.Name), Code: "too_large", Node: in.Node, Detail: fmt.Sprintf("a run takes at most %d files", maxFiles)}
}

// check returns the first problem with the files of an input, or nil.
func (c *fileChecker) check(ctx context.Context, in *contract.Input, value any, ids []string) (*flow.Problem, error) {
	files, err := c.r.store.FindFiles(ctx, c.ws, ids)
	if err != nil {
		return nil, err
	}
	given := c.given.Get(in.Name) != nil
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
	for _, id := range acceptedIDs(in, value) {
		if !in.Accepts(c.found[id]) {
			p := in.NotAccepted(c.found[id])
			return &p, nil
		}
	}
	return nil, nil
}

// acceptedIDs returns the files in the value that the input's Accept applies to.
func acceptedIDs(in *contract.Input, value any) []string {
	if !in.TakesFiles() {
		return nil
	}
	return flow.FileIDs(value)
}

// mayUse reports whether the caller may use a file; f is nil if it does not exist.
// Everybody who may start the flow may use the files of its defaults and, in a
// rerun, those of the parent's inputs.
func (c *fileChecker) mayUse(ctx context.Context, f *flow.File, given bool) (bool, error) {
	if f == nil || c.key == nil || !given || c.allowed[f.ID] {
		return f != nil, nil
	}
	uses, err := c.r.store.FileUses(ctx, c.ws, f.ID)
	if err != nil {
		return false, err
	}
	c.allowed[f.ID] = flow.MayUseFile(c.key, f, uses)
	return c.allowed[f.ID], nil
}

// fileErasedError replaces the store's "not found" for a run whose file was erased
// between the check of its inputs and the commit. Other errors are returned
// unchanged.
func fileErasedError(err error, files []string) error {
	if len(files) == 0 || !flow.IsNotFound(err) {
		return err
	}
	return flow.Errorf(flow.CodeInputInvalid, "A file of the inputs was erased while the run was being started. Upload it again with POST /v1/files.")
}

// cleanUpFiles removes the content of erased files and, every sweepInterval, erases
// unused uploads and content that crashes left behind.
func (r cleaner) cleanUpFiles(ctx context.Context) error {
	err := r.inBatches(ctx, func() (int, error) { return r.store.RemoveErasedFiles(ctx, expireBatch) })
	if elapsed := r.now().Sub(r.lastSweep); !r.lastSweep.IsZero() && elapsed.Abs() < sweepInterval { // Abs: the clock may be set back
		return err
	}
	err = errors.Join(err, r.inBatches(ctx, func() (int, error) { return r.store.ExpireFiles(ctx, r.now(), expireBatch) }))
	swept := r.store.SweepFiles(ctx, r.now().Add(-minOrphanAge))
	if swept == nil {
		r.lastSweep = r.now()
	}
	return errors.Join(err, swept)
}
