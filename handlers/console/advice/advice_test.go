package advice_test

import (
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/console/advice"
)

func TestAdvice(t *testing.T) {
	t.Parallel()
	for _, code := range []flow.Code{
		flow.CodeProviderAuth, flow.CodeProviderRateLimited, flow.CodeProviderRejected, flow.CodeProviderUnavailable, flow.CodeModelNotFound,
		flow.CodeModelIncompatible, flow.CodeOutputInvalid, flow.CodeStepTimeout, flow.CodeRunTimeout, flow.CodeInputInvalid, flow.CodeExpressionFailed,
		flow.CodeCodeFailed, flow.CodeDestinationBlocked, flow.CodeHTTPFailed, flow.CodeBudgetExceeded, flow.CodePoisoned, flow.CodeInternal,
	} {
		if advice.For(&flow.Error{Code: code}) == "" {
			t.Errorf("there is no advice for %s", code)
		}
	}
}

func TestAdvice_depends_on_response(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		message   string
		retryable bool
		want, not string
	}{
		{"api.example.com answered 404 Not Found: no such ticket", false, "status", "spelling"},
		{"api.example.com answered 503 and no text.", true, "retries", "spelling"},
		{"There is no host named api.exmaple.com.", false, "spelling of the host", "status"},
		{"api.example.com refused the connection.", true, "retries", "status"},
		{"The certificate of api.example.com has expired or is not valid yet.", false, "the server behind it", "status"},
	} {
		got := advice.For(&flow.Error{Code: flow.CodeHTTPFailed, Message: c.message, Retryable: c.retryable})
		if !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
			t.Errorf("%s: %s", c.message, got)
		}
	}
}
