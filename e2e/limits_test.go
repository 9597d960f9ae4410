package e2e

import "testing"

// TestKeyLimits checks the limits of a key: requests per minute and open runs.
func TestKeyLimits(t *testing.T) {
	t.Parallel()
	up := newSlowUpstream(t)
	s := newServer(t)
	greet, call := s.publish(greeting()), s.publish(calling(up.URL))

	few := s.client(s.key("--rpm", "3"))
	for range 3 {
		few.want(202, "POST", "/v1/flow/"+greet+"/run", object{"name": "Ada"})
	}
	a := few.rejected(429, "rate_limited", "POST", "/v1/flow/"+greet+"/run", object{"name": "Ada"})
	checkLimitHeaders(t, a)

	one := s.client(s.key("--concurrency", "1"))
	r := one.start(call, object{"n": "1"})
	a = one.rejected(429, "concurrency_limited", "POST", "/v1/flow/"+call+"/run", object{"n": "2"})
	checkLimitHeaders(t, a)
	s.client(s.key()).want(202, "POST", "/v1/flow/"+greet+"/run", object{"name": "Ada"}) // another key is not affected
	up.release()
	one.await(r)
	one.want(202, "POST", "/v1/flow/"+call+"/run", object{"n": "3"})
}

func checkLimitHeaders(t *testing.T, a *response) {
	t.Helper()
	for _, name := range []string{"Retry-After", "RateLimit", "RateLimit-Policy"} {
		if a.header.Get(name) == "" {
			t.Errorf("the refusal has no %s: %v", name, a.header)
		}
	}
}
