// Package mcp serves the Model Context Protocol at POST /mcp: each published
// flow that a key may run is a tool, and a tool call is a run.
//
// It uses the streamable HTTP transport without server-side sessions, so any
// instance can answer any request. The SDK parses and writes JSON-RPC; this
// package decides which tools exist, runs them, and rejects bad input before
// the SDK sees it, because the SDK's own errors name Go types.
//
//   - Server.serve is the route's handler, called by package api after it has
//     checked the key and the rate limit.
//   - message is one JSON-RPC request or notification (message.go).
//   - tools.go lists and names the tools, call.go runs one, progress.go reports
//     its progress, result.go writes its result or error.
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

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/flow"
	"sluice/handlers/api"
)

// Server serves the Model Context Protocol for an API server.
type Server struct {
	api              *api.Server
	streaming, plain *sdk.StreamableHTTPHandler // responses as an event stream, and as JSON
	calls            openCalls
}

// New returns a server and makes it the handler of POST /mcp of the API.
func New(a *api.Server) *Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "sluice", Title: "Sluice", Version: cmp.Or(a.Version, "dev"), WebsiteURL: a.PublicURL}, &sdk.ServerOptions{
		Instructions: "Each tool runs a flow and answers with its outputs by name. A run may take minutes; ask for progress to follow it.",
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
		// The list of tools depends on the key and may change at any time.
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.TTLMs, c.CacheScope = 0, "private" },
	})
	server.AddReceivingMiddleware(handleTools)
	handler := func(plain bool) *sdk.StreamableHTTPHandler {
		return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
			Stateless: true, JSONResponse: plain, MaxRequestBodyBytes: api.MaxBody,
			// This protection rejects requests from a reverse proxy on the same
			// machine. The checks of origin and key replace it.
			DisableLocalhostProtection: true,
		})
	}
	s := &Server{api: a, streaming: handler(false), plain: handler(true)}
	a.MCP = s.serve
	return s
}

// messageKey is the context key of the message of a request.
type messageKey struct{}

// handleTools handles tools/list and tools/call. The SDK would keep one list of
// tools for all clients; here it depends on the key and on what is published.
func handleTools(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		m, _ := ctx.Value(messageKey{}).(*message)
		switch method {
		case methodList:
			p, _ := req.GetParams().(*sdk.ListToolsParams)
			return m.listTools(p)
		case methodCall:
			return m.callTool(ctx, req.(*sdk.CallToolRequest))
		}
		return next(ctx, method, req)
	}
}

// serve is POST /mcp. An error before the protocol begins is an HTTP problem, as
// elsewhere in the API; later ones are JSON-RPC errors or results.
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
	object, _, err := c.ReadObject(false)
	if err != nil {
		return err
	}
	m, err := s.newMessage(c, object)
	if err != nil {
		return err
	}
	// A call is answered by a stream if possible: it can report progress, and
	// proxies do not close it as idle. All else is answered at once.
	m.streams = streams && (m.method == methodCall || !plain)
	return m.serve()
}

// serve passes the message to the SDK.
func (m *message) serve() error {
	if !m.supported() {
		return m.rejectMethod()
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
		m.Response().Header().Set("X-Accel-Buffering", "no") // else proxies collect events
	}
	m.answer = &responseWriter{ResponseWriter: m.Response()}
	handler.ServeHTTP(m.answer, r)
	if m.answer.refused {
		m.Response().Header().Del(sessionHeader)
		return flow.Errorf(flow.CodeInvalidJSON, "The body is not a request of the Model Context Protocol that this server takes.")
	}
	return nil
}
