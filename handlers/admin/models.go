package admin

import (
	"context"
	"net/http"
	"reflect"

	"sluice/flow"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// Catalog lists providers and their models. Its errors are a flow.Error with CodeNotFound if
// something does not exist, and CodeInputInvalid if the user can fix the cause.
type Catalog interface {
	ListProviders() []Provider
	// ListModels requests the models of a provider with the credential that a run would use.
	ListModels(ctx context.Context, ws flow.WorkspaceID, provider, query string) ([]Model, error)
	// ListHosted lists models of the hosting platform. If the platform cannot be reached,
	// notice is the reason for users, and only featured models are returned.
	ListHosted(ctx context.Context, ws flow.WorkspaceID, query, category string) (models []HostedModel, notice string, err error)
	FindHosted(ctx context.Context, ws flow.WorkspaceID, model string) (HostedForm, error)
	// CompareHosted compares versions of a model; "" is the newest.
	CompareHosted(ctx context.Context, ws flow.WorkspaceID, model, from, to string) (HostedChanges, error)
}

// modelNames maps the Go types of responses to the names of their schemas in the OpenAPI
// document. Names are part of the API: generated clients name their types after them.
var modelNames = map[reflect.Type]string{
	reflect.TypeFor[Provider]():        "Provider",
	reflect.TypeFor[ProviderList]():    "ProviderList",
	reflect.TypeFor[Model]():           "Model",
	reflect.TypeFor[ModelList]():       "ModelList",
	reflect.TypeFor[HostedModel]():     "HostedModel",
	reflect.TypeFor[HostedModelList](): "HostedModelList",
	reflect.TypeFor[HostedForm]():      "HostedForm",
	reflect.TypeFor[HostedInput]():     "HostedInput",
	reflect.TypeFor[HostedOutput]():    "HostedOutput",
	reflect.TypeFor[HostedChanges]():   "HostedChanges",
	reflect.TypeFor[HostedChange]():    "HostedChange",
}

// modelParams are the parameters that routes name in their Params. The keys are unique in the
// API: model_query and price_query are both named query in URLs.
var modelParams = map[string]map[string]any{
	"provider":        {"name": "provider", "in": "path", "required": true, "description": "A provider, or the name of a credential with a base URL of its own.", "schema": map[string]any{"type": "string"}},
	"owner":           {"name": "owner", "in": "path", "required": true, "description": "The part of the model's name before the slash.", "schema": map[string]any{"type": "string"}},
	"model":           {"name": "model", "in": "path", "required": true, "description": "The part of the model's name after the slash.", "schema": map[string]any{"type": "string"}},
	"model_query":     queryParam("query", "Words that the models must match.", map[string]any{"type": "string"}),
	"hosted_category": queryParam("category", "Only models of this category.", map[string]any{"type": "string"}),
	"hosted_version":  queryParam("version", "A version of the model. Default: the newest.", map[string]any{"type": "string"}),
	"hosted_from":     {"name": "from", "in": "query", "required": true, "description": "The version in use.", "schema": map[string]any{"type": "string"}},
	"hosted_to":       queryParam("to", "The version to compare it with. Default: the newest.", map[string]any{"type": "string"}),
}

// modelRoutes returns the routes of models. Some of them send a secret of the workspace to the
// provider, so they need a scope that allows using it: edit or admin.
func (s *Server) modelRoutes() api.Extension {
	const tag, hosted = "Models", "/v1/hosted-models"
	problems := []flow.Code{flow.CodeInputInvalid}
	return api.Extension{Names: modelNames, Params: modelParams, Routes: []api.Route{{
		Method: get, Path: "/v1/providers", Scopes: []flow.Scope{flow.ScopeRead, flow.ScopeAdmin}, Handle: s.listProviders,
		Role: flow.MemberViewer, Commands: []string{"provider list"},
		Doc: openapi.Operation{ID: "listProviders", Tag: tag, Summary: "List the known model providers and what they support",
			Answers: openapi.OK("All providers.", ProviderList{})},
	}, {
		Method: get, Path: "/v1/providers/:provider/models", Scopes: []flow.Scope{flow.ScopeEdit, flow.ScopeAdmin}, Handle: s.listModels,
		Role: flow.MemberViewer, Commands: []string{"provider models"},
		Doc: openapi.Operation{ID: "listProviderModels", Tag: tag, Summary: "List the models of a provider",
			Text:   "Asks the provider, with the credential that a run of the workspace would use.",
			Params: []string{"model_query"}, Problems: problems, Answers: openapi.OK("The models, as nodes take them.", ModelList{})},
	}, {
		Method: get, Path: hosted, Scopes: []flow.Scope{flow.ScopeEdit, flow.ScopeAdmin}, Handle: s.listHosted,
		Role: flow.MemberViewer, Commands: []string{"model list"},
		Doc: openapi.Operation{ID: "listHostedModels", Tag: tag, Summary: "List hosted models",
			Text:   "The featured ones and, with a credential for the platform, those that it finds.",
			Params: []string{"model_query", "hosted_category"}, Problems: problems, Answers: openapi.OK("The models.", HostedModelList{})},
	}, {
		Method: get, Path: hosted + "/:owner/:model", Scopes: []flow.Scope{flow.ScopeEdit, flow.ScopeAdmin}, Handle: s.showHosted,
		Role: flow.MemberViewer, Commands: []string{"model show"},
		Doc: openapi.Operation{ID: "showHostedModel", Tag: tag, Summary: "Show the inputs and outputs of a hosted model",
			Params: []string{"hosted_version"}, Problems: problems, Answers: openapi.OK("The model, also as a node for a document.", HostedForm{})},
	}, {
		Method: get, Path: hosted + "/:owner/:model/diff", Scopes: []flow.Scope{flow.ScopeEdit, flow.ScopeAdmin}, Handle: s.compareHosted,
		Role: flow.MemberViewer, Commands: []string{"model compare"},
		Doc: openapi.Operation{ID: "compareHostedModel", Tag: tag, Summary: "Compare two versions of a hosted model",
			Params: []string{"hosted_from", "hosted_to"}, Problems: problems, Answers: openapi.OK("The differences.", HostedChanges{})},
	}}}
}

// Provider is the JSON of a provider that Sluice knows.
type Provider struct {
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	BaseURL     string   `json:"base_url" doc:"Empty if a credential has it."`
	Environment []string `json:"environment" doc:"Variables of the server from which its secret may be taken."`
	KeysURL     string   `json:"keys_url" doc:"The provider's page for creating keys."`
	Local       bool     `json:"local" doc:"Whether it usually runs on the same machine as the server."`
	Can         []string `json:"can" doc:"Kinds of nodes that work with it."`
}

// ProviderList is the response to GET providers. It has no pages.
type ProviderList struct {
	Providers []Provider `json:"providers"`
}

// Model is the JSON of a model of a provider.
type Model struct {
	Model string `json:"model" doc:"As nodes take it: provider/model."`
	Title string `json:"title"`
	Owner string `json:"owner"`
}

// ModelList is the response to GET providers/provider/models. It has no pages.
type ModelList struct {
	Models []Model `json:"models"`
}

// HostedModel is the JSON of a model on the hosting platform.
type HostedModel struct {
	Model       string `json:"model" doc:"owner/name."`
	Title       string `json:"title"`
	Description string `json:"description"`
	Category    string `json:"category"`
	Output      string `json:"output" doc:"Type of its output: text, image, video, audio, file or json."`
	Official    bool   `json:"official"`
	Runs        int64  `json:"runs"`
}

// HostedModelList is the JSON of models on the hosting platform.
type HostedModelList struct {
	Models []HostedModel `json:"models"`
	Notice string        `json:"notice" doc:"Why only featured models are listed, if the platform did not respond."`
}

// HostedForm is the JSON of the inputs and outputs of one version of a hosted model, and a
// node that is pinned to it.
type HostedForm struct {
	Model       string         `json:"model"`
	Version     string         `json:"version" doc:"Empty if unknown."`
	Title       string         `json:"title"`
	Description string         `json:"description"`
	Official    bool           `json:"official"`
	Runs        int64          `json:"runs"`
	Inputs      []HostedInput  `json:"inputs"`
	Outputs     []HostedOutput `json:"outputs"`
	Open        bool           `json:"open" doc:"The model has no input schema; its inputs are one JSON object in the field input."`
	Node        map[string]any `json:"node" doc:"A node for a flow document, with pinned version and schema."`
}

// HostedInput is the JSON of an input of a hosted model, as a field of its node.
type HostedInput struct {
	Field    string         `json:"field"`
	Title    string         `json:"title"`
	Help     string         `json:"help"`
	Type     flow.FieldType `json:"type"`
	Required bool           `json:"required"`
	More     bool           `json:"more" doc:"Whether the editor shows it under More settings."`
	Default  any            `json:"default,omitempty"`
	Min      *float64       `json:"min,omitempty"`
	Max      *float64       `json:"max,omitempty"`
	Options  []string       `json:"options,omitempty" doc:"The values that it may have."`
}

// HostedOutput is the JSON of an output port of a hosted model.
type HostedOutput struct {
	Name   string    `json:"name"`
	Title  string    `json:"title,omitempty"`
	Help   string    `json:"help,omitempty"`
	Type   flow.Type `json:"type"`
	Shown  flow.Type `json:"shown,omitempty" doc:"The usual type of the value, if type is less specific."`
	Items  flow.Type `json:"items,omitempty" doc:"Of a list: the type of all items."`
	Accept []string  `json:"accept,omitempty" doc:"Media types of files."`
}

// HostedChanges is the JSON of the differences between two versions of a hosted model.
type HostedChanges struct {
	Model    string         `json:"model"`
	Old      string         `json:"old"`
	New      string         `json:"new"`
	Breaking bool           `json:"breaking"`
	Changes  []HostedChange `json:"changes"`
}

// HostedChange is the JSON of one difference.
type HostedChange struct {
	Field    string `json:"field" doc:"The input, or the property of the output; empty for the output as a whole."`
	Output   bool   `json:"output"`
	Breaking bool   `json:"breaking" doc:"Whether flows that work now could fail."`
	Sentence string `json:"sentence"`
}

// listProviders is GET providers. It sends no request to them, so it needs no credential.
func (s *Server) listProviders(c *api.Call) error {
	return c.WriteJSON(http.StatusOK, ProviderList{s.Catalog.ListProviders()})
}

// listModels is GET providers/provider/models?query=.
func (s *Server) listModels(c *api.Call) error {
	return query(c, func(ctx context.Context, q map[string]string) (list ModelList, err error) {
		list.Models, err = s.Catalog.ListModels(ctx, c.Key.WorkspaceID, c.Param("provider"), q["query"])
		return list, err
	}, "query")
}

// listHosted is GET hosted-models?query=&category=.
func (s *Server) listHosted(c *api.Call) error {
	return query(c, func(ctx context.Context, q map[string]string) (list HostedModelList, err error) {
		list.Models, list.Notice, err = s.Catalog.ListHosted(ctx, c.Key.WorkspaceID, q["query"], q["category"])
		return list, err
	}, "query", "category")
}

// showHosted is GET hosted-models/owner/model?version=. The default is the newest version.
func (s *Server) showHosted(c *api.Call) error {
	return query(c, func(ctx context.Context, q map[string]string) (HostedForm, error) {
		return s.Catalog.FindHosted(ctx, c.Key.WorkspaceID, hostedName(c, q["version"]))
	}, "version")
}

// compareHosted is GET hosted-models/owner/model/diff?from=&to=. from is required; without to
// it compares with the newest version.
func (s *Server) compareHosted(c *api.Call) error {
	return query(c, func(ctx context.Context, q map[string]string) (HostedChanges, error) {
		if q["from"] == "" {
			return HostedChanges{}, api.Invalid(flow.Problem{Pointer: "/from", Code: "required", Detail: "send the version in use"})
		}
		return s.Catalog.CompareHosted(ctx, c.Key.WorkspaceID, hostedName(c, ""), q["from"], q["to"])
	}, "from", "to")
}

// hostedName returns the model of the path as owner/model or, with a version,
// owner/model:version.
func hostedName(c *api.Call, version string) string {
	name := c.Param("owner") + "/" + c.Param("model")
	if version != "" {
		name += ":" + version
	}
	return name
}

// query responds with the result of find for the named query parameters. find may send a request
// to a provider, so this request counts as held.
func query[T any](c *api.Call, find func(ctx context.Context, q map[string]string) (T, error), params ...string) error {
	q, err := c.QueryTexts(params...)
	if err != nil {
		return err
	}
	release, err := c.Hold()
	if err != nil {
		return err
	}
	defer release()
	found, err := find(c.Request().Context(), q)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, found)
}
