package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/flow"
)

// Apply makes the flows of a server equal to files.
type Apply struct {
	Paths          []string `arg:"" name:"path" help:"Flow files and files beside them, or directories with files named *.flow.json, *.triggers.json."`
	Publish        bool     `help:"Publish the flows too."`
	FailOnBreaking bool     `help:"Change nothing if publishing would break callers, and name their keys. Needs --publish or --dry-run."`
	DryRun         bool     `help:"Only show what would change."`
	Source         string   `help:"Where the files come from, such as the name of a repository. Bounds --prune." placeholder:"NAME"`
	Prune          bool     `help:"Archive flows that were last applied from --source and have no file any more, and remove triggers that their file leaves out."`
	Force          bool     `help:"Replace drafts that were edited since the last apply."`
	TakeAlias      bool     `help:"Make a new flow of a file whose slug is a former slug of another flow. Programs that use the slug then call the new flow."`
	Test           bool     `help:"With --publish: what changes must pass its test cases, and so must the flows that run it. Nothing is applied before; new flows become drafts."`
	TestMode       string   `help:"Mode of these tests: replay, fill or live. Others than replay need the scopes run and manage." enum:"replay,fill,live" default:"replay"`
	MaxUSD         *float64 `name:"max-usd" help:"What each of these tests may spend in dollars." placeholder:"USD"`
	NoCallers      bool     `help:"Do not test the flows that run a changed one."`
	JSON           bool     `help:"Print the response of the API as JSON."`
}

// RunAPI applies all files in one request, all or none. The server compares and changes its
// flows in one transaction, so concurrent applies are serialized, and killing the command
// leaves no partial deployment.
//
// The server also checks for breaking changes: a check by the client before the apply would
// miss a concurrent publish. A dry run reports breaking changes in its response instead of
// refusing them.
func (c Apply) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	switch {
	case c.Prune && c.Source == "":
		return UsageError("--prune needs --source, so that it archives only flows that were applied from there")
	case c.Test && !c.Publish:
		return UsageError("--test needs --publish; a draft needs no test")
	case c.FailOnBreaking && !c.Publish && !c.DryRun:
		return UsageError("--fail-on-breaking needs --publish or --dry-run; a draft breaks no callers")
	}
	files, err := readSources(c.Paths)
	if err != nil {
		return err
	}
	if !c.DryRun {
		if err := c.sendRecordings(ctx, api, s, files); err != nil {
			return err
		}
	}
	request := client.ApplyRequest{
		Documents: sentValues(files, false), Companions: sentValues(files, true), Source: c.Source, Publish: c.Publish, AllowBreaking: !c.FailOnBreaking, Prune: c.Prune, Force: c.Force, TakeAlias: c.TakeAlias, DryRun: c.DryRun,
	}
	if c.Test && !c.DryRun {
		request.Test, request.TestMode, request.MaxUSD, request.NoCallers = true, c.TestMode, c.MaxUSD, c.NoCallers
		if err := c.addNew(ctx, api, s, files, request); err != nil {
			return applyError(files, err)
		}
	}
	list, beside, raw, err := applyTested(ctx, api, request)
	if err != nil {
		return applyError(files, err)
	}
	var breaking []client.Diff
	for i := range list {
		if d := list[i].Diff; d != nil && len(d.Breaking) > 0 {
			breaking = append(breaking, *d)
		}
	}
	if c.JSON {
		err = PrintRaw(s.Out, raw)
	} else {
		err = printApplied(s.Out, list, beside, c.DryRun)
	}
	if err == nil && !c.DryRun {
		err = c.sendRecordings(ctx, api, s, files) // of new flows
	}
	if err != nil {
		return err
	}
	if len(breaking) > 0 && (c.Publish || c.DryRun) {
		fmt.Fprintln(s.Err, breakingText(breaking))
		if c.FailOnBreaking {
			return ErrReported
		}
	}
	return nil
}

// addNew adds the flows that a server does not have as drafts, with their cases and recordings, because a test needs its flow.
func (c Apply) addNew(ctx context.Context, api *client.Client, s *Streams, files []*source, r client.ApplyRequest) error {
	r.DryRun, r.Test, r.Companions = true, false, []any{}
	list, _, _, err := api.Apply(ctx, r)
	if err != nil {
		return err
	}
	created := map[string]bool{}
	for i := range list {
		created[list[i].Slug] = list[i].Change == "created"
	}
	var added []*source
	for _, f := range files {
		if created[f.slug()] && (f.companion == nil || f.companion.Name == testsName) {
			added = append(added, f)
		}
	}
	if len(added) == 0 {
		return nil
	}
	r.DryRun, r.Publish, r.Prune, r.TestMode, r.MaxUSD = false, false, false, "", nil
	r.Documents, r.Companions = sentValues(added, false), sentValues(added, true)
	if _, _, _, err := api.Apply(ctx, r); err != nil {
		return err
	}
	return c.sendRecordings(ctx, api, s, added)
}

// applyTested is client.Client.Apply that waits for tests in progress, and then applies again.
func applyTested(ctx context.Context, api *client.Client, r client.ApplyRequest) (list []client.Applied, beside []client.AppliedCompanion, raw []byte, err error) {
	for {
		list, beside, raw, err = api.Apply(ctx, r)
		e := flow.AsError(err)
		if err == nil || e.Code != flow.CodeTestsRequired || !r.Test {
			return list, beside, raw, err
		}
		waits := false
		for _, p := range e.Fields {
			path, is := strings.CutPrefix(p.Detail, "GET ")
			path, _, _ = strings.Cut(path, " ")
			if !is || !strings.HasPrefix(p.Pointer, "/tests/") || !strings.HasPrefix(path, "/v1/flow/") {
				continue
			}
			if err := awaitTest(ctx, api, path); err != nil {
				return nil, nil, nil, err
			}
			waits = true
		}
		if !waits {
			return list, beside, raw, err
		}
	}
}

// awaitTest waits for the end of a test.
func awaitTest(ctx context.Context, api *client.Client, path string) error {
	for {
		raw, err := api.Call(ctx, "GET", path, nil)
		if err != nil {
			return err
		}
		var t struct{ Status flow.RunState }
		if err := json.Unmarshal(raw, &t); err != nil || t.Status.Ended() {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// sendRecordings adds the recordings beside files with cases to the flows that exist: before the apply, because a gate may need them, and after
// it for new flows.
func (c Apply) sendRecordings(ctx context.Context, api *client.Client, s *Streams, files []*source) error {
	for _, f := range files {
		if f.companion == nil || f.companion.Name != testsName {
			continue
		}
		dir := recordingsDir(filepath.Dir(f.path), f.slug())
		if !exists(dir) {
			continue
		}
		added, err := SendRecordings(ctx, api, f.slug(), dir)
		if flow.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		if added > 0 && !c.JSON {
			fmt.Fprintf(s.Err, "%s: %s added.\n", dir, flow.Count(added, "recording"))
		}
	}
	return nil
}

// sentValues returns the value that an apply sends for each flow file: the document, or the
// unconverted export. beside selects the companions instead.
func sentValues(files []*source, beside bool) []any {
	list := []any{}
	for _, f := range files {
		if f.companion != nil == beside {
			list = append(list, f.sent)
		}
	}
	return list
}

// applyError rewords the error of an apply so that it names files and lines, or the callers
// that a change would break. The API only returns pointers into the request, such as
// /documents/3/nodes/0.
func applyError(files []*source, err error) error {
	r, ok := errors.AsType[*client.Rejection](err)
	switch {
	case !ok:
		return err
	case r.Problem.Code == flow.CodeBreakingChange:
		return fmt.Errorf("%s\nNothing was applied", breakingText(r.Diffs))
	case r.Problem.Code == flow.CodeSlugTaken && len(r.Diffs) > 0 && r.Diffs[0].Alias != nil:
		a := r.Diffs[0].Alias
		return fmt.Errorf("%q is a former slug of the flow %q, whose slug is now %s%s. Use that slug to change the flow; --take-alias makes another flow with the former slug. Nothing was applied", a.Slug, a.Name, a.Now, aliasKeys(a))
	case r.Problem.Code == flow.CodeDraftChanged:
		return fmt.Errorf("%s Nothing was applied. 'sluice flow pull' gets the drafts; --force replaces them", r.Problem.Message)
	case len(r.Problem.Fields) == 0:
		return err
	}
	return fmt.Errorf("%s\n  %s", r.Problem.Message, strings.Join(locate(files, r.Problem.Fields), "\n  "))
}

// aliasKeys returns the end of a sentence that names the keys that used a former slug. It is
// "" without such keys.
func aliasKeys(a *client.Alias) string {
	list := make([]string, len(a.Keys))
	for i, k := range a.Keys {
		list[i] = fmt.Sprintf("%q (%s in 30 days)", k.Name, flow.Count(int(k.Calls), "request"))
	}
	if len(list) == 0 {
		return ""
	}
	return ", and which was used by the key " + strings.Join(list, ", ")
}

// breakingText lists changes that break callers, with the keys that called each flow.
func breakingText(list []client.Diff) string {
	var b strings.Builder
	b.WriteString("breaking changes:")
	for i := range list {
		d := &list[i]
		for _, change := range d.Breaking {
			fmt.Fprintf(&b, "\n  %s: %s", d.Slug, change.Detail)
		}
		for _, k := range d.Keys {
			fmt.Fprintf(&b, "\n  %s is called by the key %q (%s in 30 days)", d.Slug, k.Name, flow.Count(int(k.Calls), "run"))
		}
	}
	return b.String()
}

// printApplied prints a line for each flow and each companion.
func printApplied(w io.Writer, list []client.Applied, beside []client.AppliedCompanion, dryRun bool) error {
	columns := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for i := range list {
		a := &list[i]
		live := "draft only"
		if a.Version != nil {
			live = fmt.Sprintf("v%d", *a.Version)
		}
		fmt.Fprintf(columns, "%s\t%s\t%s\n", a.Change, a.Slug, live)
		if a.Diff != nil && a.Diff.Alias != nil {
			fmt.Fprintf(columns, "\ttaken from %s%s\n", a.Diff.Alias.Now, aliasKeys(a.Diff.Alias))
		}
	}
	for i := range beside {
		fmt.Fprintf(columns, "%s\t%s\trevision %d\n", beside[i].Change, beside[i].FileName(), beside[i].Rev)
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	for i := range beside {
		for _, change := range beside[i].Changes {
			fmt.Fprintf(w, "%s: %s\n", beside[i].FileName(), change)
		}
	}
	for i := range list {
		for _, l := range list[i].Losses {
			fmt.Fprintf(w, "%s: %s\n", list[i].Slug, l.Text)
		}
	}
	if !dryRun {
		return nil
	}
	_, err := fmt.Fprintln(w, "Dry run: nothing was changed.")
	return err
}

// Diff shows what publishing would change for callers.
type Diff struct {
	Path string `arg:"" name:"path-or-flow" help:"Flow file, directory of flow files, or the slug or ID of a flow, whose draft is compared."`
	JSON bool   `help:"Print the response of the API as JSON."`
}

// RunAPI compares files, or the draft of a flow, with the live versions. It compares files by
// a forced dry run of an apply, which computes the same result as the apply, including the
// positions that the server keeps for files without them, and ignores edited drafts.
func (c Diff) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	var diffs []client.Diff
	var beside []client.AppliedCompanion
	var raw []byte
	if !exists(c.Path) {
		d, data, err := api.Diff(ctx, c.Path)
		if flow.IsNotFound(err) {
			return fmt.Errorf("%s is neither a file nor a flow of the server; 'sluice flow list' lists the flows", c.Path)
		}
		if err != nil {
			return err
		}
		diffs, raw = append(diffs, *d), data
	} else {
		files, err := readSources([]string{c.Path})
		if err != nil {
			return err
		}
		list, others, data, err := api.Apply(ctx, client.ApplyRequest{Documents: sentValues(files, false), Companions: sentValues(files, true), Publish: true, DryRun: true, Force: true})
		if err != nil {
			return applyError(files, err)
		}
		for i := range list {
			diffs = append(diffs, *list[i].Diff)
		}
		raw, beside = data, others
	}
	if c.JSON {
		return PrintRaw(s.Out, raw)
	}
	if err := printDiffs(s.Out, diffs); err != nil {
		return err
	}
	for i := range beside {
		if len(beside[i].Changes) > 0 {
			fmt.Fprintln(s.Out, beside[i].FileName())
		}
		for _, change := range beside[i].Changes {
			fmt.Fprintln(s.Out, "  "+change)
		}
	}
	return nil
}

// printWidened prints the tools of other flows that can do more.
func printWidened(w io.Writer, list []client.WidenedTool) {
	for _, t := range list {
		fmt.Fprintf(w, "  The tool %s of %s now %s, and asks people before each call until %s is published again.\n", t.Node, t.Slug, strings.Join(t.More, " and "), t.Slug)
	}
}

// printDiffs prints the changes of each flow as sentences, which can be posted as a comment on
// a pull request. It only counts flows without changes, since a repository may have hundreds.
func printDiffs(w io.Writer, list []client.Diff) error {
	same := 0
	var breaking []client.Diff
	for i := range list {
		d := &list[i]
		if len(d.Changes) == 0 {
			same++
			continue
		}
		fmt.Fprintln(w, d.Slug)
		for _, change := range d.Changes {
			fmt.Fprintln(w, "  "+change)
		}
		printWidened(w, d.Widened)
		if len(d.Breaking) > 0 {
			breaking = append(breaking, *d)
		}
	}
	if len(breaking) > 0 {
		text := breakingText(breaking)
		fmt.Fprintln(w, "B"+text[1:])
	}
	if same > 0 {
		fmt.Fprintf(w, "%s without changes\n", flow.Count(same, "flow"))
	}
	return nil
}

// Publish makes the draft of a flow live, or an older version if version is not 0. The server
// checks both for breaking changes, since a rollback can break callers of the newer version.
func Publish(ctx context.Context, api *client.Client, s *Streams, flowID string, version int64, allowBreaking, asJSON bool) error {
	body := map[string]any{"allow_breaking": allowBreaking}
	if version > 0 {
		body["version"] = version
	}
	raw, number, err := publish(ctx, api, flowID, body)
	if err != nil {
		return err
	}
	if asJSON {
		return PrintRaw(s.Out, raw)
	}
	var published struct{ Diff client.Diff }
	if err := json.Unmarshal(raw, &published); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "Version %d is live.\n", number)
	printWidened(s.Out, published.Diff.Widened)
	return nil
}

// publish publishes the draft of a flow and returns the response and the number of the live
// version. If it is refused because of breaking changes, the error lists them.
func publish(ctx context.Context, api *client.Client, flowID string, body map[string]any) (raw []byte, version int64, err error) {
	raw, err = api.Call(ctx, "POST", "/v1/flow/"+url.PathEscape(flowID)+"/publish", body)
	if r, ok := errors.AsType[*client.Rejection](err); ok && r.Problem.Code == flow.CodeBreakingChange {
		return nil, 0, fmt.Errorf("%s\nNothing was published. 'sluice flow publish --allow-breaking' publishes it", breakingText(r.Diffs))
	}
	if err != nil {
		return nil, 0, err
	}
	var published struct {
		Version int64 `json:"version"`
	}
	err = json.Unmarshal(raw, &published)
	return raw, published.Version, err
}
