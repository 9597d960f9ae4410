package admin

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/companion"
	"sluice/flow/library"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// companionNames maps the Go types of responses to the names of their schemas in the OpenAPI document.
var companionNames = map[reflect.Type]string{
	reflect.TypeFor[CompanionList]():      "CompanionList",
	reflect.TypeFor[CompanionReplaced]():  "CompanionReplaced",
	reflect.TypeFor[CompanionRevisions](): "CompanionRevisions",
}

var companionParams = map[string]map[string]any{
	"companion": {"name": "companion", "in": "path", "required": true, "description": "What the file holds, such as triggers.", "schema": schema{"type": "string"}},
	"revision":  queryParam("revision", "An earlier revision. Default: the present one.", schema{"type": "integer", "minimum": 1}),
	"prune":     queryParam("prune", "Remove what the file leaves out.", schema{"type": "boolean"}),
}

// maxCompanion bounds the bytes of a file beside a flow.
const maxCompanion = 4 << 20

// CompanionHead is a file in a list.
type CompanionHead struct {
	FlowID   *flow.FlowID `json:"flow_id" doc:"The flow that the file is beside; null for the workspace."`
	Slug     *string      `json:"slug"`
	Name     string       `json:"name" doc:"What the file holds, such as triggers. Files are named SLUG.NAME.json, or sluice.NAME.json beside the workspace."`
	Schema   string       `json:"schema"`
	Revision int64        `json:"revision"`
}

// CompanionList is the JSON of the files beside flows.
type CompanionList struct {
	Companions []CompanionHead `json:"companions"`
}

// CompanionReplaced is the response to a replacement.
type CompanionReplaced struct {
	Change   string   `json:"change" doc:"created, changed or unchanged."`
	Revision int64    `json:"revision"`
	Changes  []string `json:"changes" doc:"As sentences."`
}

// CompanionRevision is a revision of a file.
type CompanionRevision struct {
	Revision int64    `json:"revision"`
	Hash     string   `json:"hash" doc:"SHA-256 of the file."`
	By       string   `json:"by" doc:"ID of the person or key that made it."`
	At       api.Time `json:"at"`
}

// CompanionRevisions is the JSON of the revisions of a file.
type CompanionRevisions struct {
	Revisions []CompanionRevision `json:"revisions"`
}

// companionServer has the routes of files beside flows.
type companionServer struct{ *library.Companions }

// routes returns the routes of the files beside flows and beside the workspace.
func (s companionServer) routes() api.Extension {
	const tag, list = "Flows", "/v1/companions"
	reads, edits := []flow.Scope{flow.ScopeRead, flow.ScopeEdit, flow.ScopeManage}, []flow.Scope{flow.ScopeEdit}
	routes := []api.Route{{
		Method: get, Path: list, Scopes: reads, Handle: s.listCompanions, Role: flow.MemberViewer, Commands: []string{"flow pull", "dev"},
		Doc: openapi.Operation{ID: "listCompanions", Tag: tag, Summary: "List the files beside flows", Text: "What belongs to flows and is not in their documents, such as triggers. Only what was ever set is listed.",
			Answers: openapi.OK("The files.", CompanionList{})},
	}}
	for _, of := range []struct {
		path, id, text string
		audit          []string
	}{
		{"/v1/flow/:flow_id/companions/:companion", "", "a flow", []string{"trigger.create", "trigger.change", "trigger.delete"}},
		{list + "/:companion", "Workspace", "the workspace", []string{"alarm.create", "alarm.change", "alarm.delete"}},
	} {
		routes = append(routes, api.Route{
			Method: get, Path: of.path, Scopes: reads, Handle: s.showCompanion, Role: flow.MemberViewer, Commands: []string{"flow pull", "dev"},
			Doc: openapi.Operation{ID: "show" + of.id + "Companion", Tag: tag, Summary: "Get a file beside " + of.text, Text: "In canonical form, as repositories keep it. It has no secrets, and not whether a trigger is paused.", Params: []string{"revision"},
				Problems: []flow.Code{flow.CodeInputInvalid}, Answers: []openapi.Answer{{Status: 200, Text: "The file.", Schema: "Companion", Headers: []string{"ETag"}}}},
		}, api.Route{
			Method: http.MethodPut, Path: of.path, Scopes: edits, Handle: s.replaceCompanion, Limited: "no", Commands: []string{"dev"},
			Audit: of.audit,
			Doc: openapi.Operation{ID: "replace" + of.id + "Companion", Tag: tag, Summary: "Change what a file beside " + of.text + " holds", Text: "Send the ETag of the file as If-Match. What the file leaves out stays, unless prune is true.", Params: []string{"If-Match", "prune"},
				Body: openapi.Body{Name: "Companion"}, Problems: []flow.Code{flow.CodeInvalidHeader, flow.CodePreconditionRequired, flow.CodePreconditionFailed, flow.CodeDocumentInvalid, flow.CodeExceedsKey, flow.CodeQuotaExceeded, flow.CodeStorageFull, flow.CodeUpgradeInProgress},
				Answers: []openapi.Answer{{Status: 200, Text: "What changed.", JSON: CompanionReplaced{}, Headers: []string{"ETag"}}}},
		}, api.Route{
			Method: get, Path: of.path + "/history", Scopes: reads, Handle: s.listRevisions, Role: flow.MemberViewer,
			Doc: openapi.Operation{ID: "list" + of.id + "CompanionRevisions", Tag: tag, Summary: "List the revisions of a file beside " + of.text, Text: "The newest 50. To undo a change, replace the file with an earlier revision and prune.", Answers: openapi.OK("The revisions, newest first.", CompanionRevisions{})},
		})
	}
	return api.Extension{Names: companionNames, Params: companionParams, Routes: routes}
}

// companionOf finds the file of the path, and what it is beside.
func companionOf(c *api.Call) (*library.Companion, library.CompanionOwner, error) {
	owner := library.CompanionOwner{WorkspaceID: c.Key.WorkspaceID}
	inFlow := c.Param("flow_id") != ""
	if inFlow {
		f, err := c.FindFlow()
		if err != nil {
			return nil, owner, err
		}
		owner.Flow = f
	} else if len(c.Key.Flows) > 0 {
		return nil, owner, flow.Errorf(flow.CodeFlowNotAllowed, "This key is limited to a list of flows, so it may not use what belongs to the workspace.")
	}
	found := library.FindCompanion(c.Param("companion"))
	if found == nil || found.OfWorkspace == inFlow {
		return nil, owner, flow.Errorf(flow.CodeNotFound, "There are no files of this name.")
	}
	if found.ForEditors && !c.Key.Has(flow.ScopeEdit) {
		return nil, owner, flow.Errorf(flow.CodeScopeMissing, "The file has URLs of receivers, so it needs a key with the scope edit.")
	}
	return found, owner, nil
}

// listCompanions is GET companions.
func (s companionServer) listCompanions(c *api.Call) error {
	list, err := s.Companions.List(c.Request().Context(), c.Key.WorkspaceID)
	if err != nil {
		return err
	}
	o := CompanionList{Companions: []CompanionHead{}}
	for _, l := range list {
		head := CompanionHead{Name: l.Companion.Name, Schema: l.Companion.Schema, Revision: l.Rev}
		if l.Flow != nil {
			if !c.Key.Allows(l.Flow.ID) {
				continue
			}
			head.FlowID, head.Slug = &l.Flow.ID, &l.Flow.Slug
		} else if len(c.Key.Flows) > 0 {
			continue
		}
		o.Companions = append(o.Companions, head)
	}
	return c.WriteJSON(http.StatusOK, o)
}

// showCompanion is GET companions/companion.
func (s companionServer) showCompanion(c *api.Call) error {
	found, owner, err := companionOf(c)
	if err != nil {
		return err
	}
	var rev int64
	if text := c.QueryParam("revision"); text != "" {
		if rev, err = strconv.ParseInt(text, 10, 64); err != nil || rev < 1 {
			return api.Invalid(flow.Problem{Pointer: "/revision", Code: "invalid", Detail: "must be the number of a revision"})
		}
	}
	data, state, err := s.File(c.Request().Context(), found, owner, rev)
	if err != nil {
		return err
	}
	c.Response().Header().Set("ETag", state.Tag())
	return c.Blob(http.StatusOK, "application/json", data)
}

// replaceCompanion is PUT companions/companion.
func (s companionServer) replaceCompanion(c *api.Call) error {
	found, owner, err := companionOf(c)
	if err != nil {
		return err
	}
	tag, present, err := api.SingleHeader(c.Request().Header, "If-Match")
	switch {
	case err != nil:
		return err
	case !present:
		return flow.Errorf(flow.CodePreconditionRequired, "Send the ETag of the file that you have read as If-Match, so that no other change is overwritten.")
	}
	content, err := c.ReadObjectUpTo(false, maxCompanion)
	if err != nil {
		return err
	}
	rev, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(tag), `"rev-`), `"`), 10, 64)
	if err != nil {
		rev = -1 // it is that of no revision
	}
	prune, err := api.QueryBool(c, "prune")
	if err != nil {
		return err
	}
	applied, err := s.Replace(c.Request().Context(), found, library.CompanionRequest{Owner: owner, Prune: prune, By: c.Actor(), Caller: c.Key}, rev, content)
	if err != nil {
		return err
	}
	o := CompanionReplaced{Change: applied.Change, Revision: applied.Rev, Changes: []string{}}
	for i := range applied.Changes {
		o.Changes = append(o.Changes, applied.Changes[i].Text)
	}
	state := companion.State{Rev: applied.Rev}
	c.Response().Header().Set("ETag", state.Tag())
	return c.WriteJSON(http.StatusOK, o)
}

// listRevisions is GET companions/companion/history.
func (s companionServer) listRevisions(c *api.Call) error {
	found, owner, err := companionOf(c)
	if err != nil {
		return err
	}
	list, err := s.Revisions(c.Request().Context(), found, owner)
	if err != nil {
		return err
	}
	o := CompanionRevisions{Revisions: []CompanionRevision{}}
	for i := range list {
		b := &list[i]
		o.Revisions = append(o.Revisions, CompanionRevision{b.Rev, b.Hash, b.By, api.Time(b.CreatedAt)})
	}
	return c.WriteJSON(http.StatusOK, o)
}
