package hosted

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/flow/value"
	"sluice/outbound"
	"sluice/providers"
)

const (
	maxWait        = 60 * time.Second // limit of the platform
	minCancelAfter = 5 * time.Second  // limit of the platform
)

// Start creates a prediction. Official models are identified by name, all others by
// version. If the connection breaks before the response, the ID is lost although the
// prediction runs and is billed: providers.Lost reports true for the error. r.Wait extends that
// window to a minute, so callers that must not pay twice leave it 0 and poll.
func (p *Replicate) Start(ctx context.Context, secret string, r StartRequest) (*Prediction, error) {
	input := r.Input
	if input == nil {
		input = map[string]any{}
	}
	ref := r.Ref
	if r.Official {
		ref.Version = ""
	}
	request := map[string]any{"version": ref.String(), "input": input}
	if r.Stream {
		request["stream"] = true
	}
	body, length, err := jsonBody(request)
	if err != nil {
		return nil, err
	}
	wait := min(r.Wait, maxWait)
	c := call{
		method: http.MethodPost, url: p.url("predictions"), body: body, length: length, wait: max(wait, 0),
		header: startHeader(wait, r.CancelAfter), subject: "the model " + ref.String(),
	}
	ctx, sent := outbound.TraceSent(ctx)
	started, err := p.prediction(ctx, secret, c)
	if e, ok := errors.AsType[*providers.Error](err); err != nil && sent() && !(ok && e.Status != 0) { // not refused
		return nil, providers.AsLost(err)
	}
	return started, err
}

// startHeader returns the headers of a new prediction. The platform holds the request
// open for wait, so that quick results need no poll, and cancels the prediction after
// cancelAfter in case Sluice cannot, for instance because it is down.
func startHeader(wait, cancelAfter time.Duration) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	if wait > 0 {
		h.Set("Prefer", "wait="+strconv.Itoa(wholeSeconds(wait)))
	}
	if cancelAfter > 0 {
		h.Set("Cancel-After", strconv.Itoa(wholeSeconds(max(cancelAfter, minCancelAfter)))+"s")
	}
	return h
}

// wholeSeconds returns a duration in seconds, rounded up: the platform accepts only
// whole ones, and half a second must not become 0.
func wholeSeconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// Poll returns a prediction as it is now.
func (p *Replicate) Poll(ctx context.Context, secret, id string) (*Prediction, error) {
	if id == "" {
		return nil, errNoPrediction()
	}
	return p.prediction(ctx, secret, call{
		method: http.MethodGet, url: p.url("predictions", id), subject: "the prediction " + id,
	})
}

// Cancel cancels a prediction. The platform may refuse that for one that has ended, so its
// state decides whether the refusal is an error.
func (p *Replicate) Cancel(ctx context.Context, secret, id string) error {
	if id == "" {
		return errNoPrediction()
	}
	err := p.ask(ctx, secret, call{
		method: http.MethodPost, url: p.url("predictions", id, "cancel"), subject: "the prediction " + id,
	}, nil)
	if e, ok := errors.AsType[*providers.Error](err); ok && e.Class == providers.ClassRejected {
		if now, pollErr := p.Poll(ctx, secret, id); pollErr == nil && now.State.Ended() {
			return nil
		}
	}
	return err
}

// errNoPrediction returns the error for an empty ID. Without this check, the URL would
// be that of the list of predictions.
func errNoPrediction() error {
	return &providers.Error{Class: providers.ClassBadRequest, Message: "The prediction has no ID."}
}

// prediction makes a request and decodes the prediction in the response, which must
// have an ID: without it, it could neither be polled nor canceled.
func (p *Replicate) prediction(ctx context.Context, secret string, c call) (*Prediction, error) {
	var w wirePrediction
	if err := p.ask(ctx, secret, c, &w); err != nil {
		return nil, err
	}
	if w.ID == "" {
		return nil, badAnswer("Replicate answered without the ID of a prediction.")
	}
	return w.prediction(secret)
}

// wirePrediction is a prediction in the JSON of the platform's API.
type wirePrediction struct {
	ID          string
	Status      string
	Output      json.RawMessage
	Error       any
	Logs        any
	DataRemoved bool `json:"data_removed"`
	URLs        struct{ Stream, Web string }
	Metrics     map[string]any
}

// prediction converts it. Logs and errors are written by the model's code, which may
// repeat the secret, so it is redacted and they are cut to one line.
func (w *wirePrediction) prediction(secret string) (*Prediction, error) {
	logs, _ := w.Logs.(string)
	output, err := value.DecodeReceived(w.Output)
	if err != nil {
		return nil, badAnswer("Replicate answered with an output that cannot be read: " + err.Error() + ".")
	}
	return &Prediction{
		ID: w.ID, State: State(w.Status), Output: output,
		Error: oneLine(providers.Redact(errorText(w.Error), secret), 2000), LastLog: oneLine(providers.Redact(lastLine(logs), secret), maxSentence),
		StreamURL: w.URLs.Stream, WebURL: webURL(w.URLs.Web),
		Seconds:     w.metric("predict_time"),
		InputTokens: int64(w.metric("input_token_count")), OutputTokens: int64(w.metric("output_token_count")),
		Purged: w.DataRemoved && output == nil,
	}, nil
}

// metric returns a measurement, or 0 if it is missing, negative or implausibly large:
// costs are computed from it.
func (w *wirePrediction) metric(name string) float64 {
	n, ok := number(w.Metrics[name])
	if !ok || n < 0 || n > 1e15 {
		return 0
	}
	return n
}

// errorText reads the error of a model. The documentation says that it is a text, but in
// practice authors return any JSON.
func errorText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case map[string]any:
		for _, name := range []string{"detail", "message", "error", "title"} {
			if s, ok := v[name].(string); ok {
				return s
			}
		}
	}
	text, _ := json.Marshal(v) // it was decoded from JSON
	return string(text)
}

// lastLine returns the end of the last line of a log that is not blank.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	text = text[strings.LastIndexAny(text, "\r\n")+1:] // progress bars overwrite themselves with \r
	return text[max(0, len(text)-maxSentence):]
}

// webURL returns the URL of a prediction's page if it is on the platform's website, else "".
func webURL(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host != "replicate.com" || len(address) > 200 {
		return ""
	}
	return u.String()
}

// number converts a decoded JSON number of any Go type.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	}
	return 0, false
}
