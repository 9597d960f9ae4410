package api

import (
	"sluice/flow"
)

// deltaEvent is the data of a delta event: text of a running step. It has no number,
// because text is not stored and never sent again.
type deltaEvent struct {
	Path      string `json:"path"`
	Text      string `json:"text"`
	Reset     bool   `json:"reset,omitempty" doc:"text is everything so far and replaces earlier text of this path."`
	Truncated bool   `json:"truncated,omitempty" doc:"More than 1 MiB: no more text of this attempt follows. The step's outputs contain all of it."`
}

// writeText adds the text of running steps or, with running false, of ended ones. The latter
// must precede the event of their end.
func (e *eventStream) writeText(deltas []flow.Delta, running bool) {
	for i := range deltas {
		if d := &deltas[i]; e.steps.Running(d.Path) == running {
			e.out.Add("", "delta", deltaEvent{d.Path, d.Text, d.Reset, d.Truncated})
		}
	}
}

// sendText sends the text of running steps, and reports whether there is more, of a step that has
// started meanwhile.
func (e *eventStream) sendText() (unread bool, err error) {
	// Keys cannot be revoked while the database is unavailable.
	if err := e.checkKeyForText(); err != nil && !flow.IsUnavailable(err) {
		return false, err
	}
	deltas, unread := e.steps.Read(e.watch)
	if e.writeText(deltas, true); e.out.Pending() {
		return unread, e.out.Flush()
	}
	return unread, nil
}
