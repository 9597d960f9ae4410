package nodes

import (
	"context"
	"errors"
	"sync"

	"sluice/flow"
	"sluice/nodes/bases"
	"sluice/nodes/expression"
	"sluice/nodes/servertools"
	"sluice/nodes/tests"
	"sluice/outbound"
	"sluice/providers"
	"sluice/providers/builtin"
	"sluice/providers/hosted"
)

// Deps are the services that kinds need to run. Declaring kinds requires none of them.
type Deps struct {
	HTTP        HTTPClient
	Documents   Documents
	Code        CodeRunner
	CodeOff     bool // the operator turned code off
	Model       Model
	Providers   Providers
	Local       LocalServers
	Host        hosted.Host
	Models      HostedModels
	ToolServers servertools.Servers
	Knowledge   bases.Store
	Tests       tests.Store
	MaxFile     int64 // maximum size of a stored file in bytes; 0: 512 MiB

	// kept holds files by the URLs that images were downloaded from, for the turns of one agent: each downloads them
	// once, and sends the same. Otherwise nil.
	kept *sync.Map
}

// Providers calls AI models; *providers.Client implements it, tests use a fake.
// Errors are *providers.Error.
type Providers interface {
	Chat(ctx context.Context, at providers.Endpoint, r providers.ChatRequest, emit func(text string)) (*providers.ChatResult, error)
	Turn(ctx context.Context, at providers.Endpoint, r providers.TurnRequest, emit func(text string)) (*providers.TurnResult, error)
	Embed(ctx context.Context, at providers.Endpoint, r providers.EmbedRequest) (*providers.EmbedResult, error)
	Image(ctx context.Context, at providers.Endpoint, r providers.ImageRequest) (*providers.ImageResult, error)
	Speech(ctx context.Context, at providers.Endpoint, r providers.SpeechRequest) (*providers.Blob, error)
	Transcribe(ctx context.Context, at providers.Endpoint, r providers.TranscribeRequest) (*providers.TranscribeResult, error)
}

// LocalServers returns the model servers found on this machine;
// *providers.Finder implements it.
type LocalServers interface {
	Found() []providers.LocalServer
}

// HostedModels describes models of the hosting platform, from the shipped
// catalog if possible; *hosted.Directory implements it.
type HostedModels interface {
	Resolve(ctx context.Context, secret, ref string) (*hosted.Model, error)
}

// HTTPClient sends outgoing requests; *outbound.Client implements it. Errors
// are *outbound.Error.
type HTTPClient interface {
	Do(ctx context.Context, req outbound.Request) (*outbound.Response, error)
	Stream(ctx context.Context, req outbound.Request) (*outbound.Stream, error)
}

// Model is the built-in model; *builtin.Model implements it.
type Model interface {
	Embed(ctx context.Context, group string, texts []string) ([][]float32, error)
	Similarity(ctx context.Context, group, a, b string) (float64, error)
	Classify(ctx context.Context, group, text string, labels []builtin.Label) ([]builtin.Score, error)
	Summarize(ctx context.Context, group, text string, sentences int) (string, error)
	FindAnswer(ctx context.Context, group, text, question string, passages int) (builtin.Answer, error)
	DetectLanguage(ctx context.Context, text string) ([]builtin.Language, error)
	Sentiment(ctx context.Context, text string) (builtin.Sentiment, error)
}

// declarations holds the kinds. Package variables in the files of the kinds append to it, so
// that adding a kind changes no other file.
var declarations []func(Deps) flow.Kind

// register adds a kind. It returns a value so that it can initialize a package variable.
func register(declare func(Deps) flow.Kind) struct{} {
	declarations = append(declarations, declare)
	return struct{}{}
}

// New returns the registry of all kinds. Kinds whose dependencies are missing
// are declared too, and fail when they run.
func New(d Deps) *flow.Registry {
	if d.HTTP == nil {
		d.HTTP = absent{}
	}
	if d.Model == nil {
		d.Model = absent{}
	}
	if d.Providers == nil {
		d.Providers = absentProviders{}
	}
	if d.Local == nil {
		d.Local = noServers{}
	}
	kinds := make([]flow.Kind, len(declarations))
	for i, declare := range declarations {
		kinds[i] = declare(d)
	}
	r := flow.NewRegistry(kinds...)
	r.CheckCondition = expression.CheckCondition
	return r
}

// absent replaces dependencies that were not given.
type absent struct{}

// errAbsent is returned by all dependencies of a registry that was made without any. Such a
// registry describes kinds, for docs and validation, and runs no steps.
var errAbsent = errors.New("nodes: the registry was made for declarations only")

// Do returns errAbsent, like all methods of absent.
func (absent) Do(context.Context, outbound.Request) (*outbound.Response, error) {
	return nil, errAbsent
}

func (absent) Stream(context.Context, outbound.Request) (*outbound.Stream, error) {
	return nil, errAbsent
}

func (absent) Embed(context.Context, string, []string) ([][]float32, error) { return nil, errAbsent }

func (absent) Similarity(context.Context, string, string, string) (float64, error) {
	return 0, errAbsent
}

func (absent) Classify(context.Context, string, string, []builtin.Label) ([]builtin.Score, error) {
	return nil, errAbsent
}

func (absent) Summarize(context.Context, string, string, int) (string, error) { return "", errAbsent }

func (absent) FindAnswer(context.Context, string, string, string, int) (builtin.Answer, error) {
	return builtin.Answer{}, errAbsent
}

// absentProviders replaces Providers; it is a type of its own because Model has
// another method Embed.
type absentProviders struct{}

// Chat returns errAbsent, like all methods of absentProviders.
func (absentProviders) Chat(context.Context, providers.Endpoint, providers.ChatRequest, func(string)) (*providers.ChatResult, error) {
	return nil, errAbsent
}

func (absentProviders) Turn(context.Context, providers.Endpoint, providers.TurnRequest, func(string)) (*providers.TurnResult, error) {
	return nil, errAbsent
}

func (absentProviders) Embed(context.Context, providers.Endpoint, providers.EmbedRequest) (*providers.EmbedResult, error) {
	return nil, errAbsent
}

func (absentProviders) Image(context.Context, providers.Endpoint, providers.ImageRequest) (*providers.ImageResult, error) {
	return nil, errAbsent
}

func (absentProviders) Speech(context.Context, providers.Endpoint, providers.SpeechRequest) (*providers.Blob, error) {
	return nil, errAbsent
}

func (absentProviders) Transcribe(context.Context, providers.Endpoint, providers.TranscribeRequest) (*providers.TranscribeResult, error) {
	return nil, errAbsent
}

// noServers replaces LocalServers.
type noServers struct{}

// Found returns nothing: declarations must not depend on the machine.
func (noServers) Found() []providers.LocalServer { return nil }

func (absent) DetectLanguage(context.Context, string) ([]builtin.Language, error) {
	return nil, errAbsent
}

func (absent) Sentiment(context.Context, string) (builtin.Sentiment, error) {
	return builtin.Sentiment{}, errAbsent
}

// fromOutside is flow.Kind.Untrusted of kinds whose outputs others have written.
func fromOutside(*flow.Node) bool { return true }

// searches reports whether a model searches the web.
func searches(n *flow.Node) bool { return n.Config["web_search"] == true }
