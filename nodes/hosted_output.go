package nodes

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/url"
	"regexp"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/wording"
	"sluice/flow/worktime"
	"sluice/nodes/pinned"
	"sluice/providers"
	"sluice/providers/hosted"
)

const (
	maxCopies = 500 // files of one output
	copyTries = 3   // attempts per file
)

// interrupted matches the messages and the code (PA) of failures that the platform caused
// and not the model.
var interrupted = regexp.MustCompile(`(?i)interrupted|please (re)?try again|please retry|\bcode: PA\b`)

// finish returns the outputs of a prediction that succeeded, or the reason why
// it did not. After a failure it first deletes the stored ID, so that a retry
// starts a new prediction.
func (s *hostedStep) finish(ctx context.Context, p *hosted.Prediction) (flow.Out, error) {
	var out flow.Out
	if !s.state.counted {
		s.m.charge(&out, providers.Usage{InputTokens: p.InputTokens, OutputTokens: p.OutputTokens}, billed(p.Seconds))
	}
	if failure := s.failure(p); failure != nil {
		if err := s.in.Save(ctx, nil); err != nil {
			return flow.Out{}, err // the next attempt reads the same prediction again
		}
		return out, failure
	}
	c := &copier{host: s.host, secret: s.m.access.Secret, in: s.in, kept: map[string]any{}, pause: s.pace.first, left: 2 * s.maxFile}
	output := hosted.Output{Type: s.state.kind, Joined: s.state.joined}
	if s.pin != nil {
		output = s.pin.Form.Output
	}
	value, err := c.output(ctx, output, p.Output)
	if err != nil {
		return s.recordUsage(ctx, out), s.copyError(ctx, err)
	}
	out.Outputs = map[string]any{"output": value}
	object, _ := flow.AsMap(value)
	for _, property := range output.Properties {
		if v, given := object[property.Name]; given && v != nil && pinned.HasOwnPort(property.Name) {
			out.Outputs[property.Name] = v
		}
	}
	return out, nil
}

// recordUsage returns the usage of a step that could not copy the output. A retry
// continues with the same prediction, so the step first records on disk that
// the usage was counted; if that fails, the retry counts it.
func (s *hostedStep) recordUsage(ctx context.Context, out flow.Out) flow.Out {
	if ctx.Err() != nil && !worktime.Expired(ctx) { // canceled: no retry follows, so nothing is counted twice
		return out
	}
	s.state.counted = true
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), s.pace.grace) // the step may have timed out
	defer stop()
	if s.in.Save(ctx, s.state.value()) != nil {
		return flow.Out{}
	}
	return out
}

// failure returns the reason why a completed prediction has no output, or nil.
func (s *hostedStep) failure(p *hosted.Prediction) *flow.Error {
	about := " Model: " + s.m.ref + ". Prediction: " + cmp.Or(p.WebURL, p.ID) + "."
	switch {
	case p.State == hosted.StateFailed && p.Error == "" && p.LastLog != "":
		return flow.Errorf(flow.CodeProviderRejected, "The model failed and gave no reason. Its log ends with: %s%s", wording.Period(p.LastLog), about)
	case p.State == hosted.StateFailed && p.Error == "":
		return flow.Errorf(flow.CodeProviderRejected, "The model failed and gave no reason.%s", about)
	case p.State == hosted.StateFailed:
		e := flow.Errorf(flow.CodeProviderRejected, "The model failed: %s%s", wording.Period(p.Error), about)
		e.Retryable = interrupted.MatchString(p.Error)
		return e
	case p.State == hosted.StateCanceled:
		return &flow.Error{Code: flow.CodeProviderUnavailable, Retryable: true, Message: "The prediction was canceled on the platform." + about}
	case p.State == hosted.StateAborted:
		return &flow.Error{Code: flow.CodeProviderUnavailable, Retryable: true, Message: "The platform ended the prediction before the model began." + about}
	case p.Purged:
		return flow.Errorf(flow.CodeOutputInvalid, "The output is gone: the platform deletes outputs after an hour.%s", about)
	}
	return nil
}

// copyError converts an error of copying a file. The stored ID of the
// prediction stays, so that a retry can copy the file again.
func (s *hostedStep) copyError(ctx context.Context, err error) error {
	if errors.Is(err, errOutputTooLarge) {
		return flow.Errorf(flow.CodeOutputInvalid, "The files of the output exceed %s in total, twice the limit of one file. Ask the model for fewer or smaller ones, or ask the operator to raise SLUICE_MAX_FILE. Model: %s.",
			flow.Size(2*s.maxFile), s.m.ref)
	}
	var own *flow.Error
	if errors.As(err, &own) && own.Code == flow.CodeBodyTooLarge {
		return flow.Errorf(flow.CodeOutputInvalid, "A file of the output is too large to store. %s", own.Message)
	}
	e, ok := errors.AsType[*providers.Error](err)
	if ok && e.Class == providers.ClassTooLarge {
		return flow.Errorf(flow.CodeOutputInvalid, "A file of the output is larger than the limit of %s. Ask the operator to raise SLUICE_MAX_FILE. Model: %s.", flow.Size(s.maxFile), s.m.ref)
	}
	if ok && e.Class == providers.ClassUnavailable && !e.Retryable { // the file is gone
		e = &providers.Error{Class: providers.ClassBadAnswer, Message: e.Message, RequestID: e.RequestID}
		return s.m.failed(ctx, e)
	}
	return s.m.failed(ctx, err)
}

// copier converts an output to a value of the flow and stores all its files,
// because the platform deletes them after an hour.
type copier struct {
	host   hosted.Host
	secret string
	in     *flow.In
	kept   map[string]any // stored file values by URL
	pause  time.Duration  // before the first retry of a download
	left   int64          // remaining bytes for all files of the output
}

// output converts the whole output.
func (c *copier) output(ctx context.Context, o hosted.Output, v any) (any, error) {
	switch o.Type {
	case hosted.OutputText:
		v = joined(v)
	case hosted.OutputObject:
		return c.object(ctx, o, v)
	}
	return c.value(ctx, o.Type, v)
}

// joined concatenates a list of texts. Anything else is returned unchanged.
func joined(v any) any {
	list, ok := v.([]any)
	var b strings.Builder
	for _, piece := range list {
		text, isText := piece.(string)
		ok = ok && isText
		b.WriteString(text)
	}
	if !ok {
		return v
	}
	return b.String()
}

// object converts an object output, each property by its own type.
func (c *copier) object(ctx context.Context, o hosted.Output, v any) (any, error) {
	object, ok := flow.AsObject(v)
	if !ok {
		return c.value(ctx, hosted.OutputJSON, v)
	}
	kinds := map[string]hosted.OutputType{}
	for _, p := range o.Properties {
		kinds[p.Name] = p.Type
	}
	return object.Replace(func(name string, item any) (any, error) { return c.value(ctx, kinds[name], item) })
}

// value stores the files in a value. In a file output every URL is a file;
// elsewhere only URLs of the platform's delivery host are.
func (c *copier) value(ctx context.Context, kind hosted.OutputType, v any) (out any, err error) {
	switch v := flow.Ordered(v).(type) {
	case string:
		declared := kind == hosted.OutputFile || kind == hosted.OutputFiles
		if delivered(v) || declared && hosted.IsAddress(v) {
			return c.keep(ctx, v)
		}
		return v, nil
	case []any:
		out := make([]any, len(v))
		for i := range v {
			if out[i], err = c.value(ctx, kind, v[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case *flow.Object:
		return v.Replace(func(_ string, item any) (any, error) { return c.value(ctx, kind, item) })
	}
	return v, nil
}

// deliveryHost and its subdomains serve the outputs of models.
const deliveryHost = "replicate.delivery"

// delivered reports whether a text is the URL of a generated file, on the host that the platform
// delivers files from. Other URLs in an output are data.
func delivered(s string) bool {
	if len(s) > 4000 || !strings.HasPrefix(s, "https://") {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && (u.Hostname() == deliveryHost || strings.HasSuffix(u.Hostname(), "."+deliveryHost))
}

// keep stores the file at a URL. A URL that occurs several times is downloaded
// once. Transient failures are retried.
func (c *copier) keep(ctx context.Context, address string) (any, error) {
	if file, ok := c.kept[address]; ok {
		return file, nil
	}
	if len(c.kept) >= maxCopies {
		return nil, flow.Errorf(flow.CodeOutputInvalid, "The output has more than %d files, the limit. Ask the model for fewer.", maxCopies)
	}
	for try := 1; ; try++ {
		file, err := c.fetch(ctx, address)
		if err == nil {
			c.kept[address] = file
			return file, nil
		}
		e, ok := errors.AsType[*providers.Error](err)
		if !ok || !e.Retryable || try == copyTries {
			return nil, err
		}
		if err := (&listener{}).wait(ctx, c.pause); err != nil {
			return nil, err
		}
	}
}

// fetch downloads and stores one file.
func (c *copier) fetch(ctx context.Context, address string) (map[string]any, error) {
	file, err := c.host.Fetch(ctx, c.secret, address)
	if err != nil {
		return nil, err
	}
	defer file.Body.Close() //nolint:errcheck // read only
	body := &source{Reader: file.Body, left: c.left}
	value, err := c.in.SaveFile(ctx, file.Name, "", body)
	if body.err != nil {
		return nil, body.err // the store's error is only a consequence
	}
	if err == nil {
		c.left = body.left
	}
	return value, err
}

// source is a reader with a size limit. It remembers its own error, so that the
// cause is reported and not the store's error about it.
type source struct {
	io.Reader
	left int64
	err  error
}

// errOutputTooLarge reports that all files of an output together are too large.
var errOutputTooLarge = errors.New("the files of the output are too large")

// Read returns errOutputTooLarge once the limit is exceeded.
func (s *source) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if s.left -= int64(n); s.left < 0 {
		n, err = 0, errOutputTooLarge
	}
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}
