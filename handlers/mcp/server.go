// Package mcp serves the Model Context Protocol at POST /mcp: each published
// flow that a key may run is a tool, and a tool call is a run.
//
// A client that opts in with ?tools=authoring gets tools that write flows instead.
//
// It uses the streamable HTTP transport without server-side sessions, so any
// instance can answer any request. The SDK parses and writes JSON-RPC, from a
// server that is created for each message with the tools of its key; this package
// decides which tools exist, runs them, and rejects bad input before the SDK sees
// it, because the SDK's own errors name Go types.
//
//   - Server.serve is the route's handler, called by package api after it has
//     checked the key and the rate limit.
//   - message is one JSON-RPC request or notification (message.go).
//   - tools.go lists and names the tools of flows, call.go runs one, progress.go
//     reports its progress, result.go writes its result or error.
//   - authoring.go has the tools that write flows, as requests to the API.
//   - responseWriter stands between the SDK and the connection (answer.go).
//
// Keys, rate limits, runs and files belong to package api. Tests of the protocol
// over HTTP are in handlers/api, beside the server that they need.
package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/flow"
	"sluice/handlers/api"
)

// Server serves the Model Context Protocol for an API server.
type Server struct {
	api              *api.Server
	streaming, plain *sdk.StreamableHTTPHandler // responses as an event stream, and as JSON
	calls            openCalls
	authoring        func() authoring // the tools that write flows, once all routes are known
}

// New returns a server and makes it the handler of POST /mcp of the API.
func New(a *api.Server) *Server {
	handler := func(plain bool) *sdk.StreamableHTTPHandler {
		return sdk.NewStreamableHTTPHandler(serverOf, &sdk.StreamableHTTPOptions{
			Stateless: true, JSONResponse: plain, MaxRequestBodyBytes: api.MaxBody,
			// This protection rejects requests from a reverse proxy on the same
			// machine. The checks of origin and key replace it.
			DisableLocalhostProtection: true,
		})
	}
	s := &Server{api: a, streaming: handler(false), plain: handler(true), authoring: sync.OnceValue(func() authoring { return newAuthoring(a.Routes()) })}
	a.MCP = s.serve
	return s
}

// messageKey is the context key of the message of a request.
type messageKey struct{}

// serverOf returns the SDK's server for a request; see message.newServer.
func serverOf(r *http.Request) *sdk.Server {
	m, _ := r.Context().Value(messageKey{}).(*message)
	return m.server
}

// toolset is a set of tools. The URL of the client selects it.
type toolset interface {
	// instructions returns the text that tells a model what the tools are for.
	instructions() string
	// maxMessage bounds a message, in bytes.
	maxMessage() int64
	// list returns all tools that the key may call.
	list(m *message) ([]tool, error)
	// find returns the tool with a name, or nil. Its sdk.Tool is ignored.
	find(m *message, name string) (*tool, error)
}

// tool is a declared tool with the function that executes calls.
type tool struct {
	*sdk.Tool
	call sdk.ToolHandler
	// describe completes the declaration once it is known that the answer has this tool; nil if it is complete.
	describe func() error
}

// anyObject is the schema of tools until they are described. The SDK checks each schema of each tool.
var anyObject = map[string]any{"type": "object"}

// toolsetOf returns the set of tools that the URL selects, if the key may use it.
func (s *Server) toolsetOf(c *api.Call) (toolset, error) {
	switch name := c.QueryParam("tools"); name {
	case "":
		return flowTools{}, nil
	case "authoring":
		if !c.Key.Has(flow.ScopeEdit) {
			return nil, api.ErrMissingScope(flow.ScopeEdit)
		}
		return s.authoring(), nil
	default:
		return nil, &flow.Error{Code: flow.CodeInputInvalid, Message: "Unknown set of tools.",
			Fields: []flow.Problem{{Pointer: "/tools", Code: "invalid", Detail: "wanted authoring; leave it out to use flows as tools"}}}
	}
}

// newServer returns an SDK server with only the tools that the message needs: all for
// tools/list, one for tools/call, otherwise none.
func (m *message) newServer() (*sdk.Server, error) {
	server := sdk.NewServer(&sdk.Implementation{Name: "sluice", Title: "Sluice", Version: cmp.Or(m.s.api.Version, "dev"), WebsiteURL: m.s.api.PublicURL}, &sdk.ServerOptions{
		Instructions: m.tools.instructions(), PageSize: toolsPage,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
		// Clients must not cache the list: it depends on the key and can change at any time.
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.TTLMs, c.CacheScope = 0, "private" },
	})
	var list []tool
	var err error
	switch m.method {
	case methodList:
		list, err = m.tools.list(m)
	case methodCall:
		var found *tool
		name, _ := m.params["name"].(string)
		if found, err = m.tools.find(m, name); found != nil {
			found.Tool = &sdk.Tool{Name: name, InputSchema: anyObject}
			list = []tool{*found}
		}
	}
	for _, t := range list {
		server.AddTool(t.Tool, t.call)
	}
	server.AddReceivingMiddleware(m.describing(list))
	return server, err
}

// describing completes the declarations of the tools in an answer. A list has pages, and describing all tools for each
// of them would take most of the time.
func (m *message) describing(list []tool) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			result, err := next(ctx, method, req)
			page, ok := result.(*sdk.ListToolsResult)
			if err != nil || !ok {
				return result, err
			}
			answered := make(map[*sdk.Tool]bool, len(page.Tools))
			for _, t := range page.Tools {
				answered[t] = true
			}
			for _, t := range list {
				if t.describe == nil || !answered[t.Tool] {
					continue
				}
				if err := t.describe(); err != nil {
					m.s.api.Log.Error("a tool cannot be described", "tool", t.Name, "error", err)
					return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "The tools cannot be listed. Try again."}
				}
			}
			return page, nil
		}
	}
}

// serve is POST /mcp. Errors in headers, URL and the form of the message are HTTP
// problems, as elsewhere in the API; later errors are JSON-RPC errors or results.
func (s *Server) serve(c *api.Call) error {
	h := c.Request().Header
	if err := checkOrigin(h, s.api.PublicURL); err != nil {
		return err
	}
	accept := h.Values("Accept")
	streams, plain := api.ChooseType(accept, []string{api.TypeStream}) != "", api.ChooseType(accept, []string{api.TypeJSON}) != ""
	if err := checkProtocol(h); err != nil {
		return err
	}
	tools, err := s.toolsetOf(c)
	if err != nil {
		return err
	}
	object, err := c.ReadObjectUpTo(false, tools.maxMessage())
	if err != nil {
		return err
	}
	m, err := s.newMessage(c, object)
	if err != nil {
		return err
	}
	m.tools = tools
	// Calls get an event stream if the client accepts one: it can report progress, and
	// pings keep proxies from closing it as idle. Other messages are answered immediately.
	m.streams = streams && (m.method == methodCall || !plain)
	return m.serve()
}

// serve passes the message to the SDK, which writes the response.
func (m *message) serve() (err error) {
	if !m.supported() {
		return m.rejectMethod()
	}
	if m.server, err = m.newServer(); err != nil {
		return err
	}
	switch m.method {
	case methodCancel:
		m.s.cancel(m)
	case methodCall:
		release, err := m.Hold()
		if err != nil {
			return err
		}
		defer release()
	case methodInitialize:
		m.Response().Header().Set(sessionHeader, rand.Text())
	}
	r := m.Request().Clone(context.WithValue(m.Request().Context(), messageKey{}, m))
	body := m.encode()
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Type", api.TypeJSON)
	r.Header.Set("Accept", api.TypeJSON+", "+api.TypeStream)
	r.Header.Del("Last-Event-ID") // streams cannot be resumed
	handler := m.s.plain
	if m.streams {
		handler = m.s.streaming
		m.Response().Header().Set("X-Accel-Buffering", "no") // proxies must not buffer events
	}
	m.response = &responseWriter{ResponseWriter: m.Response()}
	handler.ServeHTTP(m.response, r)
	if m.response.refused {
		m.Response().Header().Del(sessionHeader)
		return flow.Errorf(flow.CodeInvalidJSON, "The body is not a valid request of the Model Context Protocol.")
	}
	return nil
}
