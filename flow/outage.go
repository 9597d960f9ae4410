package flow

import (
	"context"
	"errors"
)

// outlastKey is the context key that OutlastOutages sets.
type outlastKey struct{}

// OutlastOutages returns a context whose reads and writes of the store wait
// until an unavailable database is back, instead of failing. Steps of accepted
// runs get one: a restart of the database must not fail them. The wait ends
// with the context.
func OutlastOutages(ctx context.Context) context.Context {
	return context.WithValue(ctx, outlastKey{}, true)
}

// OutlastsOutages reports whether ctx comes from OutlastOutages.
func OutlastsOutages(ctx context.Context) bool {
	outlasts, _ := ctx.Value(outlastKey{}).(bool)
	return outlasts
}

// IsUnavailable reports whether an error says that the database cannot be
// reached at the moment.
func IsUnavailable(err error) bool { return errors.Is(err, &Error{Code: CodeUnavailable}) }
