package automation_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/triggers"
	"sluice/handlers"
	"sluice/handlers/webtest"
)

// october is a Thursday, three days before the clocks of Berlin go back.
var october = time.Date(2026, 10, 22, 18, 0, 0, 0, time.UTC)

// env is a server with a published flow, at a fixed time.
type env struct {
	*webtest.Env
	flow string
	b    *webtest.Browser
	set  func(now time.Time) // sets the clock
}

func setup(t *testing.T, now time.Time) *env {
	var shown atomic.Pointer[time.Time] // once people have signed in, whose sessions must not begin before they exist
	clock := func() time.Time {
		if at := shown.Load(); at != nil {
			return *at
		}
		return time.Now()
	}
	// The store has the same clock: with its own, schedules would be decided on for times that the pages do not know.
	h := webtest.SetupOn(t, dbtest.SQLite(t, func(c *db.Config) { c.Now = clock }), func(c *handlers.Config) {
		c.Now, c.SessionIdle, c.SessionMax = clock, 50*365*24*time.Hour, 50*365*24*time.Hour
	})
	h.Add("founder@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	e := &env{h, h.PublishedFlow(webtest.Greeting), h.As(flow.MemberEditor), func(at time.Time) { shown.Store(&at) }}
	if !now.IsZero() {
		e.set(now)
	}
	return e
}

// optional makes the inputs of the flow optional, so that a schedule needs none.
func (e *env) optional() {
	e.Replace(flow.FlowID(e.flow), strings.Replace(webtest.Greeting, `"type":"text",`, `"type":"text","default":"Ada",`, 1))
	e.Publish(e.flow)
}

// path returns the path of a page of the flow's triggers.
func (e *env) path(rest string) string { return "/flows/" + e.flow + "/triggers" + rest }

// in returns the browser of a person in a time zone, which a script reports.
func (e *env) in(zone string) *webtest.Browser {
	e.T.Helper()
	base, err := url.Parse(e.b.Base)
	if err != nil {
		e.T.Fatal(err)
	}
	e.b.Client.Jar.SetCookies(base, []*http.Cookie{{Name: "zone", Value: zone, Path: "/"}})
	return e.b
}

// list returns the triggers of the flow.
func (e *env) list() []triggers.Trigger {
	e.T.Helper()
	list, err := e.Store.ListTriggers(e.T.Context(), flow.DefaultWorkspace, flow.FlowID(e.flow))
	if err != nil {
		e.T.Fatal(err)
	}
	return list
}

// only returns the one trigger of the flow.
func (e *env) only() *triggers.Trigger {
	e.T.Helper()
	list := e.list()
	if len(list) != 1 {
		e.T.Fatalf("%d triggers", len(list))
	}
	return &list[0]
}

// dialog returns the values that a browser sends for a new schedule on weekdays at 9.
func dialog(change ...string) url.Values {
	form := url.Values{"name": {"Morning digest"}, "phrase": {"Weekdays at 9:00 AM, Berlin"}, "was": {""}, "repeat": {"days"}, "day_of_week": {"1"}, "time": {"09:00"}, "count": {"15"}, "unit": {"m"}, "day": {"1"}, "timezone": {""},
		"overlap": {"skip"}, "catch_up": {"one"}, "source.who": {"value"}, "text.who": {"Ada"}}
	for i := 0; i+1 < len(change); i += 2 {
		form.Set(change[i], change[i+1])
	}
	return form
}

func TestSchedules_are_created_by_their_phrase(t *testing.T) {
	t.Parallel()
	e := setup(t, october)
	e.b.Get(e.path("")).Is(http.StatusOK).Has("Nothing starts this flow yet")
	e.b.Get(e.path("/schedule")).Is(http.StatusOK).Has("New schedule", "Weekdays at 9:00 AM, UTC", "Fri, Oct 23")
	e.b.Post(e.path("/schedule"), dialog()).RedirectsTo(e.path(""))
	s := e.only()
	if s.Name != "morning-digest" || s.Config.Cron != "0 9 * * 1-5" || s.Config.Timezone != "Europe/Berlin" || s.Config.Overlap != "skip" || s.Config.Inputs.Get("who") != "Ada" || !s.On || s.Next.IsZero() {
		t.Errorf("stored %+v", s)
	}
	e.b.Get(e.path("")).Is(http.StatusOK).Has("Morning digest", "Weekdays at 9:00 AM, Berlin", "Tomorrow, 9:00 AM", `aria-pressed="true"`)
	e.b.Get(e.path("/"+s.ID)).Is(http.StatusOK).Has(`value="Weekdays at 9:00 AM, Berlin"`, "Clocks in Berlin go back 1 hour on Oct 25.", "Mon, Oct 26", "Run now")
}

func TestSchedules_are_changed_by_their_fields_and_keep_what_has_no_field(t *testing.T) {
	t.Parallel()
	e := setup(t, october)
	e.b.Post(e.path("/schedule"), dialog()).RedirectsTo(e.path(""))
	one := e.path("/" + e.only().ID)
	form := dialog("was", "Weekdays at 9:00 AM, Berlin", "repeat", "interval", "count", "65", "overlap", "queue", "catch_up", "none", "except", "2026-12-24/2026-12-26, 2027-01-01", "pause_after", "3", "jitter_s", "30")
	e.b.Post(one, form).RedirectsTo(e.path(""))
	s := e.only()
	if c := s.Config; c.Every != "65m" || c.Cron != "" || c.Overlap != "queue" || c.CatchUp != "none" || len(c.Except) != 2 || c.PauseAfter != 3 || c.Jitter != 30 {
		t.Errorf("stored %+v", c)
	}
	for name, want := range map[string]string{"time": "Write the time as 9:00 AM or 09:00.", "phrase": "Add a time"} {
		form := dialog("was", "Weekdays at 9:00 AM, Berlin", "time", "late")
		if name == "phrase" {
			form = dialog("phrase", "weekdays")
		}
		e.b.Post(one, form).Is(http.StatusUnprocessableEntity).Has(want)
	}
	e.b.Post(one, dialog("max_late", "soon")).Is(http.StatusUnprocessableEntity).Has("This must be")
	e.b.Post(one, dialog("source.who", "cel", "text.who", "local.")).Is(http.StatusUnprocessableEntity)
	e.b.Post(one, dialog("source.who", "")).Is(http.StatusUnprocessableEntity).Has("The flow needs a value.")
	e.b.Post(one, dialog("source.count", "value", "text.count", "many")).Is(http.StatusUnprocessableEntity).Has("Enter a value such as 3")
	if again := e.only(); again.Rev != s.Rev {
		t.Error("an invalid form changed the schedule")
	}
	e.b.Post(e.path("/schedule"), dialog()).Is(http.StatusUnprocessableEntity).Has("The flow has a trigger with this name")
}

func TestPreview_shows_both_zones_and_clock_changes(t *testing.T) {
	t.Parallel()
	e := setup(t, october)
	b := e.in("America/New_York")
	fields := b.Post(e.path("/preview"), dialog("edited", "phrase")).Is(http.StatusOK)
	fields.Has(`id="schedule-fields"`, "Berlin", "New York (you)", "3:00 AM", "4:00 AM", "It stays 9:00 AM there and becomes 4:00 AM for you.").Lacks(`id="schedule-phrase"`)
	phrase := b.Post(e.path("/preview"), dialog("edited", "fields", "day_of_week", "6", "time", "18:30", "timezone", "Asia/Tokyo")).Is(http.StatusOK)
	phrase.Has(`value="Saturdays at 6:30 PM, Tokyo"`, `id="schedule-next"`).Lacks(`id="schedule-fields"`)
	b.Post(e.path("/preview"), dialog("edited", "phrase", "phrase", "sometimes")).Is(http.StatusOK).Has("Start with days")
	b.Post(e.path("/preview"), dialog("edited", "phrase", "phrase", "once on 2020-01-01 at 9:00")).Is(http.StatusOK).Has("There are no more times.")
	if len(e.list()) != 0 {
		t.Error("a preview stored something")
	}
}

// TestSchedules_show_what_the_live_version_would_refuse stores a schedule through the API, which accepts inputs that do not fit, and fixes
// it in the dialog.
func TestSchedules_show_what_the_live_version_would_refuse(t *testing.T) {
	t.Parallel()
	e := setup(t, october)
	const note = "The live version would reject the next run."
	e.b.Get(e.path("/schedule")).Is(http.StatusOK).Lacks(note)
	e.api(http.MethodPut, "/v1/flow/"+e.flow+"/triggers/daily", `{"cron": "0 9 * * *", "inputs": {"other": 1}}`)
	e.b.Post(e.path("/schedule"), dialog("name", "A fine one")).RedirectsTo(e.path(""))
	rejected := []string{"&#34;who&#34; is required (text).", "This flow has no input &#34;other&#34;"}
	e.b.Get(e.path("")).Is(http.StatusOK).Has(append(rejected, "Would be rejected:")...)
	all := e.b.Get("/triggers").Is(http.StatusOK).Has(rejected...)
	if table := all.Body[strings.Index(all.Body, "Triggers of the workspace"):]; strings.Index(table, ">Daily<") > strings.Index(table, ">A fine one<") {
		t.Error("the one that would be rejected is not first")
	}
	s, err := e.Store.FindTrigger(t.Context(), flow.DefaultWorkspace, flow.FlowID(e.flow), "daily")
	if err != nil {
		t.Fatal(err)
	}
	one := e.path("/" + s.ID)
	e.b.Get(one).Is(http.StatusOK).Has(append(rejected, note, `name="source.other"`, "Leave out")...)
	still := dialog("source.other", "value", "text.other", "1")
	e.b.Post(e.path("/preview?trigger="+s.ID), still).Is(http.StatusOK).Has(note, rejected[1]).Lacks(rejected[0])
	e.b.Post(e.path("/preview?trigger="+s.ID), dialog()).Is(http.StatusOK).Lacks(note)
	e.b.Post(one, dialog()).RedirectsTo(e.path(""))
	e.b.Get(e.path("")).Is(http.StatusOK).Lacks("Would be rejected")
	e.b.Get(one).Is(http.StatusOK).Lacks(note, `name="source.other"`)
}

// TestTriggers_of_a_version_that_cannot_be_read lists them all, and says what is wrong with them.
func TestTriggers_of_a_version_that_cannot_be_read(t *testing.T) {
	t.Parallel()
	e := setup(t, october)
	e.api(http.MethodPut, "/v1/flow/"+e.flow+"/triggers/daily", `{"cron": "0 9 * * *", "inputs": {}}`)
	err := e.Store.Write(t.Context(), true, func(tx *core.Tx) error {
		_, err := tx.DBTX.ExecContext(t.Context(), "DELETE FROM documents")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/triggers", e.path("")} {
		e.b.Get(path).Is(http.StatusOK).Has("Daily", "The live version can’t be read.")
	}
}

// TestPreview_without_a_script renders the whole dialog with what the form says, and stores nothing.
func TestPreview_without_a_script(t *testing.T) {
	t.Parallel()
	e := setup(t, october)
	e.b.Post(e.path("/schedule"), dialog("act", "preview", "phrase", "every 65 minutes")).Is(http.StatusOK).Has("<noscript>", `name="count" value="65"`, `name="was" value="Every 65 minutes"`, "Next 5 times")
	e.b.Post(e.path("/schedule"), dialog("act", "preview", "was", "Weekdays at 9:00 AM, Berlin", "time", "7pm")).Is(http.StatusOK).Has(`value="Mondays at 7:00 PM, UTC"`)
	if len(e.list()) != 0 {
		t.Error("a preview stored something")
	}
}

func TestTriggers_are_paused_resumed_started_and_deleted(t *testing.T) {
	t.Parallel()
	e := setup(t, time.Time{})
	e.b.Post(e.path("/schedule"), dialog("phrase", "every 2 hours")).RedirectsTo(e.path(""))
	one := e.path("/" + e.only().ID)
	e.b.Post(one+"/pause", nil).RedirectsTo(e.path(""))
	e.b.Get(e.path("")).Has("is paused.", one+"/resume", `aria-pressed="false"`, "Paused")
	e.b.Post(one+"/now", nil).RedirectsTo(e.path(""))
	e.b.Get(e.path("")).Has("The trigger is paused.")
	e.b.Post(one+"/resume", nil).RedirectsTo(e.path(""))
	to := e.b.Post(one+"/now", nil).Is(http.StatusSeeOther).Header.Get("Location")
	run := e.Ended(flow.RunID(strings.TrimPrefix(to, "/runs/")))
	if run.State != flow.RunSucceeded || run.Trigger != flow.TriggerSchedule || run.UserID == "" {
		t.Errorf("run %+v", run)
	}
	e.b.Get(e.path("")).Has("Started by hand.", "/runs/"+string(run.ID))
	e.b.Get(e.path("?state=rejected")).Lacks("Started by hand.")
	e.b.Post(one+"/delete", nil).RedirectsTo(e.path(""))
	if len(e.list()) != 0 {
		t.Error("not deleted")
	}
	e.b.Get(one).Is(http.StatusNotFound)
}

func TestTriggers_are_shown_to_viewers_without_acts(t *testing.T) {
	t.Parallel()
	e := setup(t, time.Time{})
	e.b.Post(e.path("/schedule"), dialog()).RedirectsTo(e.path(""))
	one, v := e.path("/"+e.only().ID), e.As(flow.MemberViewer)
	v.Get(e.path("")).Is(http.StatusOK).Has("Morning digest").Lacks("New schedule", "switchbox")
	v.Get(one).Is(http.StatusOK).Lacks("Run now", ">Save<", "Delete")
	for _, path := range []string{e.path("/schedule"), e.path("/preview"), one, one + "/pause", one + "/resume", one + "/now", one + "/delete"} {
		v.Post(path, dialog()).Is(http.StatusForbidden)
	}
	e.Anonymous().Get(e.path("")).Is(http.StatusSeeOther)
}

func TestWorkspaceTriggers_show_what_comes_next_and_problems_first(t *testing.T) {
	t.Parallel()
	e := setup(t, october)
	e.b.Get("/triggers").Is(http.StatusOK).Has("No triggers yet")
	e.b.Post(e.path("/schedule"), dialog("name", "A fine one")).RedirectsTo(e.path(""))
	e.b.Post(e.path("/schedule"), dialog("name", "Often", "phrase", "every 10 minutes")).RedirectsTo(e.path(""))
	e.b.Post(e.path("/schedule"), dialog("name", "Troubled", "phrase", "every day at 20:00, Berlin")).RedirectsTo(e.path(""))
	for decided := false; !decided; { // again if the server decided on a time of it in between
		for _, s := range e.list() {
			if s.Name == "troubled" {
				event := s.Event(october.Add(-time.Hour), triggers.Rejected, flow.CodeBudgetExceeded, "The budget of the day is used up.")
				err := e.Store.DecideTrigger(t.Context(), &s, s.TriggerTimes, []triggers.Event{event})
				if decided = err == nil; !decided && !errors.Is(err, flow.ErrFenced) {
					t.Fatal(err)
				}
			}
		}
	}
	page := e.in("Europe/Berlin").Get("/triggers").Is(http.StatusOK)
	page.Has("Next 24 hours", "Times in Berlin", "Tomorrow, 9:00 AM", "From Today", "1 rejected: The budget of the day is used up.")
	table := page.Body[strings.Index(page.Body, "Triggers of the workspace"):]
	if strings.Index(table, "Troubled") > strings.Index(table, "A fine one") {
		t.Error("the one with a problem is not first")
	}
}
