package forms

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"sluice/flow"
	"sluice/flow/cache"
	"sluice/flow/contract"
	"sluice/handlers/web"
)

// inputProblems returns all problems of the submitted inputs, so that all fields show
// their errors at once.
func inputProblems(t *web.Inputs, inputs []contract.Input, given *flow.Object, previousRun *flow.Run) []flow.Problem {
	values, problems := contract.Check(inputs, given, true)
	for i := range inputs {
		in := &inputs[i]
		at := flow.Pointer(in.Name)
		switch {
		case t.TooLarge[in.Name]:
			problems = append([]flow.Problem{{Pointer: at, Code: "large_file"}}, problems...)
		case given.Get(in.Name) == nil:
		case in.Type == flow.TypeJSON && jsonError(given.Get(in.Name)) != "":
			problems = append(problems, flow.Problem{Pointer: at, Code: "not_json", Detail: jsonError(given.Get(in.Name))})
		case !mayUseFiles(t, in, values.Get(in.Name), previousRun):
			problems = append(problems, flow.Problem{Pointer: at, Code: "not_found"})
		}
	}
	return problems
}

// mayUseFiles reports whether a visitor may use the files in a value: those
// uploaded with the form, those of the visitor's previous run, and those of the
// default. Other files of the workspace are refused even if the visitor knows their
// ID, because anyone can open the form.
func mayUseFiles(t *web.Inputs, in *contract.Input, value any, previousRun *flow.Run) bool {
	allowed := flow.FileIDs(in.Default)
	for _, file := range t.Files {
		allowed = append(allowed, flow.FileIDs(file)...)
	}
	if previousRun != nil {
		allowed = append(allowed, flow.FileIDs(any(previousRun.Inputs))...)
	}
	return !slices.ContainsFunc(flow.FileIDs(value), func(id string) bool { return !slices.Contains(allowed, id) })
}

// jsonError explains why a text is not valid JSON, or returns "". A text that does
// not begin like an object, a list or a string is accepted as plain text.
func jsonError(v any) string {
	text, _ := v.(string)
	if text = strings.TrimSpace(text); text == "" || !strings.ContainsAny(text[:1], `{["`) {
		return ""
	}
	_, err := flow.DecodeJSON([]byte(text))
	if p, ok := errors.AsType[*flow.ProblemError](err); ok {
		return p.Detail
	}
	if err != nil {
		return "it is cut off or has extra characters"
	}
	return ""
}

// rateLimiters has a token bucket per form and address, which refills at the allowed
// rate. The number of buckets is bounded; an evicted one starts full again. It is
// safe for concurrent use.
type rateLimiters struct {
	mu      sync.Mutex
	buckets cache.Cache[string, *rate.Limiter]
}

// maxRateLimiters bounds the memory of rateLimiters to a few megabytes.
const maxRateLimiters = 20_000

// newRateLimiters returns rate limiters without buckets.
func newRateLimiters() *rateLimiters {
	return &rateLimiters{buckets: cache.New[string, *rate.Limiter](maxRateLimiters)}
}

// take takes a token for a key, or returns the time until the next one is available.
func (s *rateLimiters) take(key string, perMinute int64, now time.Time) (wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.buckets.Get(key)
	if !ok || b.Burst() != int(perMinute) {
		b = rate.NewLimiter(rate.Limit(float64(perMinute)/60), int(perMinute))
		s.buckets.Add(key, b)
	}
	if b.AllowN(now, 1) {
		return 0
	}
	return time.Duration((1 - b.TokensAt(now)) / float64(b.Limit()) * float64(time.Second))
}

// takeRate counts a submission, or returns the time until this visitor may submit the
// form again. It is counted in this process first and then in the database, which all
// instances share; a request that is refused in this process costs no write.
func (v *formCall) takeRate(now time.Time) (time.Duration, error) {
	key := string(v.flow.ID) + " " + web.RateLimitKey(v.IP())
	if wait := v.s.rateLimiters.take(key, v.form.PerMinute, now); wait > 0 {
		return wait, nil
	}
	shared, err := v.s.Store.TakeRate(v.Ctx(), web.AttemptKey("send", key), v.form.PerMinute)
	if err != nil || shared == nil {
		return 0, err
	}
	return shared.Wait, nil
}

// checkLimits returns a formRefusal if this visitor has reached a limit.
func (v *formCall) checkLimits() error {
	now := v.s.Now()
	wait, err := v.takeRate(now)
	if err != nil {
		return err
	}
	if wait > 0 {
		return &formRefusal{http.StatusTooManyRequests, "You sent this form too often. Send it again in " + web.WaitText(wait) + "; what you typed is still here.", wait}
	}
	if v.form.UsedUp(now) {
		return errFormUsedUp
	}
	return nil
}
