package engine

import (
	"sync"

	"sluice/flow/busy"
)

// activity tracks whether a step that calls an external service executes code in this process
// or waits for a response. It starts as waiting.
type activity struct {
	mark    *busy.Mark
	mu      sync.Mutex
	working bool
	ended   bool
}

// set records whether the step is working. It is safe for concurrent use and has no effect
// after the step has ended.
func (a *activity) set(working bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended || a.working == working {
		return
	}
	a.working = working
	if working {
		a.mark.Enter()
	} else {
		a.mark.Leave()
	}
}

// end marks the step as idle permanently: a reader that is still open may report data later.
func (a *activity) end() {
	a.set(false)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
}
