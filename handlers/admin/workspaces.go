package admin

import (
	"net/http"
	"reflect"
	"slices"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// workspacesPage is the page size of the list. A server with open sign-up can have many
// workspaces.
const workspacesPage = 100

// workspaceNames maps the Go types of responses to the names of their schemas in the OpenAPI
// document. Names are part of the API: generated clients name their types after them.
var workspaceNames = map[reflect.Type]string{
	reflect.TypeFor[Workspace]():     "Workspace",
	reflect.TypeFor[Quota]():         "WorkspaceQuota",
	reflect.TypeFor[WorkspaceList](): "WorkspaceList",
}

// workspaceParams are the parameters that routes name in their Params.
var workspaceParams = map[string]map[string]any{
	"workspace_id": {"name": "workspace_id", "in": "path", "required": true, "schema": map[string]any{"type": "string"}},
}

// workspaceBody declares the body of a change.
var workspaceBody = api.Body[flow.Storage]{Name: "LimitWorkspace", Of: "a workspace", Example: schema{"bytes": 5 << 30, "runs": "default"}, Fields: []api.Field[flow.Storage]{
	api.Member("bytes", "Bytes that it may store."+quotaNull, quotaType, func(own *flow.Storage) *int64 { return &own.Bytes }),
	api.Member("flows", "Flows that it may have."+quotaNull, quotaType, func(own *flow.Storage) *int64 { return &own.Flows }),
	api.Member("runs", "Runs that it may keep."+quotaNull, quotaType, func(own *flow.Storage) *int64 { return &own.Runs }),
}}

const quotaNull = " Null: no limit. default: the default of the server."

// quotaType is the type of a quota. The word "default" keeps a workspace on the default of the
// server, which the operator may change later; a number does not follow it.
var quotaType = api.Type[int64]{
	Schema: schema{"oneOf": []any{schema{"type": "integer", "minimum": 1, "maximum": maxQuota}, schema{"type": "string", "enum": []string{"default"}}, schema{"type": "null"}}},
	Wanted: `a whole number of at least 1, null for no limit, or "default"`, As: asQuota,
}

// maxQuota bounds a quota, in bytes or items. JSON numbers are exact up to this size.
const maxQuota = 1_000_000_000_000_000

// workspaceRoutes returns the routes of workspaces. Keys cannot create or delete workspaces.
func (s *Server) workspaceRoutes() api.Extension {
	const path, tag = "/v1/workspaces", "Workspaces"
	const whose = "A key of the operator gets those of all workspaces, any other key those of its own. A key of the operator is for the default workspace, without limits and without a list of flows, and was made by an owner or on the machine of the server, directly or through keys."
	return api.Extension{Names: workspaceNames, Params: workspaceParams, Routes: []api.Route{{
		Method: get, Path: path, Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.listWorkspaces,
		Role: flow.MemberViewer, Commands: []string{"workspace limits list", "workspace limits set", "workspace limits show"},
		Doc: openapi.Operation{ID: "listWorkspaces", Tag: tag, Summary: "List the storage and quotas of workspaces", Text: whose,
			Params: []string{"cursor"}, Problems: []flow.Code{flow.CodeInputInvalid, flow.CodeFlowNotAllowed},
			Answers: openapi.OK("One page of workspaces, by ID.", WorkspaceList{})},
	}, {
		Method: get, Path: path + "/:workspace_id", Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.showWorkspace,
		Role: flow.MemberViewer,
		Doc: openapi.Operation{ID: "showWorkspace", Tag: tag, Summary: "Show the storage and quotas of a workspace", Text: whose,
			Answers: openapi.OK("The workspace.", Workspace{})},
	}, {
		Method: http.MethodPatch, Path: path + "/:workspace_id", Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.limitWorkspace,
		Audit: []string{"workspace.limits"}, Commands: []string{"workspace limits set"}, Limited: "no",
		Doc: openapi.Operation{ID: "limitWorkspace", Tag: tag, Summary: "Set the quotas of a workspace",
			Text: "Only with a key of the operator. What is left out stays. A quota below the current use deletes nothing. The change is in the audit logs of both workspaces.",
			Body: workspaceBody.Doc(), Problems: []flow.Code{flow.CodeStorageFull, flow.CodeExceedsKey},
			Answers: openapi.OK("The workspace after the change.", Workspace{})},
	}}}
}

// Workspace is the JSON of what a workspace stores, and of its quotas.
type Workspace struct {
	ID   string `json:"id"`
	Name string `json:"name"`

	Bytes Quota `json:"bytes"`
	Flows Quota `json:"flows"`
	Runs  Quota `json:"runs"`
}

// Quota is the JSON of the use and the limit of one kind of storage.
type Quota struct {
	Used    int64  `json:"used"`
	Limit   *int64 `json:"limit" doc:"Null: no limit."`
	Default bool   `json:"default" doc:"Whether the default of the server applies."`
}

// WorkspaceList is one page of workspaces.
type WorkspaceList struct {
	Workspaces []Workspace `json:"workspaces"`
	NextCursor *string     `json:"next_cursor"`
}

// WorkspaceObject returns the JSON of the storage of a workspace.
func WorkspaceObject(ws *flow.WorkspaceStorage) Workspace {
	quota := func(k flow.QuotaUnit) Quota {
		return Quota{Used: ws.Used.Get(k), Default: ws.Own.Get(k) == flow.DefaultQuota, Limit: orNull(max(0, ws.Limit.Get(k)))}
	}
	return Workspace{ID: ws.ID, Name: ws.Name, Bytes: quota(flow.QuotaBytes), Flows: quota(flow.QuotaFlows), Runs: quota(flow.QuotaRuns)}
}

// isOperator reports whether a key may act for the operator of the server: it belongs to the
// default workspace, has no limits and no list of flows, and was made, directly or through
// other keys, by the command line or by a user who still is an owner there. The command line on
// the same machine always does.
func (s *Server) isOperator(c *api.Call) (bool, error) {
	k := c.Key
	if c.Operator() {
		return true, nil
	}
	if k.WorkspaceID != flow.DefaultWorkspace || len(k.Flows) > 0 || library.Limited(k) {
		return false, nil
	}
	by := k.CreatedBy
	if n := len(k.Makers); n > 0 {
		by = k.Makers[n-1].CreatedBy
	}
	if by == "cli" {
		return true, nil
	}
	members, err := s.Store.ListMembers(c.Request().Context(), flow.DefaultWorkspace)
	return slices.ContainsFunc(members, func(m flow.Member) bool { return m.UserID == by && m.Role == flow.MemberOwner }), err
}

// listWorkspaces is GET workspaces. A key that is not the operator's gets only its workspace.
func (s *Server) listWorkspaces(c *api.Call) error {
	if err := requireAllFlows(c, "quotas"); err != nil {
		return err
	}
	q, err := c.QueryTexts("cursor")
	if err != nil {
		return err
	}
	after, ctx := q["cursor"], c.Request().Context()
	if after != "" && after != flow.DefaultWorkspace && !flow.ValidID(flow.PrefixWorkspace, after) {
		return api.Invalid(flow.Problem{Pointer: "/cursor", Code: "invalid", Detail: "wanted the next_cursor of an earlier answer"})
	}
	operator, err := s.isOperator(c)
	if err != nil {
		return err
	}
	var found []flow.WorkspaceStorage
	if operator {
		found, err = s.Store.ListStorage(ctx, after, workspacesPage+1)
	} else if own, findErr := s.Store.FindStorage(ctx, c.Key.WorkspaceID); findErr != nil {
		err = findErr
	} else if after == "" {
		found = append(found, *own)
	}
	if err != nil {
		return err
	}
	list := WorkspaceList{Workspaces: []Workspace{}}
	if len(found) > workspacesPage {
		found = found[:workspacesPage]
		list.NextCursor = &found[workspacesPage-1].ID
	}
	for i := range found {
		list.Workspaces = append(list.Workspaces, WorkspaceObject(&found[i]))
	}
	return c.WriteJSON(http.StatusOK, list)
}

// findWorkspace returns the workspace of the path, if the key may see it.
func (s *Server) findWorkspace(c *api.Call) (ws *flow.WorkspaceStorage, operator bool, err error) {
	if err := requireAllFlows(c, "quotas"); err != nil {
		return nil, false, err
	}
	if operator, err = s.isOperator(c); err != nil {
		return nil, false, err
	}
	id := flow.WorkspaceID(c.Param("workspace_id"))
	if id != flow.DefaultWorkspace && !flow.ValidID(flow.PrefixWorkspace, string(id)) || !operator && id != c.Key.WorkspaceID {
		return nil, false, flow.Errorf(flow.CodeNotFound, "Workspace not found, or this key has no access to it.")
	}
	ws, err = s.Store.FindStorage(c.Request().Context(), id)
	return ws, operator, err
}

// showWorkspace is GET workspaces/workspace. Other workspaces are 404 unless the key is the
// operator's.
func (s *Server) showWorkspace(c *api.Call) error {
	ws, _, err := s.findWorkspace(c)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, WorkspaceObject(ws))
}

// limitWorkspace is PATCH workspaces/workspace. The operator sets quotas to protect the
// server, so no other key may change them, not even those of its own workspace.
func (s *Server) limitWorkspace(c *api.Call) error {
	ws, operator, err := s.findWorkspace(c)
	if err != nil {
		return err
	}
	if !operator {
		return flow.Errorf(flow.CodeExceedsKey, "Only the operator of the server may set quotas. Use a key of the default workspace that an owner created, without limits and without a list of flows.")
	}
	set, err := workspaceBody.ReadFrom(c)
	if err != nil {
		return err
	}
	to := ws.Own
	set(&to)
	if err := s.limits.SetWorkspace(c.Request().Context(), c.Actor(), c.Key.WorkspaceID, ws, to); err != nil {
		return err
	}
	return s.showWorkspace(c)
}

// asQuota reads a quota as the store keeps it: null becomes 0, which is unlimited, and
// "default" becomes flow.DefaultQuota.
func asQuota(v any) (int64, bool) {
	switch v {
	case nil:
		return 0, true
	case "default":
		return flow.DefaultQuota, true
	}
	return api.AsWhole(v, 1, maxQuota)
}
