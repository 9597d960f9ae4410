package api

import (
	"maps"
	"net/http"
	"reflect"
	"strings"

	"sluice/flow"
	"sluice/flow/codes"
	"sluice/handlers/api/openapi"
)

// showAPI is GET openapi.json: the whole API.
func (s *Server) showAPI(c *Call) error { return c.writeBody(http.StatusOK, s.api()) }

// apiDocument describes the whole API.
func (s *Server) apiDocument() []byte {
	names := maps.Clone(componentNames)
	for _, e := range s.extensions {
		maps.Copy(names, e.Names)
	}
	d := s.newDocument("Sluice", "Draw a flow of AI models. Call it as an API.", s.Version, names)
	for _, r := range s.routes {
		if !r.Operator {
			d.Add(r.described(pathOf(r.Path)))
		}
	}
	return d.JSON()
}

// newDocument returns a document that has the webhooks of runs but no routes yet.
func (s *Server) newDocument(title, text, version string, names map[reflect.Type]string) *openapi.Document {
	d := openapi.New(openapi.Config{
		Title: title, Text: text, Version: version, URL: s.PublicURL, Names: names, Leaves: leaves,
		Bodies: openapi.Bodies(runOptionsBody.Schema()), Problem: exampleProblem,
		Always: []reflect.Type{runType, problemType},
		Events: []reflect.Type{runType, stepEventType, outputEventType, deltaEventType, progressEventType},
	})
	for _, e := range s.extensions {
		maps.Copy(d.Known, e.Params)
	}
	d.Callback("runEnded", "The webhook of a run", "Sent to run_options.webhook when the run has ended.", openapi.Ref("RunEnded"))
	d.Callback("runWaiting", "The webhook of a run that waits", "Sent to run_options.webhook when the run waits for a person to answer an approval.", openapi.Ref("RunWaiting"))
	return d
}

// described returns the route for an OpenAPI document. The path is a parameter, because the
// document of a single flow contains the ID of the flow.
func (r *Route) described(path string) *openapi.Route {
	d := &openapi.Route{Method: r.Method, Path: path, Operation: r.Doc, KeyOptional: r.Link, Codes: append(commonProblems(r), r.Doc.Problems...)}
	names := make([]string, len(r.Scopes))
	for i, s := range r.Scopes {
		names[i] = string(s)
	}
	d.Scopes = strings.Join(names, " or ")
	return d
}

// exampleProblem returns the status of a code and an example of its response.
func exampleProblem(code flow.Code) (status int, example any) {
	k := codes.Of(code)
	return k.Status, problem{Type: "https://sluice.example/docs/errors#" + string(code), Title: k.Title, Status: k.Status, Detail: k.Title + ".", Instance: "/v1/flow", Code: code, RequestID: "req_EXAMPLE"}
}

// pathOf turns /flow/:flow_id into /flow/{flow_id}.
func pathOf(route string) string {
	parts := strings.Split(route, "/")
	for i, p := range parts {
		if name, ok := strings.CutPrefix(p, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

// commonProblems returns the error codes that follow from the access and the body of a route.
func commonProblems(r *Route) []flow.Code {
	if r.Open {
		return nil
	}
	codes := []flow.Code{
		flow.CodeKeyInURL, flow.CodeKeyMissing, flow.CodeKeyInvalid, flow.CodeKeyExpired, flow.CodeKeyRevoked,
		flow.CodeScopeMissing, flow.CodeRateLimited, flow.CodeInternal, flow.CodeOverloaded, flow.CodeUnavailable,
	}
	if len(r.Doc.Offers()) > 0 {
		codes = append(codes, flow.CodeNotAcceptable)
	}
	if strings.Contains(r.Path, "/:") {
		codes = append(codes, flow.CodeNotFound, flow.CodeFlowNotAllowed)
	}
	if b := r.Doc.Body; b.Name != "" && b.Type == "" {
		codes = append(codes, flow.CodeInvalidJSON, flow.CodeUnsupportedMediaType, flow.CodeBodyTooLarge)
		if b.Schema != nil {
			codes = append(codes, flow.CodeInputInvalid)
		}
	}
	return codes
}
