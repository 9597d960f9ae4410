package editor

import (
	"testing"
	"testing/synctest"

	"sluice/handlers/web"
	"sluice/views/layout"
)

func TestEditing_disconnects_slow_reader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var e editing
		l := &listener{flowID: "f", user: "u", person: layout.Person{Name: "Ada"}, edited: make(chan struct{}, 1), events: make(chan event, web.EventBuffer), lost: make(chan struct{})}
		e.addPage(l)
		for range web.EventBuffer + 1 {
			e.publish("f", "flow:run", nil)
		}
		<-l.lost
		if len(e.others("f", "")) != 0 {
			t.Error("who is lost is still here")
		}
		e.removePage(l)
	})
}
