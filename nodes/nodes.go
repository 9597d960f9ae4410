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
}

// Model is the built-in model; *builtin.Model is one.
type Model interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Similarity(ctx context.Context, a, b string) (float64, error)
	Classify(ctx context.Context, text string, labels []builtin.Label) ([]builtin.Score, error)
	Summarize(ctx context.Context, text string, sentences int) (string, error)
	FindAnswer(ctx context.Context, text, question string, passages int) (builtin.Answer, error)
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

func (absent) Embed(context.Context, []string) ([][]float32, error) { return nil, errAbsent }

func (absent) Similarity(context.Context, string, string) (float64, error) { return 0, errAbsent }

func (absent) Classify(context.Context, string, []builtin.Label) ([]builtin.Score, error) {
	return nil, errAbsent
}

func (absent) Summarize(context.Context, string, int) (string, error) { return "", errAbsent }

func (absent) FindAnswer(context.Context, string, string, int) (builtin.Answer, error) {
	return builtin.Answer{}, errAbsent
}
