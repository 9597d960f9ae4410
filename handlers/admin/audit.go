package admin

import (
	"net/http"
	"reflect"
	"strconv"

	"sluice/flow"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// auditNames maps the Go types of responses to the names of their schemas in the OpenAPI
// document. Names are part of the API: generated clients name their types after them.
var auditNames = map[reflect.Type]string{
	reflect.TypeFor[AuditReport](): "AuditReport",
	reflect.TypeFor[AuditChain]():  "AuditChain",
	reflect.TypeFor[AuditBreak]():  "AuditBreak",
	reflect.TypeFor[AuditPage]():   "AuditPage",
	reflect.TypeFor[AuditRecord](): "AuditRecord",
}

// auditParams are the parameters that routes name in their Params.
var auditParams = map[string]map[string]any{
	"audit_after": queryParam("after", "Number of the last entry that you have; 0 for the first page.", map[string]any{"type": "integer", "minimum": 0, "default": 0}),
}

// auditServer serves the audit log.
type auditServer struct{ *Server }

// auditRoutes returns the routes of the audit log.
func (s *Server) auditRoutes() api.Extension {
	return api.Extension{Names: auditNames, Params: auditParams, Routes: []api.Route{{
		Method: get, Path: "/v1/audit", Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: auditServer{s}.exportAudit,
		Commands: []string{"audit export"},
		Doc: openapi.Operation{ID: "exportAudit", Tag: "Audit log", Summary: "Export the audit log of the workspace",
			Text:     "Returns up to 500 entries, oldest first. Ask again with `after` set to `next`; an empty list means that there are no more yet. Only for a key without a list of flows.",
			Params:   []string{"audit_after"},
			Problems: []flow.Code{flow.CodeFlowNotAllowed, flow.CodeInputInvalid},
			Answers:  openapi.OK("The entries.", AuditPage{})},
	}, {
		Method: get, Path: "/v1/audit/verify", Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: auditServer{s}.verifyAudit,
		Commands: []string{"audit verify"},
		Doc: openapi.Operation{ID: "verifyAudit", Tag: "Audit log", Summary: "Verify the audit log of the workspace",
			Text:     "Checks that no entry was changed, inserted or deleted since it was written. The server answers for itself: to check a server that you do not trust, verify a backup elsewhere. Only for a key without a list of flows.",
			Problems: []flow.Code{flow.CodeFlowNotAllowed},
			Answers:  openapi.OK("The result. A log that does not match is not an error of the request.", AuditReport{})},
	}}}
}

// AuditReport is the JSON of the verification of audit logs.
type AuditReport struct {
	Intact     bool         `json:"intact" doc:"Whether all logs match."`
	Workspaces []AuditChain `json:"workspaces" doc:"Over HTTP, the workspace of the key."`
}

// AuditChain is the JSON of the verification of one audit log.
type AuditChain struct {
	WorkspaceID flow.WorkspaceID `json:"workspace_id"`
	Intact      bool             `json:"intact"`
	Entries     int64            `json:"entries" doc:"Entries that were verified."`
	LastEntry   int64            `json:"last_entry" doc:"Number of the newest entry."`
	BeganAt     api.Time         `json:"began_at" doc:"When the chain was started."`
	Adopted     int64            `json:"adopted" doc:"The first entries, which are older than the chain: it cannot prove that they were not changed before."`
	Pruned      int64            `json:"pruned" doc:"Entries that were deleted when their retention ended."`
	PrunedAt    api.Time         `json:"pruned_at"`
	Break       *AuditBreak      `json:"break" doc:"The first place that does not match; null without one."`
}

// AuditBreak is the JSON of the first place at which an audit log differs from what was
// written.
type AuditBreak struct {
	Entry  int64  `json:"entry" doc:"Number of the entry; 0 if it has none."`
	ID     string `json:"id" doc:"Of the entry; empty if it is missing or the chain itself is wrong."`
	Reason string `json:"reason"`
}

// auditObject returns the JSON of verified logs. The report is intact if every log is.
func auditObject(chains []flow.AuditChain) AuditReport {
	o := AuditReport{Intact: true, Workspaces: []AuditChain{}}
	for _, c := range chains {
		one := AuditChain{
			WorkspaceID: c.WorkspaceID, Intact: c.Break == nil, Entries: c.Entries, LastEntry: c.LastSeq, BeganAt: api.Time(c.BeganAt),
			Adopted: c.Adopted, Pruned: c.Pruned, PrunedAt: api.Time(c.PrunedAt),
		}
		if b := c.Break; b != nil {
			one.Break, o.Intact = &AuditBreak{b.Seq, b.ID, b.Reason}, false
		}
		o.Workspaces = append(o.Workspaces, one)
	}
	return o
}

// verifyAudit is GET audit/verify. It reads the entire log, so it counts as held. A log that does
// not match is still a 200.
func (s auditServer) verifyAudit(c *api.Call) error {
	if err := requireAllFlows(c, "audit logs"); err != nil {
		return err
	}
	release, err := c.Hold()
	if err != nil {
		return err
	}
	defer release()
	ws := c.Key.WorkspaceID
	if c.AllWorkspaces() {
		ws = ""
	}
	chains, err := s.Store.VerifyAudit(c.Request().Context(), ws)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, auditObject(chains))
}

// AuditPage is the JSON of a page of the audit log.
type AuditPage struct {
	Entries []AuditRecord `json:"entries"`
	Next    int64         `json:"next" doc:"Number of the last entry of the page, for after."`
}

// AuditRecord is the JSON of an entry of the audit log.
type AuditRecord struct {
	Number      int64            `json:"number" doc:"Its place in the chain, from 1."`
	ID          string           `json:"id"`
	WorkspaceID flow.WorkspaceID `json:"workspace_id"`
	At          api.Time         `json:"at"`
	Actor       string           `json:"actor" doc:"ID of the person or key, or cli; empty for actions without a signed-in user."`
	Action      string           `json:"action" doc:"Such as key.create."`
	Target      string           `json:"target"`
	Detail      string           `json:"detail"`
	IP          string           `json:"ip" doc:"Of the client; empty for the command line."`
	Hash        string           `json:"hash" doc:"HMAC over the entry and the hash of the entry before it. 'sluice audit verify' checks it."`
}

// NewAuditRecord returns the JSON of an entry.
func NewAuditRecord(r flow.AuditRecord) AuditRecord {
	return AuditRecord{Number: r.Seq, ID: r.ID, WorkspaceID: r.WorkspaceID, At: api.Time(r.CreatedAt), Actor: r.Actor, Action: r.Action, Target: r.Target, Detail: r.Detail, IP: r.IP, Hash: r.MAC}
}

// auditExportPage is the maximum number of entries of a page.
const auditExportPage = 500

// exportAudit is GET audit.
func (s auditServer) exportAudit(c *api.Call) error {
	if err := requireAllFlows(c, "audit logs"); err != nil {
		return err
	}
	q, err := c.QueryTexts("after")
	if err != nil {
		return err
	}
	after := int64(0)
	if q["after"] != "" {
		if after, err = strconv.ParseInt(q["after"], 10, 64); err != nil || after < 0 {
			return flow.Errorf(flow.CodeInputInvalid, "The parameter after must be the number of an entry.")
		}
	}
	list, err := s.Store.ExportAudit(c.Request().Context(), c.Key.WorkspaceID, after, auditExportPage)
	if err != nil {
		return err
	}
	page := AuditPage{Entries: []AuditRecord{}, Next: after}
	for _, r := range list {
		page.Entries, page.Next = append(page.Entries, NewAuditRecord(r)), r.Seq
	}
	return c.WriteJSON(http.StatusOK, page)
}
