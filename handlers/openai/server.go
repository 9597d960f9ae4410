// Package openai lets clients of OpenAI's API call flows as if they were models:
// POST /v1/chat/completions, GET /v1/models and GET /v1/models/{id}. It owns the formats of that API and maps
// them to runs; keys, limits and the runs themselves are those of package api.
//
//   - request.go reads a request and finds its flow, messages.go converts its messages to inputs.
//   - answer.go waits for the run and sends a complete response, stream.go sends it in chunks.
package openai

import (
	"cmp"
	"context"
	"errors"
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
	see := []flow.Scope{flow.ScopeRead, flow.ScopeRun}
	a.Extend(api.Extension{Routes: []api.Route{
		{Method: http.MethodPost, Path: "/v1/chat/completions", Scopes: []flow.Scope{flow.ScopeRun}, Handle: s.complete, Errors: formatError},
		{Method: http.MethodGet, Path: "/v1/models", Scopes: see, Handle: s.listModels, Errors: formatError},
		{Method: http.MethodGet, Path: "/v1/models/:flow_id", Scopes: see, Handle: s.showModel, Errors: formatError},
	}}) // not in the OpenAPI document: that API has its own
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
			m, err := s.modelOf(ctx, f)
			if err != nil {
				return err
			}
			if m != nil {
				list = append(list, *m)
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

// modelOf returns a published flow as a model, or nil if it takes no message or has no answer.
func (s *Server) modelOf(ctx context.Context, f *flow.Flow) (*model, error) {
	out, err := s.api.Outlines.Find(ctx, f.WorkspaceID, f.LiveHash)
	if err != nil {
		return nil, err
	}
	if _, fault := findTarget(out.Inputs); fault != nil || out.Reply == "" {
		return nil, nil
	}
	return &model{ID: cmp.Or(f.Slug, string(f.ID)), Object: "model", Created: f.CreatedAt.Unix(), OwnedBy: "sluice"}, nil
}

// showModel is GET /v1/models/{id}, with the slug or the ID of a flow. A flow that is not in the
// list of models is not found.
func (s *Server) showModel(c *api.Call) error {
	name := c.Param("flow_id")
	f, err := c.FindCallable(name)
	var m *model
	if err == nil {
		m, err = s.modelOf(c.Request().Context(), f)
	}
	switch {
	case err == nil && m == nil:
		return flow.Errorf(flow.CodeNotFound, "The flow %q is not a model: it takes no message or has no answer.", name)
	case errors.Is(err, &flow.Error{Code: flow.CodeNotPublished}):
		return flow.Errorf(flow.CodeNotFound, "%s", err)
	case err != nil:
		return err
	}
	return c.WriteJSON(http.StatusOK, m)
}
