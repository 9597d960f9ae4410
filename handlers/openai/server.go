// Package openai lets clients of OpenAI's API call flows as if they were models:
// POST /v1/chat/completions and GET /v1/models. It owns the formats of that API and maps
// them to runs; keys, limits and the runs themselves are those of package api.
//
//   - request.go reads a request and finds its flow, messages.go converts its messages to inputs.
//   - answer.go waits for the run and sends a complete response, stream.go sends it in chunks.
package openai

import (
	"cmp"
	"net/http"
	"strings"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/handlers/api"
)

// Server serves the routes for an API server.
type Server struct{ api *api.Server }

// New adds the routes to the API.
func New(a *api.Server) *Server {
	s := &Server{a}
	a.HandleForeign(http.MethodPost, "/v1/chat/completions", false, formatError, s.complete)
	a.HandleForeign(http.MethodGet, "/v1/models", true, formatError, s.listModels)
	return s
}

// formatError returns an error in OpenAI's format. Its type follows from the status. Invalid
// requests get 400, as from OpenAI, instead of the 422 of other routes.
func formatError(status int, e *flow.Error) (int, any) {
	if status == http.StatusUnprocessableEntity {
		status = http.StatusBadRequest
	}
	kind := "invalid_request_error"
	switch {
	case status == http.StatusUnauthorized:
		kind = "authentication_error"
	case status == http.StatusForbidden:
		kind = "permission_error"
	case status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case status >= 500:
		kind = "server_error"
	}
	body := map[string]any{"message": e.Error(), "type": kind, "param": nil, "code": e.Code}
	if len(e.Fields) > 0 { // OpenAI's errors name one parameter
		body["message"], body["param"] = describeProblems(e), strings.TrimPrefix(e.Fields[0].Pointer, "/")
	}
	return status, map[string]any{"error": body}
}

// describeProblems returns the message of an error, followed by its problems if there are several;
// the message contains a single one.
func describeProblems(e *flow.Error) string {
	if len(e.Fields) == 1 {
		return e.Error()
	}
	details := make([]string, len(e.Fields))
	for i, p := range e.Fields {
		details[i] = strings.TrimPrefix(p.Pointer, "/") + ": " + p.Detail
	}
	return e.Error() + " " + strings.Join(details, "; ") + "."
}

// model is a flow in the list of models.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// maxModels bounds the list of models, which has no pages.
const maxModels = 1000

// listModels is GET models: the published flows that the key may call and that have an input for
// messages and a reply.
func (s *Server) listModels(c *api.Call) error {
	ctx, list := c.Request().Context(), []model{}
	for after := ""; len(list) < maxModels; {
		flows, err := c.ReadFlows(after, 200)
		if err != nil {
			return err
		}
		for i := range flows {
			f := &flows[i]
			if f.LiveVersion == 0 {
				continue
			}
			out, err := s.api.Outlines.Find(ctx, f.WorkspaceID, f.LiveHash)
			if err != nil {
				return err
			}
			if _, fault := findTarget(out.Inputs); fault == nil && out.Reply != "" {
				list = append(list, model{ID: cmp.Or(f.Slug, string(f.ID)), Object: "model", Created: f.CreatedAt.Unix(), OwnedBy: "sluice"})
			}
		}
		if len(flows) < 200 {
			break
		}
		after = string(flows[len(flows)-1].ID)
	}
	sorting.By(list, func(a, b model) int { return cmp.Compare(a.ID, b.ID) })
	return c.WriteJSON(http.StatusOK, map[string]any{"object": "list", "data": list[:min(len(list), maxModels)]})
}
