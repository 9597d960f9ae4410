package automation_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/alarms"
)

func TestAlarms_on_their_pages(t *testing.T) {
	t.Parallel()
	e := setup(t, time.Time{})
	e.b.Get("/triggers").Is(http.StatusOK).Has(`href="/alarms"`)
	e.b.Get("/alarms").Is(http.StatusOK).Has("No alarms yet", `href="/alarms/new/silent"`)
	e.b.Get("/alarms/new/none").Is(http.StatusNotFound)
	e.b.Get("/alarms/new/failed?flow="+e.flow).Is(http.StatusOK).Has(`name="count"`, `name="to"`)
	form := func(change ...string) url.Values {
		v := url.Values{"name": {"broken"}, "flow": {e.flow}, "count": {"3"}, "to": {"https://hooks.example.com/secret-path\nslack:https://hooks.slack.com/x"}}
		for i := 0; i+1 < len(change); i += 2 {
			v.Set(change[i], change[i+1])
		}
		return v
	}
	e.b.Post("/alarms/new/failed", form("name", "No Name", "count", "many")).Is(http.StatusUnprocessableEntity).Has("This must be a number.", `value="many"`)
	e.b.Post("/alarms/new/failed", form("to", "ops@example.com")).Is(http.StatusUnprocessableEntity).Has("needs a mail server")
	e.b.Post("/alarms/new/failed", form("flow", "all")).Is(http.StatusUnprocessableEntity).Has("Only owners change alarms of all flows")
	e.b.Post("/alarms/new/failed", form()).RedirectsTo("/alarms/broken")
	find := func() *alarms.Alarm {
		a, err := e.Store.FindAlarm(t.Context(), flow.DefaultWorkspace, "broken")
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := find(); a.Config.Count != 3 || len(a.Config.To) != 2 || a.Config.To[1].Format != "slack" || string(a.FlowID) != e.flow {
		t.Errorf("stored %+v", a)
	}
	e.b.Post("/alarms/new/failed", form()).Is(http.StatusUnprocessableEntity).Has("has an alarm with this name")
	e.b.Get("/alarms").Is(http.StatusOK).Has("broken", "3 runs in a row failed", "Quiet")
	e.b.Post("/alarms/broken", form("count", "5")).RedirectsTo("/alarms/broken")
	e.b.Post("/alarms/broken/pause", nil).RedirectsTo("/alarms/broken")
	if a := find(); a.On || a.Config.Count != 5 {
		t.Errorf("after a change and a pause it is %+v", a)
	}
	e.b.Post("/alarms/broken/resume", nil).RedirectsTo("/alarms/broken")
	e.b.Post("/alarms/broken/test", nil).RedirectsTo("/alarms/broken")
	e.b.Get("/alarms/broken").Is(http.StatusOK).Has("https://hooks.example.com/…", "/deliveries/")

	viewer := e.As(flow.MemberViewer)
	viewer.Get("/alarms/broken").Is(http.StatusOK).Lacks("secret-path", "Send a test")
	viewer.Post("/alarms/broken/pause", nil).Is(http.StatusForbidden)
	e.b.Post("/alarms/broken/delete", nil).RedirectsTo("/alarms")
	e.b.Get("/alarms/broken").Is(http.StatusNotFound)
}
