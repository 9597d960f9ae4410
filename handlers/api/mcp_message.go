package api

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/flow"
)

// Methods that are more than passed on to the SDK.
const (
	methodInitialize = "initialize"
	methodList       = "tools/list"
	methodCall       = "tools/call"
	methodCancel     = "notifications/cancelled"
)

// sessionHeader names the session of a client. Nothing is kept for a session:
// it only tells which call a cancellation means, since every client numbers its
// calls from one on.
const sessionHeader = "Mcp-Session-Id"

// message is one message of a client on its way to the SDK and back.
type message struct {
	*call
	method  string
	params  map[string]any
	id      any  // nil when no answer is wanted
	streams bool // the answer is an event stream
	answer  *agentAnswer
}

// newMessage reads what must be right before the SDK sees it: what the SDK
// says of the rest names types of the program.
func (c *call) newMessage(object map[string]any) (*message, error) {
	m := &message{call: c}
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
	if id, there := object["id"]; there {
		m.id = id
		check("/id", isText(id) || isWhole(id), "a text or a whole number")
	}
	if params := object["params"]; params != nil {
		m.params, ok = params.(map[string]any)
		check("/params", ok, "an object")
	}
	for name, is := range paramKinds {
		if v := m.params[name]; v != nil {
			check("/params/"+name, is.holds(v), is.wanted)
		}
	}
	check("/params/_meta", !holdsHugeNumber(m.params["_meta"]), "numbers up to 1.7e308") // the SDK reads it
	if len(problems) > 0 {
		slices.SortFunc(problems, func(a, b flow.Problem) int { return strings.Compare(a.Pointer, b.Pointer) })
		return nil, &flow.Error{Code: flow.CodeInvalidJSON, Message: "The body is not a message of the Model Context Protocol.", Fields: problems}
	}
	return m, nil
}

// paramKind is what a parameter must be wherever it is there.
type paramKind struct {
	holds  func(v any) bool
	wanted string
}

var paramKinds = map[string]paramKind{
	"name": {isText, "a text"}, "cursor": {isText, "a text"}, "protocolVersion": {isText, "a text"},
	"arguments": {isObject, "an object"}, "_meta": {isObject, "an object"}, "capabilities": {isObject, "an object"}, "clientInfo": {isObject, "an object"},
}

// served tells whether the method is one that Sluice has an answer to. Nothing
// of the others reaches the SDK, which would read their parameters first.
func (m *message) served() bool {
	switch m.method {
	case methodInitialize, methodList, methodCall, methodCancel, "ping", "server/discover", "notifications/initialized":
		return true
	}
	return false
}

// notServed says so; a notification wants no answer.
func (m *message) notServed() error {
	if m.id == nil {
		return m.NoContent(http.StatusAccepted)
	}
	status := http.StatusOK
	if m.Request().Header.Get("Mcp-Protocol-Version") >= "2026-07-28" { // since then the status tells too
		status = http.StatusNotFound
	}
	return m.writeJSON(status, map[string]any{"jsonrpc": "2.0", "id": m.id, "error": map[string]any{"code": jsonrpc.CodeMethodNotFound, "message": "This server does not have this method."}})
}

// encode writes the message anew with what is of use to the SDK: the values of
// a call are not, as it is answered here.
func (m *message) encode() []byte {
	params := map[string]any{}
	for _, name := range []string{"name", "cursor", "protocolVersion", "_meta"} {
		if v := m.params[name]; v != nil {
			params[name] = v
		}
	}
	if m.method == methodInitialize {
		params["capabilities"] = map[string]any{} // nothing depends on them
	}
	object := map[string]any{"jsonrpc": "2.0", "method": m.method, "params": params}
	if m.id != nil {
		object["id"] = m.id
	}
	return flow.EncodeJSON(object)
}

// progressToken is what notifications of progress are to bear; nil for none.
func (m *message) progressToken() any {
	meta, _ := m.params["_meta"].(map[string]any)
	if token := meta["progressToken"]; isText(token) || isNumber(token) {
		return token
	}
	return nil
}

// holdsHugeNumber reports whether a value holds a number beyond float64.
func holdsHugeNumber(v any) bool {
	switch v := v.(type) {
	case json.Number:
		_, err := v.Float64()
		return err != nil
	case []any:
		return slices.ContainsFunc(v, holdsHugeNumber)
	case map[string]any:
		for _, item := range v {
			if holdsHugeNumber(item) {
				return true
			}
		}
	}
	return false
}

func isNumber(v any) bool { return flow.TypeNumber.Is(v) }

// isWhole takes the numbers that an answer can bear again: of all others the SDK
// makes another number, which no caller would know as its own.
func isWhole(v any) bool {
	n, ok := v.(json.Number)
	_, err := strconv.ParseInt(n.String(), 10, 64)
	return ok && err == nil
}

func isText(v any) bool   { _, ok := v.(string); return ok }
func isObject(v any) bool { _, ok := v.(map[string]any); return ok }

// checkProtocol refuses versions that are not spoken here. To those that are
// newer than this server, the protocol itself has an answer.
func checkProtocol(h http.Header) error {
	spoken := mcp.SupportedProtocolVersions()
	v, present, err := header(h, "Mcp-Protocol-Version")
	if err != nil || !present || slices.Contains(spoken, v) || v > slices.Max(spoken) {
		return err
	}
	return flow.Errorf(flow.CodeInvalidHeader, "Mcp-Protocol-Version names a version that is not spoken here. These are: %s.", strings.Join(spoken, ", "))
}

// checkOrigin refuses the pages of others, as the protocol demands: a name that
// was rebound to this address must not let them in.
func (s *Server) checkOrigin(h http.Header) error {
	origins := h.Values("Origin")
	if len(origins) == 0 || len(origins) == 1 && s.ownOrigin(origins[0]) {
		return nil
	}
	return flow.Errorf(flow.CodeOriginNotAllowed, "Of all web pages, only those of %s may call this path. A program leaves the Origin header out.", s.PublicURL)
}

// ownOrigin takes every page of this machine where we are on loopback, which is
// somebody who tries things out. The origin of a rebound name is that name.
func (s *Server) ownOrigin(origin string) bool {
	ours, err := url.Parse(s.PublicURL)
	if err != nil {
		return false
	}
	if strings.EqualFold(origin, ours.Scheme+"://"+ours.Host) {
		return true
	}
	theirs, err := url.Parse(origin)
	return err == nil && loopback(ours.Hostname()) && loopback(theirs.Hostname())
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
