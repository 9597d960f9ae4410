package flow_test

import (
	"fmt"
	"testing"

	"sluice/flow"
)

// TestIsBusy_excludes_lasting_refusals has an error that another read would get as well: a stream that retried it would never
// end.
func TestIsBusy_excludes_lasting_refusals(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{flow.Errorf(flow.CodeUnavailable, "down"), true},
		{fmt.Errorf("read the run: %w", &flow.Error{Code: flow.CodeOverloaded, Retryable: true}), true},
		{flow.Errorf(flow.CodeOverloaded, "larger than one request may have"), false},
		{flow.Errorf(flow.CodeNotFound, "gone"), false},
	} {
		if got := flow.IsBusy(c.err); got != c.want {
			t.Errorf("%v: got %v, want %v", c.err, got, c.want)
		}
	}
}
