package hosted

import (
	"context"
	"io"
	"time"
)

// Host is a model-hosting platform. Every method takes the secret that lets it
// in and fails with *providers.Error, or with the context's error.
type Host interface {
	// Address is the URL of the platform's API: where secrets go.
	Address() string
	// Account tests the secret and says whose it is.
	Account(ctx context.Context, secret string) (name string, err error)
	// Describe returns a model at a version; the newest when ref has none.
	Describe(ctx context.Context, secret string, ref Ref) (*Model, error)
	// Start begins a prediction and returns once the platform has given it an
	// ID. With r.Wait it may hold the answer that long.
	Start(ctx context.Context, secret string, r StartRequest) (*Prediction, error)
	// Poll returns a prediction as it is now.
	Poll(ctx context.Context, secret, id string) (*Prediction, error)
	// Stream passes the text that a prediction puts out to emit, piece by piece,
	// until it is done or the stream breaks off. What it emitted is a preview:
	// the output that counts is the one Poll gives.
	Stream(ctx context.Context, secret, url string, emit func(text string)) error
	// Cancel ends a prediction; one that has ended already is no error.
	Cancel(ctx context.Context, secret, id string) error
	// PutFile uploads content and returns a URL that predictions can read.
	PutFile(ctx context.Context, secret string, f Upload) (url string, err error)
	// Fetch streams a file that a prediction put out. Body must be closed.
	Fetch(ctx context.Context, secret, url string) (*Download, error)
	// Collections lists the platform's own categories; Collection one of them.
	Collections(ctx context.Context, secret string) ([]Collection, error)
	Collection(ctx context.Context, secret, slug string) (*Collection, error)
	// Search finds models by words.
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
	// Input and Output are JSON Schemas. All holds, by name, them and the schemas
	// they refer to by #/components/schemas/…; the rest of the version's belong
	// to its HTTP API. Without an Input, All holds everything there is.
	Input, Output map[string]any
	All           map[string]any
}

// StartRequest is a prediction to begin. Input has only what was set.
type StartRequest struct {
	Ref
	Official bool
	Input    map[string]any
	Wait     time.Duration // hold the answer up to this long, 1–60 s; 0: answer at once
	Stream   bool
	// CancelAfter is when the platform cancels the prediction on its own; 0: never.
	CancelAfter time.Duration
}

// State is where a prediction stands.
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

// Ended reports whether the state is final. A state nobody knows counts as open:
// the step's own time limit ends the wait.
func (s State) Ended() bool {
	return s == StateSucceeded || s == StateFailed || s == StateCanceled || s == StateAborted
}

// Prediction is one use of a model.
type Prediction struct {
	ID        string
	State     State
	Output    any    // as decoded JSON with json.Number
	Error     string // the model's own sentence
	LastLog   string // the last line that the model logged
	StreamURL string // empty: it cannot be streamed
	WebURL    string // where a person can look at it; empty: nowhere
	// Seconds is the compute time that is paid for; zero when unknown.
	Seconds                   float64
	InputTokens, OutputTokens int64
	// Purged reports that the platform has removed the output already.
	Purged bool
}

// Upload is a file on its way to the platform.
type Upload struct {
	Name, MIME string
	Size       int64
	Open       func() (io.ReadCloser, error) // may be called more than once
}

// Download is a file on its way back.
type Download struct {
	Name, MIME string
	Size       int64 // -1 when unknown
	Body       io.ReadCloser
}

// Listing is a model as a list shows it.
type Listing struct {
	Owner, Name string
	Title       string
	Description string
	Category    string   // slug
	Output      string   // what it puts out: text, image, video, audio, file, json
	Tasks       []string // what it is for, in a few words; only of shipped models
	Official    bool
	Runs        int64
	CoverURL    string
}

// Collection is a category of models.
type Collection struct {
	Slug, Title, Description string
	Models                   []Listing // of Collection only
}
