package admin

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/credentialuse"
	"sluice/flow/library"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// credentialNames maps the Go types of responses to the names of their schemas in the
// OpenAPI document. Names are part of the API: generated clients name their types after
// them.
var credentialNames = map[reflect.Type]string{
	reflect.TypeFor[Credential]():     "Credential",
	reflect.TypeFor[CredentialUse]():  "CredentialUse",
	reflect.TypeFor[CredentialTest](): "CredentialTest",
	reflect.TypeFor[Connection]():     "Connection",
	reflect.TypeFor[CredentialList](): "CredentialList",
	reflect.TypeFor[ToolCheck]():      "ToolCheck",
	reflect.TypeFor[ServerTool]():     "ServerTool",
	reflect.TypeFor[ServerToolUse]():  "ServerToolUse",
}

// credentialParams are the parameters that routes name in their Params.
var credentialParams = map[string]map[string]any{
	"name": {"name": "name", "in": "path", "required": true, "description": "Name of the credential.", "schema": map[string]any{"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"}},
}

// credentialRequest is the body of a request that sets a credential.
type credentialRequest struct {
	flow.Credential
	secret string
}

// callLimitType is the type of a limit of calls.
var callLimitType = api.Type[int64]{
	Schema: schema{"type": "integer", "minimum": 0, "maximum": flow.MaxCallLimit}, Code: "out_of_range",
	Wanted: fmt.Sprintf("a whole number from 0 to %d", flow.MaxCallLimit), As: func(v any) (int64, bool) { return api.AsWhole(v, 0, flow.MaxCallLimit) },
}.OrNull()

const needsSecret = "only the limits of a credential can be changed without its secret"

// Bodies of requests about credentials.
var (
	credentialBody = api.Body[credentialRequest]{Name: "SetCredential", Of: "a credential", Example: schema{"secret": "sk-EXAMPLE", "provider": "openai"}, Fields: []api.Field[credentialRequest]{
		api.Member("max_calls", "Calls of model nodes with it at once; further ones wait. Default: 0, no limit.", callLimitType, func(k *credentialRequest) *int64 { return &k.Limits.AtOnce }),
		api.Member("calls_per_minute", "Calls of model nodes with it in a minute; further ones wait. Default: 0, no limit.", callLimitType, func(k *credentialRequest) *int64 { return &k.Limits.PerMinute }),
		api.Member("secret", "No response contains it.", api.TextType.With("maxLength", library.MaxSecretBytes), func(k *credentialRequest) *string { return &k.secret }).Required("send the secret with every change"),
		api.Member("provider", "Model provider that the secret is for, such as openai. Default: none; then hosts are required.", api.TextType.OrNull(), func(k *credentialRequest) *string { return &k.Provider }),
		api.Member("base_url", "Address of a provider that has no address of its own. Private addresses are refused when it is used, unless the operator allows them for everybody.", api.TextType.OrNull(), func(k *credentialRequest) *string { return &k.BaseURL }),
		api.Member("hosts", "Hosts that the secret may be sent to. A provider has its own.", textsType.OrNull(), func(k *credentialRequest) *[]string { return &k.Hosts }),
	}}
	credentialLimitBody = api.Body[flow.CallLimits]{Name: "LimitCredential", Of: "the limits of a credential", Example: schema{"max_calls": 4},
		Refused: map[string]string{"secret": needsSecret, "provider": needsSecret, "base_url": needsSecret, "hosts": needsSecret}, Fields: []api.Field[flow.CallLimits]{
			api.Member("max_calls", "Calls of model nodes with it at once; 0 or null for no limit.", callLimitType, func(l *flow.CallLimits) *int64 { return &l.AtOnce }),
			api.Member("calls_per_minute", "Calls of model nodes with it in a minute; 0 or null for no limit.", callLimitType, func(l *flow.CallLimits) *int64 { return &l.PerMinute }),
		}}
	credentialHostsBody = api.Body[flow.Credential]{Of: "a credential", Fields: []api.Field[flow.Credential]{
		api.Member("hosts", "", textsType, func(k *flow.Credential) *[]string { return &k.Hosts }),
	}}
)

// credentialRoutes returns the routes of credentials, each with its part of the OpenAPI
// document.
func (s *Server) credentialRoutes() api.Extension {
	const path, tag = "/v1/credentials/:name", "Credentials"
	invalid := []flow.Code{flow.CodeStorageFull}
	return api.Extension{Names: credentialNames, Params: credentialParams, Routes: []api.Route{{
		Method: get, Path: "/v1/credentials", Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.listCredentials,
		Role: flow.MemberViewer, Commands: []string{"credential list", "credential connections"},
		Doc: openapi.Operation{ID: "listCredentials", Tag: tag, Summary: "List the credentials, without their secrets", Problems: []flow.Code{flow.CodeFlowNotAllowed},
			Answers: openapi.OK("All credentials, by name.", CredentialList{})},
	}, {
		Method: get, Path: path, Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.showCredential,
		Role: flow.MemberEditor, Commands: []string{"credential add", "credential limits", "credential connections", "credential remove"},
		Doc: openapi.Operation{ID: "showCredential", Tag: tag, Summary: "Show a credential, without its secret",
			Answers: openapi.OK("The credential.", Credential{})},
	}, {
		Method: http.MethodPut, Path: path, Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.setCredential,
		Role: flow.MemberEditor, Audit: []string{"credential.save"}, Commands: []string{"credential add"},
		Doc: openapi.Operation{ID: "setCredential", Tag: tag, Summary: "Set a credential",
			Text: "Creates it or replaces all of it. The secret is always part of the request, so that a stored one cannot be sent to another address. Flows use the new secret immediately; a plain secret that is replaced continues to sign webhooks beside the new one for a day.",
			Body: credentialBody.Doc(), Problems: invalid, Answers: openapi.OK("The credential, without its secret.", Credential{})},
	}, {
		Method: http.MethodPatch, Path: path, Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.limitCredential,
		Role: flow.MemberEditor, Audit: []string{"credential.limits"}, Commands: []string{"credential limits"}, Limited: "may only lower limits",
		Doc: openapi.Operation{ID: "limitCredential", Tag: tag, Summary: "Limit the calls with a credential",
			Text: "What is left out stays. Nothing else of a credential can be changed without its secret. A key with limits may only lower them.",
			Body: credentialLimitBody.Doc(), Problems: append([]flow.Code{flow.CodeExceedsKey}, invalid...), Answers: openapi.OK("The credential after the change.", Credential{})},
	}, {
		Method: http.MethodDelete, Path: path, Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.removeCredential,
		Role: flow.MemberEditor, Audit: []string{"credential.remove"}, Commands: []string{"credential remove"},
		Doc: openapi.Operation{ID: "removeCredential", Tag: tag, Summary: "Remove a credential", Text: "Flows that use it fail.",
			Answers: openapi.NoContent("Removed.")},
	}, {
		Method: http.MethodPost, Path: path + "/test", Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.testCredential,
		Role: flow.MemberEditor, Audit: []string{"credential.test"}, Commands: []string{"credential test"},
		Doc: openapi.Operation{ID: "testCredential", Tag: tag, Summary: "Test a credential with its provider",
			Text:    "Calls only the address that the credential is bound to.",
			Answers: openapi.OK("The response of the provider.", CredentialTest{})},
	},
		{
			Method: http.MethodPost, Path: path + "/tools/check", Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.checkTools,
			Role: flow.MemberEditor, Audit: []string{"credential.test"}, Commands: []string{"credential tools"},
			Doc: openapi.Operation{ID: "checkTools", Tag: tag, Summary: "Check the tools of an MCP server",
				Text:     "Lists the tools of the server and compares them with those that nodes store. It changes nothing: a node keeps its tools until somebody changes the flow.",
				Problems: []flow.Code{flow.CodeInputInvalid},
				Answers:  openapi.OK("The tools of the server and of the nodes.", ToolCheck{})},
		},
		{
			Method: http.MethodDelete, Path: path + "/connection", Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.disconnect,
			Role: flow.MemberEditor, Audit: []string{"credential.disconnect"}, Commands: []string{"credential disconnect"},
			Doc: openapi.Operation{ID: "disconnectCredential", Tag: tag, Summary: "Disconnect an MCP server",
				Text:     "Erases the tokens of the person who signed in. Runs that use the credential fail until somebody connects it again, which needs a browser: at connection.url. A credential without a connection stays as it is.",
				Problems: []flow.Code{flow.CodeInputInvalid},
				Answers:  openapi.OK("The credential after the change.", Credential{})},
		},
		{Method: http.MethodPut, Path: "/v1/local/credentials/:name/hosts", Operator: true, Handle: s.setCredentialHosts, Role: flow.MemberEditor, Audit: []string{"credential.hosts"}, Commands: []string{"credential hosts"}},
	}}
}

// Credential is the JSON of a credential. It has no secret.
type Credential struct {
	Name      string   `json:"name"`
	Provider  string   `json:"provider" doc:"Empty for a secret that is not for a model provider."`
	BaseURL   string   `json:"base_url" doc:"Empty for the provider's own address."`
	Hosts     []string `json:"hosts" doc:"Hosts that the secret may be sent to."`
	MaxCalls  int64    `json:"max_calls" doc:"Calls of model nodes at once; 0 for no limit."`
	PerMinute int64    `json:"calls_per_minute" doc:"Calls of model nodes in a minute; 0 for no limit."`
	CreatedAt api.Time `json:"created_at"`
	UpdatedAt api.Time `json:"updated_at"`

	Unbound  bool            `json:"unbound" doc:"Whether it may be sent to any host, as in older versions."`
	Readable bool            `json:"readable" doc:"False if the server's master key cannot decrypt the secret."`
	UsedBy   []CredentialUse `json:"used_by" doc:"The nodes that use it, by flow: the first 100 of them, in lists the first 10."`
	Uses     int             `json:"used_by_total" doc:"How many nodes use it."`

	Connection *Connection `json:"connection" doc:"How somebody signed in to an MCP server; null for a credential of another provider."`
}

// Bounds of the nodes that an answer names for one credential, since each of thousands of flows may use it.
const (
	maxUses       = 100
	maxUsesInList = 10
)

// CredentialUse is the JSON of a node that uses a credential, in a live version or a draft.
type CredentialUse struct {
	FlowID flow.FlowID `json:"flow_id"`
	Flow   string      `json:"flow" doc:"Name of the flow."`
	Node   string      `json:"node"`
	Live   bool        `json:"live" doc:"Whether the live version uses it; otherwise the draft does."`
}

// CredentialList is the response to GET credentials. It has no pages.
type CredentialList struct {
	Credentials []Credential `json:"credentials"`
}

// OperatorCredentials is the response to GET credentials for the operator.
type OperatorCredentials struct {
	CredentialList
	Environment   []Credential        `json:"environment"`    // secrets in the environment of the server
	ProposedHosts map[string][]string `json:"proposed_hosts"` // hosts that flows send each credential to, by its name
}

// CredentialTest is the JSON of a test. A secret that the provider rejects is not an error of the
// request.
type CredentialTest struct {
	Accepted bool   `json:"accepted" doc:"Whether the provider accepts the secret."`
	Message  string `json:"message" doc:"Explanation for people."`
}

// requireAllFlows returns an error for a key with a list of flows. Such a key must not reach
// settings of the workspace, such as credentials, since these affect other flows too. nouns names
// the settings in the message.
func requireAllFlows(c *api.Call, nouns string) error {
	if len(c.Key.Flows) > 0 {
		return flow.Errorf(flow.CodeFlowNotAllowed, "This key is limited to some flows, but %s apply to all. Use a key without a list of flows.", nouns)
	}
	return nil
}

// findCredential finds the credential of the path.
func (s *Server) findCredential(c *api.Call) (flow.Credential, error) {
	if err := requireAllFlows(c, "credentials"); err != nil {
		return flow.Credential{}, err
	}
	return s.Store.FindCredential(c.Request().Context(), c.Key.WorkspaceID, c.Param("name"))
}

// newCredential returns the JSON of a credential with the first of its uses. readable reports
// whether the master key decrypts its secret.
func newCredential(k *flow.Credential, readable bool, uses []credentialuse.Use, most int) Credential {
	o := Credential{
		Name: k.Name, Provider: k.Provider, BaseURL: k.BaseURL, Hosts: append([]string{}, k.Hosts...), MaxCalls: k.Limits.AtOnce, PerMinute: k.Limits.PerMinute,
		CreatedAt: api.Time(k.CreatedAt), UpdatedAt: api.Time(k.UpdatedAt), Unbound: k.Unbound(), Readable: readable, UsedBy: []CredentialUse{}, Uses: len(uses),
	}
	for _, u := range uses[:min(len(uses), most)] {
		o.UsedBy = append(o.UsedBy, CredentialUse{u.FlowID, u.FlowName, u.Node, u.Live})
	}
	return o
}

// credentialObjects returns the JSON of credentials of the workspace, each with at most that many
// uses. It tries to decrypt each secret to set Readable.
func (s *Server) credentialObjects(c *api.Call, most int, list ...flow.Credential) ([]Credential, error) {
	ctx, all := c.Request().Context(), []Credential{}
	uses, err := s.Providers.CredentialUses(ctx, c.Key.WorkspaceID)
	for i := range list {
		k := &list[i]
		_, secret, sealed := s.Store.OpenCredential(ctx, c.Key.WorkspaceID, k.Name)
		o := newCredential(k, sealed == nil, uses[k.Name], most)
		o.Connection = connectionOf(s, k, secret)
		all = append(all, o)
	}
	return all, err
}

// listCredentials is GET credentials.
func (s *Server) listCredentials(c *api.Call) error {
	if err := requireAllFlows(c, "credentials"); err != nil {
		return err
	}
	list, err := s.Store.ListCredentials(c.Request().Context(), c.Key.WorkspaceID)
	if err != nil {
		return err
	}
	all, err := s.credentialObjects(c, maxUsesInList, list...)
	if err != nil {
		return err
	}
	out := OperatorCredentials{CredentialList: CredentialList{Credentials: all}}
	if !c.Operator() {
		return c.WriteJSON(http.StatusOK, out.CredentialList)
	}
	for _, k := range s.Providers.Environment(c.Key.WorkspaceID) {
		out.Environment = append(out.Environment, newCredential(&k, true, nil, 0))
	}
	if out.ProposedHosts, err = s.Providers.ProposeHosts(c.Request().Context(), c.Key.WorkspaceID); err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, out)
}

// showCredential is GET credentials/name.
func (s *Server) showCredential(c *api.Call) error {
	k, err := s.findCredential(c)
	if err != nil {
		return err
	}
	all, err := s.credentialObjects(c, maxUses, k)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, all[0])
}

// setCredential is PUT credentials/name. Only a base URL from the operator of the server is trusted:
// it may be a private address.
func (s *Server) setCredential(c *api.Call) error {
	if err := requireAllFlows(c, "credentials"); err != nil {
		return err
	}
	body, err := c.ReadObject(false)
	if err != nil {
		return err
	}
	wanted, secret, err := readCredential(body, c.Operator())
	if err != nil {
		return err
	}
	wanted.WorkspaceID, wanted.Name = c.Key.WorkspaceID, c.Param("name")
	check := s.Providers.Credential
	if c.Operator() {
		check = s.Providers.OperatorCredential
	}
	k, err := check(wanted, secret)
	if err != nil {
		return requestFields(err)
	}
	k.Overlap = flow.SigningOverlap
	err = s.credentials.Save(c.Request().Context(), c.Actor(), k, secret)
	if err != nil {
		return err
	}
	return s.showCredential(c)
}

// setCredentialHosts is PUT local/credentials/name/hosts. Only the operator may change the hosts of
// a stored secret, because others could have it sent to themselves.
func (s *Server) setCredentialHosts(c *api.Call) error {
	k, err := s.findCredential(c)
	if err != nil {
		return err
	}
	set, err := credentialHostsBody.ReadFrom(c)
	if err != nil {
		return err
	}
	wanted := k
	set(&wanted)
	hosts, err := flow.ParseHosts(wanted.Hosts)
	if err != nil {
		return api.Invalid(flow.Problem{Pointer: "/hosts", Code: "invalid", Detail: err.Error()})
	}
	if err := s.credentials.SetHosts(c.Request().Context(), c.Actor(), k, hosts); err != nil {
		return err
	}
	return s.showCredential(c)
}

// readCredential reads the body of a request. The error has every problem of the body, and never
// contains the secret. The operator may leave out the hosts, and add some to those of a provider.
func readCredential(body map[string]any, operator bool) (k flow.Credential, secret string, err error) {
	set, wrong := credentialBody.Read(body)
	var of credentialRequest
	set(&of)
	k, secret = of.Credential, of.secret
	switch {
	case k.Provider == "" && len(k.Hosts) == 0 && len(wrong) == 0 && !operator:
		wrong = append(wrong, flow.Problem{Pointer: "/hosts", Code: "required", Detail: "enter the hosts that the secret may be sent to, such as api.example.com"})
	case k.Provider == "" && k.BaseURL != "":
		wrong = append(wrong, flow.Problem{Pointer: "/base_url", Code: "invalid", Detail: "only a provider has a base URL"})
	case k.Provider != "" && len(k.Hosts) > 0 && !operator:
		wrong = append(wrong, flow.Problem{Pointer: "/hosts", Code: "invalid", Detail: "a provider has hosts of its own"})
	}
	if len(wrong) > 0 {
		return k, "", &flow.Error{Code: flow.CodeInputInvalid, Message: "The credential was not saved.", Fields: wrong}
	}
	return k, secret, nil
}

// limitCredential is PATCH credentials/name.
func (s *Server) limitCredential(c *api.Call) error {
	k, err := s.findCredential(c)
	if err != nil {
		return err
	}
	set, err := credentialLimitBody.ReadFrom(c)
	if err != nil {
		return err
	}
	limits := k.Limits
	set(&limits)
	if err := s.credentials.SetLimits(c.Request().Context(), c.Actor(), c.Key, k, limits); err != nil {
		return err
	}
	return s.showCredential(c)
}

// requestFields returns an error whose fields are JSON Pointers into the request. The rules
// are shared with the dashboard and name form fields: base_url becomes /base_url.
func requestFields(err error) error {
	e, ok := errors.AsType[*flow.Error](err)
	if !ok {
		return err
	}
	located := *e
	located.Fields = slices.Clone(e.Fields)
	for i := range located.Fields {
		if p := &located.Fields[i].Pointer; *p != "" && !strings.HasPrefix(*p, "/") {
			*p = flow.Pointer(*p)
		}
	}
	return &located
}

// removeCredential is DELETE credentials/name.
func (s *Server) removeCredential(c *api.Call) error {
	k, err := s.findCredential(c)
	if err != nil {
		return err
	}
	if err := s.credentials.Remove(c.Request().Context(), c.Actor(), k); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// findEnvironment finds the credential of the environment for the provider of the path.
func (s *Server) findEnvironment(c *api.Call) (flow.Credential, error) {
	for _, k := range s.Providers.Environment(c.Key.WorkspaceID) {
		if k.Provider == c.Param("name") {
			return flow.Credential{WorkspaceID: c.Key.WorkspaceID, Name: k.Provider, Provider: k.Provider}, nil
		}
	}
	return flow.Credential{}, flow.Errorf(flow.CodeNotFound, "There is no such credential.")
}

// testCredential is POST credentials/name/test. If the provider rejects the secret, that is the
// result and not an error of the request.
func (s *Server) testCredential(c *api.Call) error {
	k, err := s.findCredential(c)
	if flow.IsNotFound(err) && c.Operator() {
		k, err = s.findEnvironment(c)
	}
	if err != nil {
		return err
	}
	if k.Plain() {
		return c.WriteJSON(http.StatusOK, CredentialTest{Message: "This credential has no provider, so it cannot be tested."})
	}
	release, err := c.Hold()
	if err != nil {
		return err
	}
	defer release()
	told, err := s.credentials.Test(c.Request().Context(), c.Actor(), k)
	if e := flow.AsError(err); err != nil && e.Code == flow.CodeInternal {
		return err
	} else if err != nil {
		told = e.Message
	}
	return c.WriteJSON(http.StatusOK, CredentialTest{Accepted: err == nil, Message: told})
}
