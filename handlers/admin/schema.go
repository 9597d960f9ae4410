package admin

import (
	"encoding/json"
	"net/http"

	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// schemaRoutes returns the route of the JSON Schema of flow documents, which needs no key.
func (s *Server) schemaRoutes() api.Extension {
	return api.Extension{Routes: []api.Route{{
		Method: get, Path: "/v1/schema/flow.json", Open: true, Handle: s.showSchema,
		Doc: openapi.Operation{ID: "showFlowSchema", Tag: "Flows", Summary: "Get the JSON Schema of flow documents",
			Text:    "For editors: name it in $schema of a document, or map files named *.flow.json to it. Needs no key, because editors send none; it holds nothing of the workspace.",
			Answers: openapi.OK("A JSON Schema (draft 7).", map[string]any{})},
	}}}
}

// showSchema is GET schema/flow.json. Clients may keep it for an hour: it only changes
// with an upgrade.
func (s *Server) showSchema(c *api.Call) error {
	c.Response().Header().Set("Cache-Control", "public, max-age=3600")
	return c.WriteJSON(http.StatusOK, json.RawMessage(s.schema()))
}
