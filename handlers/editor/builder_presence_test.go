package editor

import (
	"sluice/handlers/web"
	"testing"
	"time"
)

// TestEditing_drops_silent_instances checks that the users of a silent instance disappear.
func TestEditing_drops_silent_instances(t *testing.T) {
	t.Parallel()
	var e editing
	now := time.Now()
	said := &presenceMessage{Flow: "f", From: "b", People: []participant{{User: "u2"}}}
	if e.receive(said, now) {
		t.Error("nobody here has it open")
	}
	l := &listener{flowID: "f", user: "u1", events: make(chan event, web.EventBuffer)}
	if !e.addPage(l) || e.addPage(l) {
		t.Error("who is the first to open it?")
	}
	if !e.receive(said, now) || len(e.others("f", "u1")) != 1 || len(e.others("f", "u2")) != 1 {
		t.Errorf("others %v", e.others("f", "u1"))
	}
	for _, c := range []struct {
		after       time.Duration
		forgot, due bool
	}{{presenceInterval, false, true}, {presenceTimeout, false, true}, {presenceTimeout + time.Second, true, true}, {0, false, false}} {
		e.remotePresence["f"].sentAt = now
		if forgot, due := e.refreshPresence("f", now.Add(c.after)); forgot != c.forgot || due != c.due {
			t.Errorf("after %s: forgot %v, due %v", c.after, forgot, due)
		}
	}
	if len(e.others("f", "u1")) != 0 {
		t.Error("who is gone is still there")
	}
}
