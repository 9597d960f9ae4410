package api

import (
	"time"

	"sluice/flow"
	"sluice/handlers/web"
)

// progressPause is the polling interval for progress events of a stream.
const progressPause = 250 * time.Millisecond

// progressEvent is the data of a progress event: how many items of a step have ended.
type progressEvent struct {
	Path   string `json:"path"`
	Done   int    `json:"done" doc:"Items that have ended, failed ones included."`
	Failed int    `json:"failed"`
	Total  int    `json:"total"`
}

// stepProgress polls the counters of items while a step of the run waits for them. A list can
// have 100,000 items, so the waiting run is not notified when one of them ends.
type stepProgress struct {
	sent    map[string]progressEvent // by path
	waiting map[string]bool          // paths of waiting steps
	due     *time.Timer
	armed   bool
}

// newStepProgress returns the progress of a new stream. Its timer is stopped.
func newStepProgress() stepProgress {
	return stepProgress{sent: map[string]progressEvent{}, waiting: map[string]bool{}, due: web.StoppedTimer()}
}

// watch starts polling if a step waits.
func (p *stepProgress) watch(changed []flow.Step) {
	for i := range changed {
		if s := &changed[i]; s.State == flow.StepWaiting {
			p.waiting[s.Path] = true
		} else {
			delete(p.waiting, s.Path)
		}
	}
	if len(p.waiting) > 0 && !p.armed {
		p.schedule()
	}
}

// schedule arms the timer for the next poll.
func (p *stepProgress) schedule() {
	p.armed = true
	p.due.Reset(progressPause)
}

// sendProgress sends the counters that have changed. It schedules the next poll unless all items
// have ended.
func (e *eventStream) sendProgress() error {
	e.progress.armed = false
	err := e.checkKeyForText()
	if err != nil && !flow.IsUnavailable(err) {
		return err
	}
	list, err := e.s.Store.ListChildren(e.Request().Context(), e.run.WorkspaceID, e.run.ID)
	switch {
	case flow.IsUnavailable(err):
		e.progress.schedule()
		return nil
	case err != nil:
		return err
	}
	for i := range list {
		c := &list[i]
		if !c.Ended() {
			e.progress.schedule()
		}
		now := progressEvent{Path: c.Caller.Path, Done: c.Succeeded + c.Failed, Failed: c.Failed, Total: c.Total}
		if c.Total >= 0 && e.progress.sent[now.Path] != now {
			e.out.Add("", "progress", now)
			e.progress.sent[now.Path] = now
		}
	}
	if !e.out.Pending() {
		return nil
	}
	return e.out.Flush()
}
