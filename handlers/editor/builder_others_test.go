package editor

import (
	"sluice/handlers/web"
	"testing"
	"time"
)

// TestEditing_elsewhere: an instance that says nothing more is taken for gone.
func TestEditing_elsewhere(t *testing.T) {
	t.Parallel()
	var e editing
	now := time.Now()
	said := &peopleNews{Flow: "f", From: "b", People: []present{{User: "u2"}}}
	if e.hear(said, now) {
		t.Error("nobody here has it open")
	}
	l := &listener{flowID: "f", user: "u1", news: make(chan news, web.EventBuffer)}
	if !e.join(l) || e.join(l) {
		t.Error("who is the first to open it?")
	}
	if !e.hear(said, now) || len(e.others("f", "u1")) != 1 || len(e.others("f", "u2")) != 1 {
		t.Errorf("others %v", e.others("f", "u1"))
	}
	for _, c := range []struct {
		after       time.Duration
		forgot, due bool
	}{{peopleSaid, false, true}, {peopleKept, false, true}, {peopleKept + time.Second, true, true}, {0, false, false}} {
		e.elsewhere["f"].said = now
		if forgot, due := e.renew("f", now.Add(c.after)); forgot != c.forgot || due != c.due {
			t.Errorf("after %s: forgot %v, due %v", c.after, forgot, due)
		}
	}
	if len(e.others("f", "u1")) != 0 {
		t.Error("who is gone is still there")
	}
}
