package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/flow"
)

// agents is the side that speaks the Model Context Protocol: streamable HTTP
// without state, so that any instance can answer any request.
type agents struct {
	streamed, whole *mcp.StreamableHTTPHandler // answers as an event stream, and as JSON
	calls           openCalls
}

func (s *Server) newAgents() *agents {
	server := mcp.NewServer(&mcp.Implementation{Name: "sluice", Title: "Sluice", Version: cmp.Or(s.Version, "dev"), WebsiteURL: s.PublicURL}, &mcp.ServerOptions{
		Instructions: "Each tool runs a flow and answers with its outputs by name. A run may take minutes; ask for progress to follow it.",
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		// What there is depends on the key, and may change at any time.
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs, c.CacheScope = 0, "private" },
	})
	server.AddReceivingMiddleware(answerTools)
	handler := func(whole bool) *mcp.StreamableHTTPHandler {
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
			Stateless: true, JSONResponse: whole, MaxRequestBodyBytes: maxBody,
			// It refuses what a proxy on this machine passes on. Origin and key,
			// which are checked before it is asked, do what it is for.
			DisableLocalhostProtection: true,
		})
	}
	return &agents{streamed: handler(false), whole: handler(true)}
}

// messageKey is where the context of a request carries its message.
type messageKey struct{}

// answerTools answers what is asked of tools. The SDK keeps one list of tools
// for everybody; here it depends on the key, and on what is published now.
func answerTools(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		m, _ := ctx.Value(messageKey{}).(*message)
		switch method {
		case methodList:
			p, _ := req.GetParams().(*mcp.ListToolsParams)
			return m.listTools(p)
		case methodCall:
			return m.callTool(ctx, req.(*mcp.CallToolRequest))
		}
		return next(ctx, method, req)
	}
}

// serveMCP is POST /mcp. What is wrong before the protocol begins is a problem
// like everywhere; what is wrong within it, the protocol has answers for.
func (s *Server) serveMCP(c *call) error {
	h := c.Request().Header
	if err := s.checkOrigin(h); err != nil {
		return err
	}
	streams, whole := chooseType(h.Values("Accept"), []string{typeStream}) != "", chooseType(h.Values("Accept"), []string{typeJSON}) != ""
	if _, err := c.wants(typeJSON, typeStream); err != nil {
		return err
	}
	if err := checkProtocol(h); err != nil {
		return err
	}
	object, _, err := c.readObject(false)
	if err != nil {
		return err
	}
	m, err := c.newMessage(object)
	if err != nil {
		return err
	}
	// A call streams, so that it can tell of progress and keep proxies from
	// hanging up; everything else is answered at once.
	m.streams = streams && (m.method == methodCall || !whole)
	return m.serve()
}

// serve hands the message to the SDK.
func (m *message) serve() error {
	if !m.served() {
		return m.notServed()
	}
	switch m.method {
	case methodCancel:
		m.s.agents.cancel(m)
	case methodCall:
		release, err := m.s.gate.hold()
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
	r.Header.Set("Content-Type", typeJSON)
	r.Header.Set("Accept", typeJSON+", "+typeStream)
	r.Header.Del("Last-Event-ID") // no stream can be gone on with
	sdk := m.s.agents.whole
	if m.streams {
		sdk = m.s.agents.streamed
		m.Response().Header().Set("X-Accel-Buffering", "no") // proxies that would gather events
	}
	m.answer = &agentAnswer{ResponseWriter: m.Response()}
	sdk.ServeHTTP(m.answer, r)
	if m.answer.refused {
		m.Response().Header().Del(sessionHeader)
		return flow.Errorf(flow.CodeInvalidJSON, "The body is not a request of the Model Context Protocol that this server takes.")
	}
	return nil
}
