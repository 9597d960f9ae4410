package advice_test

import (
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
		if advice.Of[code] == "" {
			t.Errorf("there is no advice for %s", code)
		}
	}
}
