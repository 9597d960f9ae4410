package mcp

import (
	"testing"

	"sluice/flow"
)

func TestOpenCalls(t *testing.T) {
	t.Parallel()
	var calls openCalls
	first, second := &flow.Run{ID: "run_1"}, &flow.Run{ID: "run_2"}
	removeFirst := calls.add("a", first)
	if calls.find("a") != first || calls.find("b") != nil {
		t.Error("a call is not found by its name, or one is found by another's")
	}
	removeSecond := calls.add("a", second) // the client used the ID again
	if removeFirst(); calls.find("a") != second {
		t.Error("the end of the first call removed the second")
	}
	removeSecond()
	calls.add("", first)()
	if len(calls.runs) > 0 {
		t.Errorf("ended calls are kept: %v", calls.runs)
	}
}
