package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/library"
	"sluice/handlers/web"
)

// draftObject is the JSON of a flow whose draft was created or changed.
type draftObject struct {
	FlowID   flow.FlowID `json:"flow_id"`
	Slug     string      `json:"slug" doc:"Name of the flow in URLs, in place of its ID."`
	Name     string      `json:"name"`
	Revision int64       `json:"revision" doc:"Counts changes of the draft."`
	Version  *int64      `json:"version" doc:"The live version; null when the flow was never published."`
	Archived bool        `json:"archived"`
	URLs     flowURLs    `json:"urls"`
}

// validationObject lists what is wrong with a document.
type validationObject struct {
	Valid  bool           `json:"valid"`
	Errors []problemField `json:"errors" doc:"Every problem with its location; empty for a valid document."`
}

// Actor returns the key, or "cli" for the command line, as the actor for the audit log. The command
// line on the same machine has no address.
func (c *Call) Actor() flow.Actor {
	id := c.Key.ID
	if id == "" {
		id = "cli"
	}
	if c.Operator() {
		return flow.Actor{ID: id}
	}
	return flow.Actor{ID: id, IP: web.RemoteIP(c.Request())}
}

// requireAllFlows returns an error for a key that is limited to a list of flows.
func (c *Call) requireAllFlows() error {
	if len(c.Key.Flows) > 0 {
		return flow.Errorf(flow.CodeFlowNotAllowed, "This key is limited to a list of flows, so it may not create or archive others.")
	}
	return nil
}

// allow is allowFlow for package library: a key with a list of flows may neither create flows nor
// name one that does not exist, because another flow may get that name.
func (c *Call) allow(f *flow.Flow) error {
	if f == nil {
		return c.requireAllFlows()
	}
	return c.allowFlow(f.ID)
}

// calls checks which flows the key starts through documents.
func (c *Call) calls() *library.Calls {
	calls := &library.Calls{Library: c.s.Library, WorkspaceID: c.Key.WorkspaceID}
	if len(c.Key.Flows) > 0 {
		calls.Allow = c.allow
	}
	return calls
}

// draftTag is the ETag of a draft.
func draftTag(f *flow.Flow) string { return `"rev-` + strconv.FormatInt(f.Rev, 10) + `"` }

// writeDraft responds with the current state of a flow.
func (c *Call) writeDraft(status int, id flow.FlowID) error {
	f, err := c.s.Store.FindFlow(c.Request().Context(), c.Key.WorkspaceID, id)
	if err != nil {
		return err
	}
	c.Response().Header().Set("ETag", draftTag(f))
	o := draftObject{FlowID: f.ID, Slug: f.Slug, Name: f.Name, Revision: f.Rev, Version: orNull(f.LiveVersion), Archived: !f.ArchivedAt.IsZero(), URLs: c.s.flowURLs(f)}
	return c.WriteJSON(status, o)
}

// flowURLs returns the addresses of a flow. They have its ID, because a slug may be changed.
func (s *Server) flowURLs(f *flow.Flow) flowURLs {
	self := s.PublicURL + "/v1/flow/" + string(f.ID)
	return flowURLs{self, self + "/run", self + "/runs", self + "/openapi.json", s.PublicURL + "/flows/" + string(f.ID)}
}

// readDocument reads a flow document from the body and checks it. f is the flow that it is for; nil
// for a new one. The operator may send literal secrets of a flow, which keep moves to credentials.
func (c *Call) readDocument(f *flow.Flow) (_ *flow.Document, keep func(ctx context.Context) error, err error) {
	object, err := c.ReadObjectUpTo(false, flow.MaxDocumentBytes)
	if err != nil {
		return nil, nil, err
	}
	d, problems := document.ParseDocumentValue(object)
	if f != nil { // before anything is read of the flows that it runs
		if err := c.calls().CheckDraft(c.Request().Context(), f, d); err != nil {
			return nil, nil, err
		}
	}
	if err := c.s.Library.FillContracts(c.Request().Context(), c.Key.WorkspaceID, d); err != nil {
		return nil, nil, err
	}
	keep = func(context.Context) error { return nil }
	if f != nil && d != nil && c.Operator() {
		keep = library.ExtractSecrets(c.Request().Context(), c.s.Library, f, d)
	}
	return d, keep, c.s.Library.CheckSent(d, problems)
}

// createFlow is POST flow: makes a flow from a document.
func (s *Server) createFlow(c *Call) error {
	if err := c.requireAllFlows(); err != nil {
		return err
	}
	d, _, err := c.readDocument(nil)
	if err != nil {
		return err
	}
	f, err := s.Library.CreateSent(c.Request().Context(), c.Key.WorkspaceID, c.Actor(), d)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", "/v1/flow/"+string(f.ID))
	return c.writeDraft(http.StatusCreated, f.ID)
}

// validateFlow is POST flow/validate: checks a document without storing it.
func (s *Server) validateFlow(c *Call) error {
	object, err := c.ReadObjectUpTo(false, flow.MaxDocumentBytes)
	if err != nil {
		return err
	}
	o := validationObject{Errors: []problemField{}}
	d, problems := document.ParseDocumentValue(object)
	if err := c.checkAnyDraft(d); errors.Is(err, &flow.Error{Code: flow.CodeFlowNotAllowed}) {
		o.Errors = problemFields(flow.AsError(err).Fields)
		return c.WriteJSON(http.StatusOK, o)
	} else if err != nil {
		return err
	}
	if err := s.Library.FillContracts(c.Request().Context(), c.Key.WorkspaceID, d); err != nil {
		return err
	}
	if err := s.Library.CheckSent(d, problems); err != nil {
		o.Errors = problemFields(flow.AsError(err).Fields)
	}
	if d != nil {
		missing, err := c.calls().Missing(c.Request().Context(), d)
		if err != nil {
			return err
		}
		o.Errors = append(o.Errors, problemFields(missing)...)
	}
	o.Valid = len(o.Errors) == 0
	return c.WriteJSON(http.StatusOK, o)
}

// maxValidated bounds the flows whose drafts a validation reads.
const maxValidated = 100

// checkAnyDraft returns an error if a document runs flows that the key may not put into any of its
// flows.
func (c *Call) checkAnyDraft(d *flow.Document) error {
	if len(c.Key.Flows) == 0 {
		return nil
	}
	flows, err := c.ReadFlows("", maxValidated)
	if err != nil {
		return err
	}
	return c.calls().CheckAny(c.Request().Context(), d, flows)
}

// problemFields converts problems to their JSON.
func problemFields(list []flow.Problem) []problemField {
	return convert(list, func(p *flow.Problem) problemField { return problemField{p.Pointer, p.Code, p.Detail} })
}

// replaceDraft is PUT flow: replaces the draft that the client has read.
func (s *Server) replaceDraft(c *Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	tag, present, err := SingleHeader(c.Request().Header, "If-Match")
	switch {
	case err != nil:
		return err
	case !present:
		return flow.Errorf(flow.CodePreconditionRequired, "Send the ETag of the draft that you have read as If-Match, so that no other change is overwritten. GET …/document?version=draft returns both.")
	}
	d, keep, err := c.readDocument(f)
	if err != nil {
		return err
	}
	if strings.TrimSpace(tag) != draftTag(f) {
		return flow.Errorf(flow.CodePreconditionFailed, "The draft has changed since you read it. Read the document again, merge your changes, and send it with the new ETag.")
	}
	takeAlias, err := QueryBool(c, "take_alias")
	if err != nil {
		return err
	}
	if takeAlias {
		if err := c.calls().CheckAlias(c.Request().Context(), d.Slug); err != nil {
			return err
		}
	}
	err = s.Library.Store.InTransaction(c.Request().Context(), func(ctx context.Context) error {
		if err := keep(ctx); err != nil {
			return err
		}
		return s.Library.ReplaceDraft(ctx, f, c.Actor(), f.Rev, d, takeAlias)
	})
	if err != nil {
		return err
	}
	return c.writeDraft(http.StatusOK, f.ID)
}

// version reads a query parameter that names a document of a flow: draft, live or a
// number. It returns 0 for the draft. Anything but the live version needs the scope
// edit or manage.
func (c *Call) version(f *flow.Flow, name, otherwise string) (int64, error) {
	text := c.QueryParam(name)
	if text == "" {
		text = otherwise
	}
	var n int64
	switch text {
	case "draft":
	case "live":
		if f.LiveVersion == 0 {
			return 0, flow.Errorf(flow.CodeNotPublished, "This flow has no live version. Publish it first.")
		}
		return f.LiveVersion, nil
	default:
		var err error
		if n, err = strconv.ParseInt(strings.TrimPrefix(text, "v"), 10, 64); err != nil || n < 1 {
			var wrong problems
			wrong.add("/"+name, "invalid", name+" is draft, live or the number of a version")
			return 0, wrong.err()
		}
	}
	if n != f.LiveVersion && !c.Key.Has(flow.ScopeEdit) && !c.Key.Has(flow.ScopeManage) {
		return 0, ErrMissingScope(flow.ScopeEdit)
	}
	return n, nil
}

// showDocument is GET flow/document: the document in its canonical form.
func (s *Server) showDocument(c *Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	n, err := c.version(f, "version", "live")
	if err != nil {
		return err
	}
	data, err := s.Library.Export(c.Request().Context(), f.WorkspaceID, f.ID, n)
	if err != nil {
		return err
	}
	tag := draftTag(f)
	if n > 0 {
		tag = `"v` + strconv.FormatInt(n, 10) + `"`
	}
	c.Response().Header().Set("ETag", tag)
	return c.writeBody(http.StatusOK, data)
}

// archiveFlow is POST flow/archive.
func (s *Server) archiveFlow(c *Call) error { return c.changeFlow(s.Library.Archive) }

// restoreFlow is POST flow/restore.
func (s *Server) restoreFlow(c *Call) error { return c.changeFlow(s.Library.Restore) }
