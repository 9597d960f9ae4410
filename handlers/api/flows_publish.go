package api

import (
	"context"
	"fmt"
	"net/http"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/library"
	"sluice/handlers/api/openapi"
)

// maxApply bounds the body of an apply, in bytes.
const maxApply = 32 << 20

// Bounds of an apply or import. A body can have a million documents, each with a problem.
const (
	maxDocuments = 10_000
	maxProblems  = 1000 // listed
)

// diffObject is the JSON of the differences between two documents of a flow.
type diffObject struct {
	Slug     string           `json:"slug"`
	From     string           `json:"from,omitempty"`
	To       string           `json:"to,omitempty"`
	Changes  []string         `json:"changes" doc:"All changes as sentences."`
	Nodes    []nodeChange     `json:"nodes"`
	Contract []contractChange `json:"contract" doc:"Changes of inputs and outputs."`
	Breaking []contractChange `json:"breaking" doc:"Those that break callers."`
	Keys     []noticingKey    `json:"keys" doc:"Keys that called the flow in the last 30 days, if something breaks."`
	Flows    []followingFlow  `json:"flows" doc:"Nodes of other flows that run the live version of this one, if something breaks."`
	Widened  []widenedTool    `json:"widened" doc:"Tools of agents in other flows that run this one and can do more with the newer side than when their flow was published. They ask people before each call, until their flow is published again."`
	Alias    *takenAlias      `json:"alias,omitempty" doc:"The former slug of another flow that the document takes. Absent for other documents."`
}

// takenAlias is the JSON of a former slug of a flow that a document claims for another flow.
type takenAlias struct {
	Slug   string        `json:"slug"`
	FlowID flow.FlowID   `json:"flow_id" doc:"The flow that had the slug."`
	Now    string        `json:"flow_slug" doc:"The current slug of that flow."`
	Name   string        `json:"flow_name"`
	Keys   []noticingKey `json:"keys" doc:"Keys that used the former slug in the last 30 days."`
}

// followingFlow is a node that runs whatever version of a flow is live.
type followingFlow struct {
	FlowID  flow.FlowID `json:"flow_id"`
	Slug    string      `json:"slug"`
	Name    string      `json:"name"`
	Node    string      `json:"node"`
	Dropped []string    `json:"dropped" doc:"Connections of the node that lose their port, such as each.double > out.value."`
}

// widenedTool is a tool of another flow that can do more.
type widenedTool struct {
	FlowID flow.FlowID `json:"flow_id"`
	Slug   string      `json:"slug"`
	Name   string      `json:"name"`
	Node   string      `json:"node"`
	More   []string    `json:"more" doc:"What it can do and could not before, such as changes something, or sends data to api.example.com."`
}

// nodeChange is a node that was added, changed or removed.
type nodeChange struct {
	Change string   `json:"change" doc:"added, changed or removed."`
	Node   string   `json:"node"`
	Fields []string `json:"fields" doc:"Names of the changed fields."`
}

// contractChange is an input or output that callers see differently.
type contractChange struct {
	Change string `json:"change" doc:"added, changed or removed."`
	Role   string `json:"role" doc:"input or output."`
	Name   string `json:"name"`
	Detail string `json:"detail"`
}

// noticingKey is a key that is used to call a flow with a breaking change.
type noticingKey struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Calls int64  `json:"calls_30d"`
}

// newNoticingKeys returns the JSON of keys with their calls in the last 30 days.
func newNoticingKeys(list []flow.Caller) []noticingKey {
	return convert(list, func(k *flow.Caller) noticingKey { return noticingKey{k.KeyID, k.Name, k.Runs} })
}

// newDiffObject returns the JSON of the differences between two versions. Lists are never
// null, so that clients can iterate without a check.
func newDiffObject(from, to string, r *library.Review) diffObject {
	o := diffObject{Slug: r.Slug, From: from, To: to, Changes: r.Diff.Sentences(), Contract: []contractChange{}, Breaking: []contractChange{},
		Nodes: convert(r.Diff.Nodes, func(n *document.NodeChange) nodeChange {
			return nodeChange{n.Change, n.Node, append([]string{}, n.Fields...)}
		}),
		Keys: newNoticingKeys(r.Callers),
		Flows: convert(r.Followers, func(f *library.Follower) followingFlow {
			return followingFlow{f.FlowID, f.Slug, f.Name, f.Node, convert(f.Dropped, func(e *flow.Edge) string { return e.From + " > " + e.To })}
		}),
		Widened: convert(r.Widened, func(w *library.WidenedCaller) widenedTool {
			return widenedTool{w.FlowID, w.Slug, w.Name, w.Node, w.More}
		})}
	if a := r.Alias; a != nil {
		o.Alias = &takenAlias{a.Slug, a.Flow.ID, a.Flow.Slug, a.Flow.Name, newNoticingKeys(a.Callers)}
	}
	for i := range r.Diff.API {
		a := &r.Diff.API[i]
		role := "input"
		if a.Role == flow.RoleOutput {
			role = "output"
		}
		change := contractChange{a.Change, role, a.Name, a.Sentence}
		if o.Contract = append(o.Contract, change); a.Breaking && len(r.Diff.Breaking) > 0 {
			o.Breaking = append(o.Breaking, change)
		}
	}
	return o
}

// changeFlow changes a flow, archived or not, and responds with it.
func (c *Call) changeFlow(change func(ctx context.Context, f *flow.Flow, by flow.Actor) error) error {
	ctx := c.Request().Context()
	f, err := c.s.Store.FindFlow(ctx, c.Key.WorkspaceID, c.flowID())
	if err != nil {
		return err
	}
	if err := change(ctx, f, c.Actor()); err != nil {
		return err
	}
	return c.writeDraft(http.StatusOK, f.ID)
}

// showDiff is GET flow/diff.
func (s *Server) showDiff(c *Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	to, err := c.version(f, "to", "draft")
	if err != nil {
		return err
	}
	var old *flow.Document
	ctx, from := c.Request().Context(), int64(0)
	if f.LiveVersion > 0 || c.QueryParam("from") != "" && c.QueryParam("from") != "live" {
		if from, err = c.version(f, "from", "live"); err != nil {
			return err
		}
		if old, err = s.Library.Document(ctx, f.WorkspaceID, f.ID, from); err != nil {
			return err
		}
	}
	now, err := s.Library.Document(ctx, f.WorkspaceID, f.ID, to)
	if err != nil {
		return err
	}
	r, err := s.Library.Review(ctx, f, old, now, s.Now())
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, newDiffObject(olderName(old != nil, from), versionName(to), &r))
}

// olderName is versionName of the older side of a comparison; "" if it does not exist.
func olderName(exists bool, n int64) string {
	if !exists {
		return ""
	}
	return versionName(n)
}

// versionName is draft for 0, otherwise v and the number.
func versionName(n int64) string {
	if n == 0 {
		return "draft"
	}
	return fmt.Sprintf("v%d", n)
}

// versionObject is a published version.
type versionObject struct {
	Version   int64  `json:"version"`
	Live      bool   `json:"live"`
	Notes     string `json:"notes"`
	By        string `json:"by" doc:"ID of the person or key that published it."`
	CreatedAt stamp  `json:"created_at"`
}

// versionList lists the versions of a flow, newest first.
type versionList struct {
	Versions []versionObject `json:"versions"`
}

// listVersions is GET flow/versions.
func (s *Server) listVersions(c *Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	list, err := s.Library.Store.ListVersions(c.Request().Context(), f.WorkspaceID, f.ID)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, versionList{convert(list, func(v *flow.Version) versionObject {
		return versionObject{v.Number, v.Number == f.LiveVersion, v.Summary, v.By, stamp(v.CreatedAt)}
	})})
}

// publishedObject is the response to a publish.
type publishedObject struct {
	FlowID  flow.FlowID `json:"flow_id"`
	Slug    string      `json:"slug"`
	Version int64       `json:"version" doc:"The live version."`
	Diff    diffObject  `json:"diff" doc:"Changes over the version that was live before."`
}

// publishBody declares the body of a publish.
var publishBody = Body[library.PublishRequest]{Name: "Publish", Of: "a publish", Optional: true, Example: map[string]any{"notes": "Shorter answers."}, Fields: []Field[library.PublishRequest]{
	Member("version", "An older version to make live. Default: the draft.", numberType.OrAbsent(), func(r *library.PublishRequest) *int64 { return &r.Version }),
	Member("notes", "Release notes.", TextType.OrAbsent().With("maxLength", 200), func(r *library.PublishRequest) *string { return &r.Notes }),
	Member("allow_breaking", "Publish even if callers break.", BoolType.OrAbsent(), func(r *library.PublishRequest) *bool { return &r.AllowBreaking }),
}}

// numberType is the type of the number of a version.
var numberType = Type[int64]{Schema: map[string]any{"type": "integer", "minimum": 1}, Code: "invalid", Wanted: "a whole number of at least 1", As: func(v any) (int64, bool) { return AsWhole(v, 1, 1<<53) }}

// publishFlow is POST flow/publish: makes the draft or an older version live.
func (s *Server) publishFlow(c *Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	set, err := publishBody.ReadFrom(c)
	if err != nil {
		return err
	}
	r := library.PublishRequest{By: c.Actor(), At: s.Now()}
	set(&r)
	if r.Version != 0 {
		if err := c.calls().CheckVersion(c.Request().Context(), f, r.Version); err != nil {
			return err
		}
	}
	old := f.LiveVersion
	var v flow.Version
	var review library.Review
	err = awaitTests(c, func() (err error) {
		v, review, err = s.Library.PublishReviewed(c.Request().Context(), f, r)
		return err
	})
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, publishedObject{f.ID, f.Slug, v.Number, newDiffObject(olderName(old != 0, old), versionName(v.Number), &review)})
}

// appliedObject is what an apply did to one flow.
type appliedObject struct {
	Slug    string       `json:"slug"`
	FlowID  flow.FlowID  `json:"flow_id,omitempty" doc:"Absent for a flow that a dry run would create."`
	Change  string       `json:"change" doc:"created, changed, unchanged or archived."`
	Version *int64       `json:"version" doc:"The live version, or null."`
	Diff    *diffObject  `json:"diff,omitempty" doc:"Changes over the live version."`
	Losses  []importLoss `json:"losses,omitempty" doc:"What an export of AI-Flow has that the flow does not, and what is left to do. Absent for documents."`
}

// appliedList is the response to an apply.
type appliedList struct {
	DryRun bool            `json:"dry_run"`
	Flows  []appliedObject `json:"flows"`
	Beside []appliedBeside `json:"companions" doc:"What happened to the files beside flows, in the order of the request."`
}

// appliedBeside is what an apply did to a file beside a flow.
type appliedBeside struct {
	Slug     *string  `json:"slug" doc:"The flow; null for the workspace."`
	Name     string   `json:"name" doc:"What the file holds, such as triggers."`
	Change   string   `json:"change" doc:"created, changed or unchanged."`
	Revision int64    `json:"revision"`
	Changes  []string `json:"changes" doc:"As sentences."`
}

// applyRequest is the body of an apply.
type applyRequest struct {
	library.ApplyRequest
	given  []any // documents and exports
	beside []any // files beside flows
}

// besideSchema describes a file beside a flow in an apply.
var besideSchema = map[string]any{"type": "object", "required": []string{"content"}, "additionalProperties": false, "properties": map[string]any{
	"slug":    map[string]any{"type": "string", "description": "The flow, which has a document in the request or exists. Left out for the workspace."},
	"content": openapi.Ref("Companion"),
}}

// readBeside reads the files beside flows of an apply.
func readBeside(list []any) (files []library.CompanionInput, err error) {
	var wrong problems
	for i, v := range list {
		o, _ := flow.AsMap(v)
		slug, isText := o["slug"].(string)
		if o == nil || o["content"] == nil || o["slug"] != nil && !isText || len(o) > 2 || len(o) == 2 && o["slug"] == nil {
			wrong.add(flow.Pointer("companions", i), "invalid", "must be an object with content, and slug if it is beside a flow")
			continue
		}
		files = append(files, library.CompanionInput{Slug: slug, Content: o["content"]})
	}
	return files, wrong.err()
}

// applyBody declares the body of an apply.
var applyBody = Body[applyRequest]{Name: "Apply", Of: "an apply", Limit: maxApply,
	Example: map[string]any{"documents": []any{openapi.ExampleDocument}, "source": "github.com/acme/flows", "publish": true}, Fields: []Field[applyRequest]{
		Member("documents", "Flow documents, or exports of AI-Flow.", ListType(map[string]any{"anyOf": []map[string]any{openapi.Ref("Document"), openapi.Ref("Export")}}, maxDocuments), func(r *applyRequest) *[]any { return &r.given }).Required(`"documents" is missing`),
		Member("companions", "Files beside flows, such as triggers.", ListType(besideSchema, maxDocuments), func(r *applyRequest) *[]any { return &r.beside }),
		Member("source", "Names where the documents come from, such as a repository.", TextType.OrAbsent(), func(r *applyRequest) *string { return &r.Source }),
		Member("publish", publishEach, BoolType.OrAbsent(), func(r *applyRequest) *bool { return &r.Publish }),
		Member("allow_breaking", "Publish even if callers break.", BoolType.OrAbsent(), func(r *applyRequest) *bool { return &r.AllowBreaking }),
		Member("prune", "Archive flows last applied from the same source that are not in the request, and remove entries of that source that the files in companions leave out.", BoolType.OrAbsent(), func(r *applyRequest) *bool { return &r.Prune }),
		Member("force", "Replace drafts that were edited since the last apply.", BoolType.OrAbsent(), func(r *applyRequest) *bool { return &r.Force }),
		Member("take_alias", "Make a new flow of a document whose slug is a former slug of another flow. Requests that use the slug then reach the new flow.", BoolType.OrAbsent(), func(r *applyRequest) *bool { return &r.TakeAlias }),
		Member("test", "With publish: what changes must pass its test cases, and so must the flows that run it. Nothing is applied before.", BoolType.OrAbsent(), func(r *applyRequest) *bool { return &r.Test }),
		Member("test_mode", "The mode of these tests. Others than replay need the scopes run and manage.", EnumType("invalid", flow.CaseModes...).OrAbsent().With("default", flow.CaseReplay), func(r *applyRequest) *flow.CaseMode { return &r.TestMode }),
		Member("max_usd", "What each of these tests may spend in dollars.", DollarsType, func(r *applyRequest) *flow.NanoUSD { return &r.TestUSD }),
		Member("no_callers", "Leave out the flows that run a changed one.", BoolType.OrAbsent(), func(r *applyRequest) *bool { return &r.NoCallers }),
		Member("dry_run", "Only report what would happen.", BoolType.OrAbsent(), func(r *applyRequest) *bool { return &r.DryRun }),
	}}

// publishEach describes the member publish of an apply and of an import.
const publishEach = "Publish each flow."

// apply is POST apply: makes flows equal to documents, all or none.
func (s *Server) apply(c *Call) error {
	set, err := applyBody.ReadFrom(c)
	if err != nil {
		return err
	}
	r := applyRequest{ApplyRequest: library.ApplyRequest{By: c.Actor(), Caller: c.Key, At: s.Now(), Allow: c.allow}}
	set(&r)
	if r.Prune && r.Source == "" {
		return Invalid(flow.Problem{Pointer: "/source", Code: "required", Detail: "prune needs the source that the flows were applied from"})
	}
	if r.Prune {
		if err := c.requireAllFlows(); err != nil {
			return err
		}
	}
	losses, err := c.convertExports(r.given)
	if err != nil {
		return err
	}
	if r.Documents, err = c.readDocuments(r.given, true); err != nil {
		return err
	}
	if r.Companions, err = readBeside(r.beside); err != nil {
		return err
	}
	lost := map[string][]importLoss{} // by slug
	for i, d := range r.Documents {
		lost[document.WantedSlug(d)] = losses[i]
	}
	var list []library.Applied
	var files []library.AppliedCompanion
	err = awaitTests(c, func() (err error) {
		list, files, err = s.Library.Apply(c.Request().Context(), c.Key.WorkspaceID, r.ApplyRequest)
		return err
	})
	if err != nil {
		return err
	}
	applied := convert(list, newAppliedObject)
	for i := range applied {
		applied[i].Losses = lost[applied[i].Slug]
	}
	return c.WriteJSON(http.StatusOK, appliedList{r.DryRun, applied, convert(files, newAppliedBeside)})
}

// newAppliedBeside returns the JSON of what apply did to a file beside a flow.
func newAppliedBeside(a *library.AppliedCompanion) appliedBeside {
	return appliedBeside{orNull(a.Slug), a.Name, a.Change, a.Rev, convert(a.Changes, func(c *library.CompanionChange) string { return c.Text })}
}

// newAppliedObject returns the JSON of what apply did to one flow. Archived flows have no diff.
func newAppliedObject(a *library.Applied) appliedObject {
	o := appliedObject{Slug: a.Slug, FlowID: a.FlowID, Change: a.Change, Version: orNull(a.Version)}
	if a.Change != library.AppliedArchived {
		diff := newDiffObject("", "", &a.Review)
		o.Diff = &diff
	}
	return o
}

// readDocuments parses and checks all documents. The error has the problems of all of them; see
// documentErrors. With identify, slugs identify flows, so each may occur only once. Without it, the
// operator may send literal secrets.
func (c *Call) readDocuments(list []any, identify bool) ([]*flow.Document, error) {
	documents, errs := make([]*flow.Document, len(list)), make([]error, len(list))
	seen, faults := map[string]bool{}, make([][]flow.Problem, len(list))
	for i, v := range list {
		documents[i], faults[i] = document.ParseDocumentValue(v)
	}
	if err := c.calls().CheckApplied(c.Request().Context(), documents); err != nil {
		return nil, err
	}
	if err := c.s.Library.FillContracts(c.Request().Context(), c.Key.WorkspaceID, documents...); err != nil {
		return nil, err
	}
	check := c.s.Library.CheckSent
	if !identify && c.Operator() {
		check = func(d *flow.Document, problems []flow.Problem) error {
			return library.CheckParsed(c.s.Library, d, problems)
		}
	}
	for i, d := range documents {
		if errs[i] = check(d, faults[i]); errs[i] != nil {
			continue
		}
		slug := document.WantedSlug(d)
		if identify && seen[slug] {
			errs[i] = &flow.Error{Code: flow.CodeDocumentInvalid, Message: "Two documents have the same slug.", Fields: []flow.Problem{{Pointer: "/slug", Code: "duplicate", Detail: fmt.Sprintf("another document has the slug %q", slug)}}}
		}
		seen[slug] = true
	}
	return documents, documentErrors(errs)
}

// documentErrors returns an error with the problems of all documents of a request, or nil. Their
// pointers start with /documents and the index.
func documentErrors(errs []error) error {
	var first *flow.Error
	for i, err := range errs {
		if err == nil {
			continue
		}
		e := flow.AsError(err)
		if e.Code == flow.CodeInternal {
			return err
		}
		if first == nil {
			first = &flow.Error{Code: e.Code, Message: "Some documents are invalid. Nothing was changed."}
		}
		if e.Code == flow.CodeSecretInDocument {
			first.Code, first.Message = e.Code, e.Message
		}
		if len(e.Fields) == 0 {
			first.Fields = append(first.Fields, flow.Problem{Pointer: flow.Pointer("documents", i), Code: string(e.Code), Detail: e.Message})
		}
		for _, p := range e.Fields {
			if len(first.Fields) == maxProblems {
				break
			}
			p.Pointer = flow.Pointer("documents", i) + p.Pointer
			first.Fields = append(first.Fields, p)
		}
	}
	if first == nil {
		return nil
	}
	return first
}
