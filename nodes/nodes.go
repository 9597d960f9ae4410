package nodes

import (
	"context"
	"errors"

	"sluice/flow"
	"sluice/outbound"
	"sluice/providers"
	"sluice/providers/builtin"
	"sluice/providers/hosted"
)

// Deps is what kinds need from outside to run. None of it is needed to read
// their declarations.
type Deps struct {
	HTTP      HTTPClient
	Model     Model
	Providers Providers
	Local     LocalServers
	Host      hosted.Host
	Models    HostedModels
	MaxFile   int64 // bytes of the largest file that is kept; 0: 512 MiB
}

// Providers reaches models of other makers; *providers.Client is one. Its
// errors are *providers.Error.
type Providers interface {
	Chat(ctx context.Context, at providers.Endpoint, r providers.ChatRequest, emit func(text string)) (*providers.ChatResult, error)
	Embed(ctx context.Context, at providers.Endpoint, r providers.EmbedRequest) (*providers.EmbedResult, error)
	Image(ctx context.Context, at providers.Endpoint, r providers.ImageRequest) (*providers.ImageResult, error)
	Speech(ctx context.Context, at providers.Endpoint, r providers.SpeechRequest) (*providers.Blob, error)
	Transcribe(ctx context.Context, at providers.Endpoint, r providers.TranscribeRequest) (*providers.TranscribeResult, error)
}

// LocalServers are the model servers found on this machine; *providers.Finder
// is one.
type LocalServers interface {
	Found() []providers.LocalServer
}

// HostedModels describes models of the hosting platform, from the shipped
// catalogue where it can; *hosted.Directory is one.
type HostedModels interface {
	Resolve(ctx context.Context, secret, ref string) (*hosted.Model, error)
}

// HTTPClient sends requests that leave the machine; *outbound.Client is one.
// Its errors are *outbound.Error.
type HTTPClient interface {
	Do(ctx context.Context, req outbound.Request) (*outbound.Response, error)
	Stream(ctx context.Context, req outbound.Request) (*outbound.Stream, error)
}

// Model is the built-in model; *builtin.Model is one.
type Model interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Similarity(ctx context.Context, a, b string) (float64, error)
	Classify(ctx context.Context, text string, labels []builtin.Label) ([]builtin.Score, error)
	Summarize(ctx context.Context, text string, sentences int) (string, error)
	FindAnswer(ctx context.Context, text, question string, passages int) (builtin.Answer, error)
	DetectLanguage(ctx context.Context, text string) ([]builtin.Language, error)
	Sentiment(ctx context.Context, text string) (builtin.Sentiment, error)
}

// declarations is filled while the package is initialised, by the files of the
// kinds.
var declarations []func(Deps) flow.Kind

// register adds a kind. It returns a value only so that a file can call it
// from a package variable.
func register(declare func(Deps) flow.Kind) struct{} {
	declarations = append(declarations, declare)
	return struct{}{}
}

// New makes the registry of all kinds. Without a dependency the kinds that need
// it are declared all the same, and fail when they run.
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
	return flow.NewRegistry(kinds...)
}

// absent stands in for a dependency that was not given.
type absent struct{}

var errAbsent = errors.New("nodes: the registry was made for declarations only")

func (absent) Do(context.Context, outbound.Request) (*outbound.Response, error) {
	return nil, errAbsent
}

func (absent) Stream(context.Context, outbound.Request) (*outbound.Stream, error) {
	return nil, errAbsent
}

func (absent) Embed(context.Context, []string) ([][]float32, error) { return nil, errAbsent }

func (absent) Similarity(context.Context, string, string) (float64, error) { return 0, errAbsent }

func (absent) Classify(context.Context, string, []builtin.Label) ([]builtin.Score, error) {
	return nil, errAbsent
}

func (absent) Summarize(context.Context, string, int) (string, error) { return "", errAbsent }

func (absent) FindAnswer(context.Context, string, string, int) (builtin.Answer, error) {
	return builtin.Answer{}, errAbsent
}

// absentProviders is absent for Providers, whose method Embed is another one.
type absentProviders struct{}

func (absentProviders) Chat(context.Context, providers.Endpoint, providers.ChatRequest, func(string)) (*providers.ChatResult, error) {
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

// noServers stands for a machine on which nobody looked for model servers.
type noServers struct{}

func (noServers) Found() []providers.LocalServer { return nil }

func (absent) DetectLanguage(context.Context, string) ([]builtin.Language, error) {
	return nil, errAbsent
}

func (absent) Sentiment(context.Context, string) (builtin.Sentiment, error) {
	return builtin.Sentiment{}, errAbsent
}
