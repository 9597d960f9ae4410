package console

import "testing"

// The count of a search agrees with its noun and its verb.
func TestRunsPage_looked(t *testing.T) {
	t.Parallel()
	for looked, want := range map[int]string{0: "0 of 0 runs match.", 1: "0 of 1 run matches.", 2: "0 of 2 runs match."} {
		if got := (RunsPage{Looked: looked}).looked(); got != want {
			t.Errorf("%d runs searched: got %q, wanted %q", looked, got, want)
		}
	}
}
