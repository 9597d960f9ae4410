package fairness

import (
	"time"

	"sluice/flow"
)

// DefaultMaxQueued is the limit of queued runs of a workspace that sets none.
const DefaultMaxQueued = 1_000_000

// Retry hints of refused starts.
const (
	queueRetryAfter       = 5 * time.Second
	concurrencyRetryAfter = time.Second
)

// CheckQueueLength returns an error if a queue of n runs is full. A limit
// of 0 means no limit.
func CheckQueueLength(n, limit int64) error {
	if limit == 0 || n < limit {
		return nil
	}
	e := flow.Errorf(flow.CodeQueueFull, "%d runs are waiting already. Try again when some have ended.", n)
	e.Retryable, e.After = true, queueRetryAfter
	return e
}

// CheckConcurrency returns an error if the key has reached its limit of open runs. A
// limit of 0 means no limit.
func CheckConcurrency(k *flow.Key, open int64) error {
	if k.Concurrency <= 0 || open < k.Concurrency {
		return nil
	}
	e := flow.Errorf(flow.CodeConcurrencyLimited, "The key %q may have %d runs at once, and they have not ended yet.", k.Name, k.Concurrency)
	e.Retryable, e.After = true, concurrencyRetryAfter
	return e
}

// CheckFingerprint returns an error if an idempotency key is used again for a
// request that differs from the first one.
func CheckFingerprint(first, repeated string) error {
	if first != repeated {
		return flow.Errorf(flow.CodeIdempotencyMismatch, "This Idempotency-Key was used for another request. Use a new key for a new request.")
	}
	return nil
}
