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
	for _, e := range s.extensions {
		maps.Copy(d.Known, e.Params)
		for name, body := range e.Schemas {
			d.Components[name] = body
		}
	}
	for i := range s.routes {
		if r := &s.routes[i]; !r.access.operator {
			d.Add(r.described(pathOf(r.path)))
		}
	}
	return d.JSON()
}

// newDocument returns a document that has the webhooks of runs but no routes yet.
func (s *Server) newDocument(title, text, version string, names map[reflect.Type]string) *openapi.Document {
	d := openapi.New(openapi.Config{
		Title: title, Text: text, Version: version, URL: s.PublicURL, Names: names, Leaves: leaves,
		Bodies: openapi.Bodies(runOptions, webhookOptions), Problem: exampleProblem,
		Always: []reflect.Type{runType, problemType},
		Events: []reflect.Type{runType, stepEventType, outputEventType, deltaEventType, progressEventType},
	})
	d.Webhook("runEnded", "The webhook of a run", "Sent to run_options.webhook when the run has ended.", openapi.Ref("RunEnded"))
	d.Webhook("runWaiting", "The webhook of a run that waits", "Sent to run_options.webhook when the run waits for a person to answer an approval.", openapi.Ref("RunWaiting"))
	return d
}

// described returns the route for an OpenAPI document. The path is a parameter, because the
// document of a single flow contains the ID of the flow.
func (r *route) described(path string) *openapi.Route {
	d := &openapi.Route{Method: r.method, Path: path, Operation: r.doc, KeyOptional: r.access.link, Codes: append(accessProblems(r), r.doc.Problems...)}
	names := make([]string, len(r.access.scopes))
	for i, s := range r.access.scopes {
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
