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
		{"Can't find api.exmaple.com.", false, "Check the URL.", "status"},
		{"api.example.com refused the connection.", true, "retries", "status"},
		{"The certificate of api.example.com has expired or is not valid yet.", false, "the server behind it", "status"},
	} {
		got := advice.For(&flow.Error{Code: flow.CodeHTTPFailed, Message: c.message, Retryable: c.retryable})
		if !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
			t.Errorf("%s: %s", c.message, got)
		}
	}
}

func TestPlain_leaves_codes_and_runs_to_programs(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]*flow.Error{
		"openai/gpt-5-mini is rate limited.":      {Code: flow.CodeProviderRateLimited, Message: "127.0.0.1 asks to slow down: Rate limit reached."},
		"Item 7 failed: The server answered 503.": {Code: flow.CodeChildFailed, Message: "Item 7 failed with http_failed: The server answered 503. See run run_01m8hqm46x4dszy6h2p6mv8d77."},
		"Item 8 failed: The text is empty.":       {Code: flow.CodeChildFailed, Message: "Item 8 failed with input_invalid: The text is empty."},
		"An item was canceled.":                   {Code: flow.CodeChildFailed, Message: "An item was canceled."},
		"The provider refused the key.":           {Code: flow.CodeProviderAuth, Message: "The provider refused the key."},
	} {
		if got := advice.Plain(e, "openai/gpt-5-mini"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
