package providers

import (
	"io"
	"net/http"
	"net/netip"
)

// Wire is the format in which a provider is spoken to.
type Wire string

// The wire formats.
const (
	WireOpenAI    Wire = "openai" // also that of everything compatible
	WireAnthropic Wire = "anthropic"
	WireHost      Wire = "host" // a model-hosting platform; see package hosted
)

// SchemaMode is how a provider is made to answer by a JSON Schema.
type SchemaMode string

// The ways to structured output. In all of them the answer is checked by us.
const (
	SchemaStrict SchemaMode = "strict" // response_format json_schema, or a forced tool
	SchemaJSON   SchemaMode = "json"   // response_format json_object and the schema in the prompt
	SchemaNone   SchemaMode = "none"   // the schema in the prompt alone, one try to repair
)

// SearchMode is how a provider is told that the model may search the web.
type SearchMode string

// The ways to web search.
const (
	SearchResponses SearchMode = "responses" // a tool of OpenAI's Responses API
	SearchTool      SearchMode = "tool"      // a tool that Anthropic runs
	SearchPlugin    SearchMode = "plugin"    // a plugin of OpenRouter
	SearchAlways    SearchMode = "always"    // its models search unasked
)

// Capabilities say what a provider takes; they are looked up, never guessed
// while a run waits.
type Capabilities struct {
	MaxTokens   string     // name of the field: max_tokens or max_completion_tokens
	Schema      SchemaMode // how structured output is asked for
	ImageURLs   bool       // images may be given by URL, not only as data
	StreamUsage bool       // understands stream_options.include_usage
	Search      SearchMode // empty: none
	Models      bool       // lists its models
	Chat        bool
	Embed       bool
	Image       bool // generates images
	ImageEdit   bool
	Speech      bool
	Transcribe  bool
}

// Preset is a provider known by name.
type Preset struct {
	Name    string // as in a model reference: openai/gpt-…
	Title   string // OpenAI
	Wire    Wire
	BaseURL string   // with its version: https://api.openai.com/v1
	Hosts   []string // that its secret may be sent to; of a local server none
	EnvVars []string // where its secret is found without set-up, first that is set
	KeysURL string   // where a person gets a key
	Local   bool     // a server on this machine; needs no secret
	Prices  bool     // says itself what a call cost
	Capabilities
}

// Endpoint is where one call goes and what lets it in.
type Endpoint struct {
	Provider string // preset name, for its wire and capabilities and in messages
	BaseURL  string // empty: the preset's own
	Secret   string // empty: none is sent
	// Trusted marks a base URL that the operator set or that was found on this
	// machine: it may be private (outbound's Provider), and no redirect is
	// followed.
	Trusted bool
}

// Doer makes the HTTP clients that calls go through; *outbound.Client is one
// by way of a small adapter, so that the guard against private addresses, the
// time limits and the body limits hold.
type Doer interface {
	HTTPClient(trusted bool) *http.Client
}

// Client calls providers. It is safe for concurrent use.
type Client struct {
	doer   Doer
	images int64 // bytes that an answer with pictures may have; tests: fewer
}

// NewClient makes a client that calls through doer.
func NewClient(doer Doer) *Client { return &Client{doer: doer, images: maxImageAnswer} }

// Usage is what a call consumed. InputTokens include those of caches, OutputTokens
// those of reasoning.
type Usage struct {
	InputTokens, OutputTokens             int64
	CacheRead, CacheWrite, CacheWriteHour int64 // CacheWrite includes CacheWriteHour
	Reasoning                             int64
	Searches                              int64 // of the web, which cost a fee beside the tokens
	CostNanoUSD                           int64 // in 1e-9 dollars
	CostKnown                             bool  // the provider itself reported CostNanoUSD, which may be zero
}

// Media is a picture or a recording on its way to a model: a URL, or content of
// a known type and length.
type Media struct {
	URL  string
	Name string // file name
	MIME string
	Size int64
	Open func() (io.ReadCloser, error) // may be called more than once
}

// Model is one model of a provider's list.
type Model struct {
	ID    string // without the provider
	Title string
	Owner string
	// Context is the size of the context window in tokens; 0 if it is unknown.
	Context int64
	// Vision, Tools and JSON are set if the provider's list says that the model
	// reads images, calls tools or follows a JSON Schema. False means only that the
	// list does not say so.
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
