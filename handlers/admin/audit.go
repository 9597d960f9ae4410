package admin

import (
	"net/http"
	"reflect"

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
}

// auditRoutes returns the routes of the audit log. Only the dashboard shows its entries.
func (s *Server) auditRoutes() api.Extension {
	return api.Extension{Names: auditNames, Routes: []api.Route{{
		Method: get, Path: "/v1/audit/verify", Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.verifyAudit,
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
func (s *Server) verifyAudit(c *api.Call) error {
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
