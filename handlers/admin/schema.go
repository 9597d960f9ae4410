package admin

import (
	"encoding/json"
	"net/http"

	"sluice/handlers/api"
)

// schemaRoutes returns the route of the JSON Schema of flow documents. It has no scope, so it
// needs no key.
func (s *Server) schemaRoutes() []api.Route {
	return []api.Route{{
		Method: get, Path: "/v1/schema/flow.json", Handle: s.showSchema,
		ID: "showFlowSchema", Tag: "Flows", Summary: "Get the JSON Schema of flow documents",
		Text:   "For editors: name it in $schema of a document, or map files named *.flow.json to it. Needs no key, because editors send none; it holds nothing of the workspace.",
		Status: http.StatusOK, Answer: "A JSON Schema (draft 7).", JSON: map[string]any{},
	}}
}

// showSchema is GET schema/flow.json. Clients may keep it for an hour: it only changes
// with an upgrade.
func (s *Server) showSchema(c *api.Call) error {
	c.Response().Header().Set("Cache-Control", "public, max-age=3600")
	return c.WriteJSON(http.StatusOK, json.RawMessage(s.schema()))
}
