package mcp

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/flow/value"
	"sluice/handlers/api"
	"sluice/handlers/web"
)

// Methods that this package handles instead of, or before, the SDK.
const (
	methodInitialize = "initialize"
	methodList       = "tools/list"
	methodCall       = "tools/call"
	methodCancel     = "notifications/cancelled"
)

// sessionHeader names the session of a client. The server keeps no state for a
// session; its ID only makes request IDs unique, see callName.
const sessionHeader = "Mcp-Session-Id"

// message is one JSON-RPC message of a client and its response.
type message struct {
	*api.Call
	s        *Server
	tools    toolset
	server   *sdk.Server // see newServer
	method   string
	params   map[string]any
	id       any  // a string or a json.Number; nil for a notification
	streams  bool // whether the response is an event stream
	response *responseWriter
}

// newMessage validates a message. It covers the members for which the errors of the SDK would
// contain names of Go types.
func (s *Server) newMessage(c *api.Call, object map[string]any) (*message, error) {
	m := &message{Call: c, s: s}
	var problems []flow.Problem
	check := func(pointer string, ok bool, wanted string) {
		if !ok {
			problems = append(problems, flow.Problem{Pointer: pointer, Code: "wrong_type", Detail: "wanted " + wanted})
		}
	}
	var ok bool
	m.method, ok = object["method"].(string)
	check("/jsonrpc", object["jsonrpc"] == "2.0", `"2.0"`)
	check("/method", ok, "the name of a method")
	if id, present := object["id"]; present {
		m.id = id
		check("/id", isText(id) || isInt64(id), "a text or a whole number")
	}
	if params := object["params"]; params != nil {
		m.params, ok = flow.AsMap(params)
		check("/params", ok, "an object")
	}
	for name, is := range paramTypes {
		if v := m.params[name]; v != nil {
			check("/params/"+name, is.valid(v), is.wanted)
		}
	}
	check("/params/_meta", !hasHugeNumber(m.params["_meta"]), "numbers up to 1.7e308") // the SDK decodes it into float64
	if len(problems) > 0 {
		sorting.By(problems, func(a, b flow.Problem) int { return strings.Compare(a.Pointer, b.Pointer) })
		return nil, &flow.Error{Code: flow.CodeInvalidJSON, Message: "The body is not a message of the Model Context Protocol.", Fields: problems}
	}
	return m, nil
}

// paramTypes are the types of parameters by name, the same for all methods.
var paramTypes = map[string]struct {
	valid  func(v any) bool
	wanted string
}{
	"name": {isText, "a text"}, "cursor": {isText, "a text"}, "protocolVersion": {isText, "a text"},
	"arguments": {value.IsObject, "an object"}, "_meta": {value.IsObject, "an object"}, "capabilities": {value.IsObject, "an object"}, "clientInfo": {value.IsObject, "an object"},
}

// supported reports whether the server implements the method. Other methods are rejected
// before the SDK sees them, because it decodes parameters first and reports their errors.
func (m *message) supported() bool {
	switch m.method {
	case methodInitialize, methodList, methodCall, methodCancel, "ping", "server/discover", "notifications/initialized":
		return true
	}
	return false
}

// rejectMethod responds to an unknown method with an error. An unknown notification is
// accepted and ignored, as JSON-RPC requires.
func (m *message) rejectMethod() error {
	if m.id == nil {
		return m.NoContent(http.StatusAccepted)
	}
	status := http.StatusOK
	if m.Request().Header.Get("Mcp-Protocol-Version") >= "2026-07-28" { // from this version on, the HTTP status is 404 too
		status = http.StatusNotFound
	}
	return m.WriteJSON(status, map[string]any{"jsonrpc": "2.0", "id": m.id, "error": map[string]any{"code": jsonrpc.CodeMethodNotFound, "message": "This server does not have this method."}})
}

// encode returns the message for the SDK, with only the parameters that the SDK needs.
// The arguments of a call are left out: the handlers of tools use message.arguments.
func (m *message) encode() []byte {
	params := map[string]any{}
	for _, name := range []string{"name", "cursor", "protocolVersion", "_meta"} {
		if v := m.params[name]; v != nil {
			params[name] = v
		}
	}
	if m.method == methodInitialize {
		params["capabilities"] = map[string]any{} // required, but unused
	}
	object := map[string]any{"jsonrpc": "2.0", "method": m.method, "params": params}
	if m.id != nil {
		object["id"] = m.id
	}
	return flow.EncodeJSON(object)
}

// progressToken returns the token for progress notifications, or nil if the client did
// not ask for them.
func (m *message) progressToken() any {
	meta, _ := flow.AsMap(m.params["_meta"])
	if token := meta["progressToken"]; isText(token) || flow.TypeNumber.Is(token) {
		return token
	}
	return nil
}

// hasHugeNumber reports whether a JSON value contains a number that overflows float64.
func hasHugeNumber(v any) bool {
	switch v := v.(type) {
	case json.Number:
		_, err := v.Float64()
		return err != nil
	case []any:
		return slices.ContainsFunc(v, hasHugeNumber)
	case *flow.Object:
		for _, item := range v.All() {
			if hasHugeNumber(item) {
				return true
			}
		}
	}
	return false
}

// isInt64 reports whether a value is an integer that fits an int64. As a JSON-RPC ID, the
// SDK would alter any other number in the response.
func isInt64(v any) bool {
	n, ok := v.(json.Number)
	_, err := strconv.ParseInt(n.String(), 10, 64)
	return ok && err == nil
}

func isText(v any) bool { _, ok := v.(string); return ok }

// checkProtocol rejects unsupported old versions of the protocol. For newer ones the
// protocol negotiates a version.
func checkProtocol(h http.Header) error {
	supported := sdk.SupportedProtocolVersions()
	v, present, err := api.SingleHeader(h, "Mcp-Protocol-Version")
	if err != nil || !present || slices.Contains(supported, v) || v > slices.Max(supported) {
		return err
	}
	return flow.Errorf(flow.CodeInvalidHeader, "Mcp-Protocol-Version names an unsupported version. Supported versions: %s.", strings.Join(supported, ", "))
}

// checkOrigin rejects cross-origin requests from browsers. The protocol requires this
// against DNS rebinding: a page whose host name resolves to this server still sends its
// own origin.
func checkOrigin(h http.Header, publicURL string) error {
	origins := h.Values("Origin")
	if len(origins) == 0 || len(origins) == 1 && isOwnOrigin(origins[0], publicURL) {
		return nil
	}
	return flow.Errorf(flow.CodeOriginNotAllowed, "Only web pages of %s may call this path. If the client is not a web page, leave out the Origin header.", publicURL)
}

// isOwnOrigin reports whether an origin is that of the public URL. If that is a loopback
// address, as in development, every loopback origin is accepted.
func isOwnOrigin(origin, publicURL string) bool {
	own, err := url.Parse(publicURL)
	if err != nil {
		return false
	}
	if strings.EqualFold(origin, own.Scheme+"://"+own.Host) {
		return true
	}
	other, err := url.Parse(origin)
	return err == nil && web.IsLoopback(own.Hostname()) && web.IsLoopback(other.Hostname())
}
