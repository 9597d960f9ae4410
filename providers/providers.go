package providers

import (
	"io"
	"net/http"
	"net/netip"
	"time"
)

// Wire is the wire format of a provider.
type Wire string

// The wire formats.
const (
	WireOpenAI    Wire = "openai" // and all compatible servers
	WireAnthropic Wire = "anthropic"
	WireHost      Wire = "host" // a model-hosting platform; see package hosted
	WireTools     Wire = "mcp"  // a server of tools
)

// SchemaMode is how a provider supports structured output.
type SchemaMode string

// The modes of structured output. The answer is validated in all of them.
const (
	SchemaStrict SchemaMode = "strict" // response_format json_schema, or a forced tool
	SchemaJSON   SchemaMode = "json"   // response_format json_object and the schema in the prompt
	SchemaNone   SchemaMode = "none"   // only the schema in the prompt, and one correction
)

// SearchMode is how web search is enabled for a model.
type SearchMode string

// The modes of web search.
const (
	SearchResponses SearchMode = "responses" // a tool of OpenAI's Responses API
	SearchTool      SearchMode = "tool"      // a tool that Anthropic runs
	SearchPlugin    SearchMode = "plugin"    // a plugin of OpenRouter
	SearchAlways    SearchMode = "always"    // its models always search
)

// Capabilities are the features that a provider supports according to its documentation.
type Capabilities struct {
	MaxTokens   string     // name of the field: max_tokens or max_completion_tokens
	Schema      SchemaMode // mode of structured output
	ImageURLs   bool       // images may be given by URL, not only as data
	StreamUsage bool       // supports stream_options.include_usage
	Search      SearchMode // empty: not supported
	Responses   bool       // has OpenAI's Responses API, which Turn then uses
	// FormatWithTools is set if the format of the answer and tools can be used together.
	FormatWithTools bool
	Models          bool // lists its models
	Chat            bool
	Embed           bool
	Image           bool // generates images
	ImageEdit       bool
	Speech          bool
	Transcribe      bool
}

// Preset is a known provider.
type Preset struct {
	Name    string // as in a model reference: openai/gpt-…
	Title   string // OpenAI
	Wire    Wire
	BaseURL string   // with its version: https://api.openai.com/v1
	Hosts   []string // hosts that its secret may be sent to; none for a local server
	EnvVars []string // environment variables with its secret; the first that is set is used
	KeysURL string   // page for creating a key
	Local   bool     // a server on this machine; needs no secret
	Prices  bool     // reports the cost of a call
	Capabilities
}

// Endpoint is the target of a call and its secret.
type Endpoint struct {
	Provider string // preset name; determines the wire format and capabilities
	BaseURL  string // empty: the preset's own
	Secret   string // empty: none is sent
	// Trusted marks a base URL that the operator set or that was found on this
	// machine: it may be private (outbound.Request.Provider), and no redirects are
	// followed.
	Trusted bool
}

// Doer provides the HTTP clients for calls. Guarded adapts *outbound.Client, so that its
// guard against private addresses, time limits and body limits apply.
type Doer interface {
	HTTPClient(trusted bool) *http.Client
}

// Client calls providers. It is safe for concurrent use.
type Client struct {
	doer   Doer
	images int64 // limit of a response with images in bytes; tests: lower
	habits *habits
	// How long a stream may stay open after the answer; see events. Tests: shorter.
	lingerUsage, lingerEnd time.Duration
}

// NewClient returns a client that sends its calls through doer.
func NewClient(doer Doer) *Client {
	return &Client{doer: doer, images: maxImageAnswer, habits: newHabits(), lingerUsage: lingerUsage, lingerEnd: lingerEnd}
}

// Usage is what a call consumed. InputTokens include those of caches, OutputTokens
// those of reasoning.
type Usage struct {
	InputTokens, OutputTokens             int64
	CacheRead, CacheWrite, CacheWriteHour int64 // CacheWrite includes CacheWriteHour
	Reasoning                             int64
	Searches                              int64 // web searches, which cost a fee in addition to the tokens
	CostNanoUSD                           int64 // in 1e-9 dollars
	CostKnown                             bool  // the provider itself reported CostNanoUSD, which may be zero
	// Incomplete means that a call did not report what it consumed in the end, so that the
	// counts are too low.
	Incomplete bool
	// Tier is the tier of service that the provider applied, such as flex; "" if it
	// reported none. Prices depend on it.
	Tier string
}

// Media is an image or a recording for a model: a URL, or content of a known type and
// length.
type Media struct {
	URL  string
	Name string // file name
	MIME string
	Size int64
	Open func() (io.ReadCloser, error) `json:"-"` // may be called more than once
}

// Model is an entry of a provider's list of models.
type Model struct {
	ID    string // without the provider
	Title string
	Owner string
	// Context is the size of the context window in tokens; 0 if it is unknown.
	Context int64
	// Created is when the model was published, in seconds since 1970; 0 if it is unknown.
	Created int64
	// Vision, Tools and JSON are set if the provider's list or the documentation of the
	// model's family says that it reads images, calls tools or follows a JSON Schema. False
	// means only that they do not say so.
	Vision, Tools, JSON bool
	// Price is nil if it is unknown.
	Price *ModelPrice
}

// ModelPrice is a list price per million tokens, in 1e-9 dollars.
type ModelPrice struct {
	InputNanoUSD, OutputNanoUSD int64
	// AsOf is the day of the shipped snapshot that the price is from; "" if it is from
	// the provider's own list.
	AsOf string
}

// LocalServer is a model server that was found on this machine.
type LocalServer struct {
	Preset  Preset
	BaseURL string
	Addr    netip.AddrPort
	Models  []Model
}
