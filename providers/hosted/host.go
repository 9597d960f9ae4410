package hosted

import (
	"context"
	"io"
	"time"
)

// Host is a model-hosting platform. Its methods authenticate with the given secret. Their
// errors are *providers.Error or the context's error.
type Host interface {
	// Address returns the URL of the platform's API, to which secrets are sent.
	Address() string
	// Account verifies the secret and returns the name of its account.
	Account(ctx context.Context, secret string) (name string, err error)
	// Describe returns a model at a version, or at the newest one if ref has none.
	Describe(ctx context.Context, secret string, ref Ref) (*Model, error)
	// Start creates a prediction and returns when it has an ID. With r.Wait, the platform
	// may delay the response that long in order to return the result.
	Start(ctx context.Context, secret string, r StartRequest) (*Prediction, error)
	// Poll returns a prediction as it is now.
	Poll(ctx context.Context, secret, id string) (*Prediction, error)
	// Stream passes the text output of a prediction to emit, chunk by chunk, until the
	// prediction ends or the stream breaks off. The chunks are only a preview: Poll returns
	// the final output.
	Stream(ctx context.Context, secret, url string, emit func(text string)) error
	// Cancel cancels a prediction. It returns no error for one that has already ended.
	Cancel(ctx context.Context, secret, id string) error
	// PutFile uploads content and returns a URL that predictions can read.
	PutFile(ctx context.Context, secret string, f Upload) (url string, err error)
	// Fetch streams a file that a prediction output. The caller must close Body.
	Fetch(ctx context.Context, secret, url string) (*Download, error)
	// Collections returns the platform's categories, and Collection one with its models.
	Collections(ctx context.Context, secret string) ([]Collection, error)
	Collection(ctx context.Context, secret, slug string) (*Collection, error)
	// Search returns the models that match a query.
	Search(ctx context.Context, secret, query string) ([]Listing, error)
}

// Ref names a model: owner/name or owner/name:version.
type Ref struct{ Owner, Name, Version string }

// Model is a model at one version.
type Model struct {
	Ref
	Title       string
	Description string
	// Official models are run by name, always at their newest version.
	Official bool
	Runs     int64
	// Input and Output are JSON Schemas. All holds them by name, and the schemas that they
	// refer to by #/components/schemas/…. Other schemas of the version describe its HTTP
	// API and are left out, unless there is no Input.
	Input, Output map[string]any
	All           map[string]any
}

// StartRequest describes a prediction to create. Input contains only values that were set.
type StartRequest struct {
	Ref
	Official bool
	Input    map[string]any
	Wait     time.Duration // how long the response may be delayed, 1–60 s; 0: respond at once
	Stream   bool
	// CancelAfter is the time after which the platform cancels the prediction; 0: never.
	CancelAfter time.Duration
}

// State is the state of a prediction.
type State string

// The states of a prediction.
const (
	StateStarting   State = "starting"
	StateProcessing State = "processing"
	StateSucceeded  State = "succeeded"
	StateFailed     State = "failed"
	StateCanceled   State = "canceled"
	StateAborted    State = "aborted"
)

// Ended reports whether the state is final. An unknown state is not final: the step's time
// limit ends the wait.
func (s State) Ended() bool {
	return s == StateSucceeded || s == StateFailed || s == StateCanceled || s == StateAborted
}

// Prediction is one run of a model.
type Prediction struct {
	ID        string
	State     State
	Output    any    // as decoded JSON with json.Number
	Error     string // message of the model's code
	LastLog   string // the last line that the model logged
	StreamURL string // empty if it cannot be streamed
	WebURL    string // the page of the prediction, or empty
	// Seconds is the billed compute time, or 0 if unknown.
	Seconds                   float64
	InputTokens, OutputTokens int64
	// Purged is set if the platform has already deleted the output.
	Purged bool
}

// Upload is a file to send to the platform.
type Upload struct {
	Name, MIME string
	Size       int64
	Open       func() (io.ReadCloser, error) // may be called more than once
}

// Download is a file from the platform.
type Download struct {
	Name, MIME string
	Size       int64 // -1 if unknown
	Body       io.ReadCloser
}

// Listing is a model in a list.
type Listing struct {
	Owner, Name string
	Title       string
	Description string
	Category    string   // slug
	Output      string   // type of its output: text, image, video, audio, file, json
	Tasks       []string // uses in a few words each; only of shipped models
	Official    bool
	Runs        int64
	CoverURL    string
}

// Collection is a category of models.
type Collection struct {
	Slug, Title, Description string
	Models                   []Listing // only set by Collection
}
