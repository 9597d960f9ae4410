package api

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"sluice/flow"
	"sluice/flow/cache"
	"sluice/flow/fairness"
	"sluice/handlers/web"
)

// gate bounds concurrent requests. Requests that wait or stream cost little and are
// counted apart from busy ones, so that they do not block these.
type gate struct {
	busy, held       atomic.Int64
	maxBusy, maxHeld int64
}

// enter counts a busy request, or reports false if there are too many.
func (g *gate) enter() bool {
	if g.busy.Add(1) > g.maxBusy {
		g.busy.Add(-1)
		return false
	}
	return true
}

// leave ends a busy request.
func (g *gate) leave() { g.busy.Add(-1) }

// hold counts a busy request as held until release is called, which must happen before
// leave.
func (g *gate) hold() (release func(), err error) {
	if g.held.Add(1) > g.maxHeld {
		g.held.Add(-1)
		return nil, flow.Errorf(flow.CodeOverloaded, "Too many requests are waiting, streaming or transferring files. Try again in a moment, or send the request without waiting.")
	}
	g.busy.Add(-1)
	return func() { g.busy.Add(1); g.held.Add(-1) }, nil
}

// rates are the token buckets of keys with a rate limit. At most maxRates are kept, the most
// recently used; an evicted bucket starts full again.
type rates struct {
	byKey cache.Cache[string, *rate.Limiter]
}

// maxRates bounds the memory for token buckets, since anyone can send invalid keys from
// many addresses.
const maxRates = 20_000

// newRates returns an empty set of token buckets.
func newRates() *rates {
	return &rates{cache.New[string, *rate.Limiter](maxRates)}
}

// bucket returns the token bucket of a key, updated to its current limit.
func (r *rates) bucket(key *flow.Key) *rate.Limiter {
	per := rate.Limit(float64(key.RPM) / 60)
	b, ok := r.byKey.Get(key.ID)
	if !ok {
		b = rate.NewLimiter(per, int(key.RPM))
		if before, had, _ := r.byKey.PeekOrAdd(key.ID, b); had {
			b = before
		}
	}
	if b.Burst() != int(key.RPM) {
		b.SetLimit(per)
		b.SetBurst(int(key.RPM))
	}
	return b
}

// take takes a token for one request, counting only this process.
func (r *rates) take(key *flow.Key, now time.Time) *fairness.Rate {
	b := r.bucket(key)
	ok := b.AllowN(now, 1)
	left := max(b.TokensAt(now), 0)
	taken := &fairness.Rate{OK: ok, Left: int64(left), Full: time.Duration((float64(key.RPM) - left) / float64(b.Limit()) * float64(time.Second))}
	if !ok {
		taken.Wait = time.Duration((1 - left) / float64(b.Limit()) * float64(time.Second))
	}
	return taken
}

// takeRate counts a request against the per-minute limit of a key. It asks the
// database for the limit over all instances only if the count of this instance
// allows the request, which shields the database from floods.
func (c *Call) takeRate(from *rates, key *flow.Key) *fairness.Rate {
	local := from.take(key, c.s.Now())
	if !local.OK {
		return local
	}
	global, err := c.s.Store.TakeRate(c.Request().Context(), "key:"+key.ID, key.RPM)
	if err != nil {
		c.s.Log.Warn("request counted only by this instance", "key", key.ID, "error", err)
	}
	if global == nil {
		return local
	}
	return global
}

// limitRate counts a request against the rate limits of its key and of the makers of the key.
// The RateLimit headers (draft-ietf-httpapi-ratelimit-headers) show the limit that rejects the
// request, otherwise the first one.
func (c *Call) limitRate() error {
	var shown *flow.Key
	var left *fairness.Rate
	for i := -1; i < len(c.Key.Makers); i++ {
		k := c.Key
		if i >= 0 {
			k = &c.Key.Makers[i]
		}
		if k.RPM <= 0 {
			continue
		}
		if r := c.takeRate(c.s.rates, k); left == nil || !r.OK {
			shown, left = k, r
		}
		if !left.OK {
			break
		}
	}
	if left == nil {
		return nil
	}
	addLimit(c.Response().Header(), fmt.Sprintf(`"requests";q=%d;w=60`, shown.RPM), fmt.Sprintf(`"requests";r=%d;t=%d`, left.Left, int(math.Ceil(left.Full.Seconds()))))
	if left.OK {
		return nil
	}
	who := "This key"
	if shown != c.Key {
		who = fmt.Sprintf("The key %q, with the keys that it made,", shown.Name)
	}
	return &flow.Error{Code: flow.CodeRateLimited, Message: fmt.Sprintf("%s may make %d requests a minute.", who, shown.RPM), Retryable: true, After: left.Wait}
}

// invalidKeysPerMinute is the number of requests with an invalid key that an
// address may send before it gets 429. It is high enough for a misconfigured program to
// see its error, and low enough to slow down guessing.
const invalidKeysPerMinute = 60

// rejectKey counts a request with an invalid key against the limit of its client
// address. It returns err or, beyond the limit, the error for too many requests.
// It is called after the key was looked up, so valid keys from the same address
// always work.
func (c *Call) rejectKey(err error) error {
	if !errors.Is(err, &flow.Error{Code: flow.CodeKeyInvalid}) {
		return err
	}
	address := &flow.Key{ID: "invalid:" + fairness.RateLimitKey(web.RemoteIP(c.Request())), RPM: c.s.invalidKeys}
	r := c.takeRate(c.s.refusals, address)
	if r.OK {
		return err
	}
	return &flow.Error{
		Code: flow.CodeRateLimited, Message: "Too many requests with an invalid key were sent from your IP address. Check the key, then try again.",
		Retryable: true, After: r.Wait,
	}
}

// addLimit adds a limit to the RateLimit headers, which are lists.
func addLimit(h http.Header, policy, limit string) {
	join := func(name, v string) {
		h.Set(name, strings.TrimPrefix(h.Get(name)+", "+v, ", "))
	}
	join("RateLimit-Policy", policy)
	join("RateLimit", limit)
}

// LimitRuns adds the limit that rejected a start to the RateLimit headers. The length of
// the queue is internal, so its quota is shown as 0, which is what is available now.
func (c *Call) LimitRuns(err error) error {
	e := flow.AsError(err)
	after := RetryAfter(e)
	h := c.Response().Header()
	switch e.Code {
	case flow.CodeConcurrencyLimited:
		addLimit(h, fmt.Sprintf(`"runs";q=%d;qu="concurrent-requests"`, c.concurrency()), `"runs";r=0;t=`+web.Seconds(after))
	case flow.CodeQueueFull:
		addLimit(h, `"queue";q=0;qu="concurrent-requests"`, `"queue";r=0;t=`+web.Seconds(after))
	case flow.CodeBudgetExceeded:
		if e.Budget != nil {
			limitDay(h, e.Budget, after)
		}
	}
	return err
}

// concurrency returns the lowest limit of concurrent runs of the key and its makers; 0 means
// unlimited.
func (c *Call) concurrency() int64 {
	least := c.Key.Concurrency
	for i := range c.Key.Makers {
		if n := c.Key.Makers[i].Concurrency; n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// limitDay is LimitRuns for a daily budget. Quotas in headers are integers, so costs are in
// millionths of a dollar.
func limitDay(h http.Header, b *flow.Budget, after time.Duration) {
	policy, name := fmt.Sprintf(`"runs-per-day";q=%d;w=86400`, b.Limit), `"runs-per-day"`
	if b.Unit == flow.BudgetUSD {
		policy, name = fmt.Sprintf(`"usd-per-day";q=%d;qu="micro-usd";w=86400`, flow.NanoUSD(b.Limit).Micros()), `"usd-per-day"`
	}
	addLimit(h, policy, name+`;r=0;t=`+web.Seconds(after))
}
