package engine

import (
	"sync"

	"sluice/flow/busy"
)

// activity is the current state of a step that calls an external service: it
// works in this process or waits. It begins waiting.
type activity struct {
	mark    *busy.Mark
	mu      sync.Mutex
	working bool
	ended   bool
}

// set records whether the step works. It is safe for concurrent use, also after
// the step has ended.
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

// end marks the step as idle for good. A reader that is still open may report data later.
func (a *activity) end() {
	a.set(false)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
}
