package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/flow"
	"sluice/flow/cache"
	"sluice/flow/wording"
	"sluice/outbound"
)

// Limits of servers.
const (
	// MaxAnswer is the largest answer to a request in bytes, and the largest event of a stream.
	MaxAnswer = 10 << 20
	// maxStream is the largest stream of events in bytes: an answer, and messages about its progress.
	maxStream = 2 * MaxAnswer
	// connectTimeout bounds the requests that begin a session.
	connectTimeout = 30 * time.Second
	// listTimeout bounds all pages of a list of tools.
	listTimeout = 60 * time.Second
	// maxPages is the number of pages of a list of tools.
	maxPages = 100
	// maxList is the size of all pages of a list of tools in bytes.
	maxList = 4 << 20
	// longestCall bounds a call whose step has no time limit.
	longestCall = time.Hour
)

// KnownFor is how long the tools of a server are taken as they were listed.
const KnownFor = 5 * time.Minute

// maxKnown is the number of servers whose tools are remembered.
const maxKnown = 256

// Server is where a server is, and how it is called.
type Server struct {
	Name string // of its credential, for messages
	URL  string
	// Secret is a token, a whole header such as "X-API-Key: abc", or a Grant as JSON. Empty: none is sent.
	Secret string
	// Sends is called with each text that is sent as a secret, to remove it from results; nil for none.
	Sends func(text string)
	// Trusted allows a private address, which the operator entered.
	Trusted bool
	// Update changes the secret of the credential in one synced write; change gets the stored one. Nil if the secret never changes.
	Update func(ctx context.Context, change func(secret string) (string, error)) error
}

// key identifies the server and the account.
func (s *Server) key() string {
	secret := s.Secret
	if n := ReadConnection(secret); n != nil { // its tokens change
		secret = "oauth " + n.Issuer + " " + n.Client.ID + " " + n.By + " " + n.At.String()
	}
	sum := sha256.Sum256([]byte(s.Name + "\x00" + s.URL + "\x00" + secret))
	return hex.EncodeToString(sum[:])
}

// header returns the header with the secret.
func (s *Server) header() (name, value string) {
	if name, value, found := strings.Cut(s.Secret, ":"); found && isHeaderName(name) {
		return name, strings.TrimSpace(value)
	}
	if scheme, _, found := strings.Cut(s.Secret, " "); found && (strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "Basic")) {
		return "Authorization", s.Secret
	}
	return "Authorization", "Bearer " + s.Secret
}

// isHeaderName reports whether a text before a colon is the name of a header and not the beginning of
// a token.
func isHeaderName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// Client calls servers. It is safe for concurrent use.
type Client struct {
	http    *outbound.Client
	version string // of Sluice
	now     func() time.Time

	mu     sync.Mutex
	known  cache.Cache[string, *listing]
	tokens tokens
}

// listing is the tools of a server as they were listed.
type listing struct {
	tools []Tool
	at    time.Time
}

// New returns a client that sends its requests through http, which guards private addresses.
func New(http *outbound.Client, version string) *Client {
	return &Client{http: http, version: version, now: time.Now, known: cache.New[string, *listing](maxKnown)}
}

// Open begins a session with a server. The caller must close it.
func (c *Client) Open(ctx context.Context, server Server) (*Session, error) {
	if _, err := outbound.ParseURL(server.URL); err != nil {
		return nil, &Error{Class: ClassRefused, Message: err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	h := c.http.HTTPClient(outbound.ClientOptions{Provider: server.Trusted, FirstByteTimeout: longestCall, MaxBody: maxStream})
	server.Secret = plainSecret(server.Secret)
	t := &transport{base: h.Transport, server: server, client: c, connected: ReadConnection(server.Secret) != nil}
	if !t.connected {
		var err error
		if t.grant, err = ReadGrant(server.Secret); err != nil {
			return nil, err
		}
	}
	h.Transport = t
	client := sdk.NewClient(&sdk.Implementation{Name: "sluice", Title: "Sluice", Version: c.version}, &sdk.ClientOptions{
		Capabilities:   &sdk.ClientCapabilities{},                  // no roots, no sampling, no questions
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true}, // answered to the model as an error
	})
	ctx, x := watch(ctx)
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{
		Endpoint: server.URL, HTTPClient: h, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: MaxAnswer,
	}, nil)
	if err != nil {
		return nil, unsent(x.failure(ctx, server, err))
	}
	return &Session{client: c, server: server, session: session}, nil
}

// Session is a session with a server. It is safe for concurrent use.
type Session struct {
	client  *Client
	server  Server
	session *sdk.ClientSession
	closing sync.Once
	listing sync.Mutex // so that calls at the same time list the tools once
}

// Close ends the session at the server.
func (s *Session) Close() (err error) {
	s.closing.Do(func() { err = s.session.Close() })
	return err
}

// Title returns the name by which the server introduces itself, or "".
func (s *Session) Title() string {
	r := s.session.InitializeResult()
	if r == nil || r.ServerInfo == nil {
		return ""
	}
	if r.ServerInfo.Title != "" {
		return wording.Truncate(wording.OneLine(r.ServerInfo.Title), 80)
	}
	return wording.Truncate(wording.OneLine(r.ServerInfo.Name), 80)
}

// Known returns the tools of the server as they were listed in the last KnownFor, and lists them otherwise.
func (s *Session) Known(ctx context.Context) ([]Tool, error) {
	s.listing.Lock()
	defer s.listing.Unlock()
	s.client.mu.Lock()
	found, ok := s.client.known.Get(s.server.key())
	s.client.mu.Unlock()
	if ok && s.client.now().Sub(found.at) < KnownFor {
		return found.tools, nil
	}
	return s.Tools(ctx)
}

// Forget forgets the tools of all servers, so that they are listed again.
func (c *Client) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known.Purge()
}

// Tools lists the tools of the server.
func (s *Session) Tools(ctx context.Context) ([]Tool, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list, err := s.list(ctx)
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	if err != nil {
		s.client.known.Remove(s.server.key())
		return nil, err
	}
	s.client.known.Add(s.server.key(), &listing{list, s.client.now()})
	return list, nil
}

// list reads all pages of the list of tools.
func (s *Session) list(ctx context.Context) (list []Tool, err error) {
	seen, cursor, size := map[string]bool{}, "", 0
	for range maxPages {
		ctx, x := watch(ctx)
		x.keep = true
		_, failed := s.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		page, read, err := x.result(ctx, s.server, failed)
		if err != nil {
			return nil, unsent(err)
		}
		if size += read; size > maxList {
			return nil, refused(s.server, "lists more than %s of tools", flow.Size(maxList))
		}
		items, _ := page.Get("tools").([]any)
		for _, item := range items {
			t := newTool(item)
			if t.Name == "" || seen[t.Name] {
				continue // it could not be called, or not told apart
			}
			seen[t.Name] = true
			if list = append(list, t); len(list) > flow.MaxServerTools {
				return nil, refused(s.server, "lists more than %d tools", flow.MaxServerTools)
			}
		}
		if cursor, _ = page.Get("nextCursor").(string); cursor == "" {
			return list, nil
		}
	}
	return nil, refused(s.server, "lists its tools on more than %d pages", maxPages)
}

// IdempotencyKey is the member of "_meta" with a key that is equal in all attempts of a call.
const IdempotencyKey = "sluice/idempotency-key"

// Call calls a tool. It sends the call at most once: see Error.Sent.
func (s *Session) Call(ctx context.Context, name string, arguments *flow.Object, key string) (*Result, error) {
	ctx, x := watch(ctx)
	x.keep = true
	_, failed := s.session.CallTool(ctx, &sdk.CallToolParams{Meta: sdk.Meta{IdempotencyKey: key}, Name: name, Arguments: arguments})
	o, _, err := x.result(ctx, s.server, failed)
	if err != nil {
		return nil, err
	}
	return newResult(s.server, o)
}

// unsent returns an error of a request that changes nothing at the server.
func unsent(e *Error) *Error {
	e.Sent = false
	return e
}

// statusSentence says what a status means.
func (s *Server) statusSentence(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return s.Name + " refuses the credential (status " + statusText(status) + "). Enter its secret again under Credentials."
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return "There is no MCP server at the address of " + s.Name + " (status " + statusText(status) + "). Check its URL under Credentials; most end with /mcp."
	}
	return s.Name + " answered with the status " + statusText(status) + "."
}
