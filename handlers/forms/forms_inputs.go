package forms

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"sluice/flow"
	"sluice/handlers/web"
)

// inputProblems are all that is wrong with what a visitor gave.
func inputProblems(t *web.Inputs, inputs []flow.Input, given map[string]any, again *flow.Run) []flow.Problem {
	values, problems := flow.CheckInputs(inputs, given, true)
	for i := range inputs {
		in := &inputs[i]
		at := flow.Pointer(in.Name)
		switch {
		case t.TooLarge[in.Name]:
			problems = append([]flow.Problem{{Pointer: at, Code: "large_file"}}, problems...)
		case given[in.Name] == nil:
		case in.Type == flow.TypeJSON && brokenJSON(given[in.Name]) != "":
			problems = append(problems, flow.Problem{Pointer: at, Code: "not_json", Detail: brokenJSON(given[in.Name])})
		case !mayName(t, in, values[in.Name], again):
			problems = append(problems, flow.Problem{Pointer: at, Code: "not_found"})
		}
	}
	return problems
}

// mayName tells whether a visitor may name the files inside a value: those that
// came with the form, those of their run before, and that of the default. Other
// files of the workspace are not for them, even if they know an ID.
func mayName(t *web.Inputs, in *flow.Input, value any, again *flow.Run) bool {
	known := flow.FileIDs(in.Default)
	for _, file := range t.Files {
		known = append(known, flow.FileIDs(file)...)
	}
	if again != nil {
		known = append(known, flow.FileIDs(any(again.Inputs))...)
	}
	return !slices.ContainsFunc(flow.FileIDs(value), func(id string) bool { return !slices.Contains(known, id) })
}

// brokenJSON says what is wrong with a text that is meant to be JSON. Plain
// words are taken as a text without its quotes.
func brokenJSON(v any) string {
	text, _ := v.(string)
	if text = strings.TrimSpace(text); text == "" || !strings.ContainsAny(text[:1], `{["`) {
		return ""
	}
	_, err := flow.DecodeJSON([]byte(text))
	if p, ok := errors.AsType[*flow.ProblemError](err); ok {
		return p.Detail
	}
	if err != nil {
		return "it ends too early or has something too much"
	}
	return ""
}

// senders counts how often an address sends a form, in buckets that fill again
// with time. One that is pushed out starts full.
type senders struct {
	mu      sync.Mutex
	buckets *lru.Cache[string, *rate.Limiter]
}

const maxSenders = 20_000

func newSenders() *senders {
	buckets, err := lru.New[string, *rate.Limiter](maxSenders)
	if err != nil {
		panic("pages: " + err.Error()) // only for a size below one
	}
	return &senders{buckets: buckets}
}

// take counts one more, or tells how long to wait until it may come.
func (s *senders) take(who string, perMinute int64, now time.Time) (wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.buckets.Get(who)
	if !ok || b.Burst() != int(perMinute) {
		b = rate.NewLimiter(rate.Limit(float64(perMinute)/60), int(perMinute))
		s.buckets.Add(who, b)
	}
	if b.AllowN(now, 1) {
		return 0
	}
	return time.Duration((1 - b.TokensAt(now)) / float64(b.Limit()) * float64(time.Second))
}

// wait is how long until this visitor may send the form once more, counted here
// and, while there is room here, over all instances.
func (v *visit) wait(now time.Time) (time.Duration, error) {
	who := v.flow.ID + " " + web.RateLimitKey(v.IP())
	if wait := v.s.senders.take(who, v.form.PerMinute, now); wait > 0 {
		return wait, nil
	}
	all, err := v.s.Store.TakeRate(v.Ctx(), web.AttemptKey("send", who), v.form.PerMinute)
	if err != nil || all == nil {
		return 0, err
	}
	return all.Wait, nil
}

// limited is why the form takes nothing from this visitor now; nil if it does.
func (v *visit) limited() error {
	now := v.s.Now()
	wait, err := v.wait(now)
	if err != nil {
		return err
	}
	if wait > 0 {
		return &formRefusal{http.StatusTooManyRequests, "This was sent too often in a short time. Send it again in " + web.WaitText(wait) + "; what you typed is still here.", wait}
	}
	if v.form.UsedUp(now) {
		return errFormUsedUp
	}
	return nil
}
