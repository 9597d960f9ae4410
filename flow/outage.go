package flow

import (
	"context"
	"errors"
	"time"
)

// outlastKey is the context key that OutlastOutages sets.
type outlastKey struct{}

// OutlastOutages returns a context with which reads and writes of the store wait for an
// unavailable database instead of failing. Steps of accepted runs use it, because a restart of
// the database must not fail them. The wait ends with the context.
func OutlastOutages(ctx context.Context) context.Context {
	return context.WithValue(ctx, outlastKey{}, true)
}

// OutlastsOutages reports whether ctx comes from OutlastOutages.
func OutlastsOutages(ctx context.Context) bool {
	outlasts, _ := ctx.Value(outlastKey{}).(bool)
	return outlasts
}

// IsUnavailable reports whether an error means that the database is unavailable.
func IsUnavailable(err error) bool { return errors.Is(err, &Error{Code: CodeUnavailable}) }

// ErrMemoryBusy is returned to a request for which no memory became free in time.
var ErrMemoryBusy = &Error{
	Code: CodeOverloaded, Retryable: true, After: 5 * time.Second,
	Message: "Other requests and runs need the memory of the server at the moment. Try again in a few seconds.",
}

// IsBusy reports whether a read failed because the database is unavailable, or because others need
// the memory or the lock that it takes. A stream reads again later.
func IsBusy(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return IsUnavailable(err) || ok && e.Code == CodeOverloaded && e.Retryable
}
