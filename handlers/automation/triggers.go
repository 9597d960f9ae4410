package automation

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/schedule"
	"sluice/flow/sorting"
	"sluice/flow/triggers"
	"sluice/flow/wording"
	"sluice/handlers/web"
	view "sluice/views/automation"
	"sluice/views/components"
	"sluice/views/layout"

	"github.com/a-h/templ"
)

// Sizes of lists.
const (
	pageEvents   = 50
	rowMarks     = 20
	rowEvents    = 100 // events of each trigger that its row tells about
	maxUpcoming  = 100
	upcomingSpan = 24 * time.Hour
)

// triggerRoutes returns the routes of triggers.
func (s *Server) triggerRoutes() []route {
	const list = "/flows/:flow/triggers"
	const one = list + "/:trigger"
	return []route{
		{http.MethodGet, "/triggers", web.Viewer, showWorkspaceTriggers},
		{http.MethodGet, list, web.Viewer, web.OnFlow(listTriggers)},
		{http.MethodGet, list + "/schedule", web.Editor, web.OnFlow(newSchedule)},
		{http.MethodPost, list + "/schedule", web.Editor, web.Posted(web.OnFlow(createSchedule))},
		{http.MethodPost, list + "/preview", web.Editor, web.Posted(web.OnFlow(previewSchedule))},
		{http.MethodGet, one, web.Viewer, onTrigger(showTrigger)},
		{http.MethodPost, one, web.Editor, web.Posted(onTrigger(changeTrigger))},
		{http.MethodPost, one + "/pause", web.Editor, onTrigger(switchTrigger(false))},
		{http.MethodPost, one + "/resume", web.Editor, onTrigger(switchTrigger(true))},
		{http.MethodPost, one + "/now", web.Editor, onTrigger(startTrigger)},
		{http.MethodGet, one + "/backfill", web.Editor, onTrigger(showBackfill)},
		{http.MethodPost, one + "/backfill", web.Editor, web.Posted(onTrigger(startBackfill))},
		{http.MethodPost, one + "/delete", web.Editor, onTrigger(deleteTrigger)},
	}
}

// onTrigger wraps a handler that needs the flow and the trigger of the path.
func onTrigger(handle func(*call, *flow.Flow, *triggers.Trigger) error) func(*call) error {
	return web.OnFlow(func(c *call, f *flow.Flow) error {
		t, err := c.s.Store.FindTrigger(c.Ctx(), f.WorkspaceID, f.ID, c.Param("trigger"))
		if err != nil {
			return err
		}
		return handle(c, f, t)
	})
}

// Title returns the name of a trigger as people read it: "Morning digest" for morning-digest.
func title(name string) string { return wording.Capitalize(strings.ReplaceAll(name, "-", " ")) }

// nameOf returns the name of a trigger that people call by a title.
func nameOf(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String()[:min(b.Len(), triggers.MaxName)], "-")
}

// listTriggers is GET triggers.
func listTriggers(c *call, f *flow.Flow) error { return triggersPage(c, http.StatusOK, f, nil) }

// triggersPage renders the list, with a dialog over it unless that is nil.
func triggersPage(c *call, status int, f *flow.Flow, dialog *view.ScheduleForm) error {
	list, err := c.s.Store.ListTriggers(c.Ctx(), f.WorkspaceID, f.ID)
	if err != nil {
		return err
	}
	page := view.TriggersPage{FlowID: string(f.ID), Flow: f.Name, LiveVersion: f.LiveVersion, MayEdit: c.MayEdit(), Now: c.s.Now(), Dialog: dialog}
	rows, err := newRows(c)
	if err != nil {
		return err
	}
	for i := range list {
		r, err := rows.row(&list[i], f)
		if err != nil {
			return err
		}
		page.Triggers = append(page.Triggers, r.TriggerRow)
	}
	if err := fillEvents(c, f, list, &page); err != nil {
		return err
	}
	return c.Render(status, view.Triggers(c.Page("Triggers of "+f.Name, layout.SectionFlows), page))
}

// fillEvents fills in a page of the events of a flow.
func fillEvents(c *call, f *flow.Flow, list []triggers.Trigger, page *view.TriggersPage) error {
	state := triggers.State(c.QueryParam("state"))
	if !slices.Contains(triggers.States, state) {
		state = ""
	}
	path := view.TriggersPath(page.FlowID)
	page.States = []components.Tab{{Label: "All", Href: path, Current: state == ""}}
	for _, s := range triggers.States {
		page.States = append(page.States, components.Tab{Label: wording.Capitalize(string(s)), Href: path + "?state=" + string(s), Current: s == state})
	}
	before := c.QueryParam("after")
	if before != "" && !flow.ValidID(flow.PrefixEvent, before) {
		before = ""
	}
	events, err := c.s.Store.ListEventsOfFlow(c.Ctx(), f.WorkspaceID, f.ID, state, before, pageEvents+1)
	if err != nil {
		return err
	}
	page.Pages = components.Pages{Path: path, Query: url.Values{}}
	if state != "" {
		page.Pages.Query.Set("state", string(state))
	}
	if len(events) > pageEvents {
		events = events[:pageEvents]
		page.Pages.After = events[pageEvents-1].Position
	}
	byID := map[string]*triggers.Trigger{}
	for i := range list {
		byID[list[i].ID] = &list[i]
	}
	zone, err := c.workspaceZone()
	if err != nil {
		return err
	}
	tests, err := c.s.Store.TestsOfEvents(c.Ctx(), events)
	if err != nil {
		return err
	}
	for i := range events {
		if t := byID[events[i].TriggerID]; t != nil {
			row := eventRow(t, &events[i], zone)
			if test := tests[events[i].RunID]; test != "" {
				row.Report = templ.SafeURL(reportPath(f, test))
			}
			page.Events = append(page.Events, row)
		}
	}
	return nil
}

// reportPath returns the path of the report of a test.
func reportPath(f *flow.Flow, test string) string {
	return "/flows/" + url.PathEscape(string(f.ID)) + "/tests/reports/" + url.PathEscape(test)
}

// eventRow converts an event.
func eventRow(t *triggers.Trigger, e *triggers.Event, zone string) view.EventRow {
	row := view.EventRow{State: string(e.State), Trigger: title(t.Name), Path: templ.SafeURL(view.TriggerPath(string(t.FlowID), t.ID)), Reason: e.Detail, At: e.CreatedAt, RunID: string(e.RunID)}
	if e.Repeats > 0 {
		row.Reason = strings.TrimSpace(fmt.Sprintf("%s Sent %s more; started once.", row.Reason, components.Quantity(int(e.Repeats), "time")))
	}
	if row.Reason != "" {
		return row
	}
	if at := e.ScheduledAt(); t.Kind == triggers.Schedule && !at.IsZero() {
		plan, err := t.Config.Schedule(zone)
		if err == nil {
			row.Reason = "Planned for " + at.In(plan.Location()).Format("Jan 2, 3:04 PM") + " in " + schedule.City(plan.Timezone())
		}
		return row
	}
	row.Reason = wording.Fit(e.Key, 60)
	return row
}

// rows converts triggers.
type rows struct {
	c         *call
	now       time.Time
	workspace string         // time zone; "" for UTC
	reader    *time.Location // nil if unknown
}

// row is a trigger with what sorts it.
type row struct {
	view.TriggerRow
	trouble bool // the last event started nothing that should have, or the next one will not
	plan    *schedule.Schedule
	next    time.Time
}

// newRows reads what all rows share.
func newRows(c *call) (r rows, err error) {
	r = rows{c: c, now: c.s.Now(), reader: c.readerZone()}
	r.workspace, err = c.workspaceZone()
	return r, err
}

// row converts a trigger.
func (r rows) row(t *triggers.Trigger, f *flow.Flow) (row, error) {
	v := row{TriggerRow: view.TriggerRow{ID: t.ID, Name: title(t.Name), FlowID: string(t.FlowID), Flow: f.Name, On: t.On, Hook: t.Kind == triggers.Hook}}
	events, err := r.c.s.Store.ListEvents(r.c.Ctx(), t, "", "", rowEvents)
	if err != nil {
		return v, err
	}
	for i := range slices.Backward(events[:min(len(events), rowMarks)]) {
		v.Marks = append(v.Marks, string(events[i].State))
	}
	v.trouble = len(events) > 0 && slices.Contains([]triggers.State{triggers.Rejected, triggers.Skipped, triggers.Missed}, events[0].State)
	if t.Kind == triggers.Hook {
		v.Icon, v.Sentence, v.Next = "webhook", t.HookSentence(), "On request"
		if len(events) > 0 {
			v.NextBelow = "last " + components.Ago(events[0].CreatedAt, r.now)
		}
	} else {
		v.Icon = "timer"
		v.plan, err = t.Config.Schedule(r.workspace)
		if err != nil || t.Unreadable != nil {
			v.Sentence, v.plan = "This schedule can’t be read. Open it and save it again.", nil
		} else {
			v.Sentence = v.plan.Sentence()
			if t.Config.Test != nil {
				v.Sentence += ", " + testSentence(t.Config.Test)
			}
			r.setNext(&v, t)
			v.Refusal = r.refusal(t, f)
			v.trouble = v.trouble || t.On && v.Refusal != ""
		}
	}
	if !t.On {
		v.Next, v.NextBelow = "Paused", offText(t)
	}
	v.Note, v.NoteTone, err = r.note(t, v.plan, events)
	return v, err
}

// refusal returns why the live version would refuse the next start of a schedule, or "". A version that cannot be read does not hide
// the other triggers.
func (r rows) refusal(t *triggers.Trigger, f *flow.Flow) string {
	if f.LiveVersion == 0 {
		return ""
	}
	inputs, err := r.c.inputsOf(f)
	if err != nil {
		return "The live version can’t be read."
	}
	return strings.Join(r.c.refusals(f, t, r.workspace, inputs), " ")
}

// offText says why a trigger is off.
func offText(t *triggers.Trigger) string {
	switch t.Reason {
	case triggers.ReasonFailed:
		return "after failed runs"
	case triggers.ReasonArchived:
		return "with its flow"
	case triggers.ReasonInvalid:
		return "it can’t be read"
	}
	return "since " + wording.ShortDay(cmp.Or(t.ChangedAt, t.CreatedAt))
}

// setNext fills in when a schedule starts next.
func (r rows) setNext(v *row, t *triggers.Trigger) {
	v.next = t.Times(v.plan, r.now).Next
	if v.next.IsZero() {
		v.Next = "Over"
		return
	}
	zone := cmp.Or(r.reader, v.plan.Location())
	v.Next = moment(v.next.In(zone), r.now.In(zone))
	switch there := v.next.In(v.plan.Location()); {
	case sameClock(v.next, zone, v.plan.Location()) && v.next.Sub(r.now) < time.Hour:
		v.NextBelow = "in " + components.WholeDuration(v.next.Sub(r.now))
	case !sameClock(v.next, zone, v.plan.Location()):
		v.NextBelow = there.Format("3:04 PM") + " in " + schedule.City(v.plan.Timezone())
	}
}

// sameClock reports whether clocks in two zones show the same at a time.
func sameClock(at time.Time, a, b *time.Location) bool {
	_, x := at.In(a).Zone()
	_, y := at.In(b).Zone()
	return x == y
}

// moment formats a time after now: "Today, 2:30 PM", "Tomorrow, 3:00 AM", "Mon, Oct 26, 3:00 AM". Both are in the same zone.
func moment(at, now time.Time) string {
	day := "Mon, Jan 2"
	switch date := at.Format(time.DateOnly); {
	case date == now.Format(time.DateOnly):
		return "Today, " + at.Format("3:04 PM")
	case date == now.AddDate(0, 0, 1).Format(time.DateOnly):
		return "Tomorrow, " + at.Format("3:04 PM")
	case at.Year() != now.Year():
		day = "Mon, Jan 2, 2006"
	}
	return at.Format(day + ", 3:04 PM")
}

// note says what is wrong with the last events, if something is.
func (r rows) note(t *triggers.Trigger, plan *schedule.Schedule, events []triggers.Event) (string, components.Tone, error) {
	recent := events[:min(len(events), rowMarks)]
	count := func(list []triggers.Event, s triggers.State) (n int) {
		for i := range list {
			if list[i].State == s {
				n++
			}
		}
		return n
	}
	if n := count(recent, triggers.Rejected); n > 0 {
		i := slices.IndexFunc(recent, func(e triggers.Event) bool { return e.State == triggers.Rejected })
		return fmt.Sprintf("%d rejected: %s", n, wording.Fit(cmp.Or(recent[i].Detail, string(recent[i].Code)), 80)), components.ToneBad, nil
	}
	if count(recent, triggers.Skipped) > 0 && plan != nil {
		text := fmt.Sprintf("%d of the last %d skipped", count(events, triggers.Skipped), len(events))
		median, err := r.medianRun(t)
		if next := plan.NextN(r.now, 2); err == nil && median > 0 && len(next) == 2 {
			text += fmt.Sprintf(": runs take %s (median), interval %s", components.Duration(median), components.Duration(next[1].Sub(next[0])))
		}
		return text, components.ToneWait, err
	}
	if n := count(recent, triggers.Missed); n > 0 {
		return fmt.Sprintf("%d missed: Sluice was down", n), components.ToneWait, nil
	}
	return "", components.ToneNone, nil
}

// medianRun returns the median duration of the last runs of a trigger, or 0 without runs.
func (r rows) medianRun(t *triggers.Trigger) (time.Duration, error) {
	runs, err := r.c.s.Store.EndedRunsOfTrigger(r.c.Ctx(), t.ID, r.now.Add(-triggers.EventLife), rowEvents)
	if err != nil || len(runs) == 0 {
		return 0, err
	}
	var list []time.Duration
	for i := range runs {
		list = append(list, runs[i].EndedAt.Sub(runs[i].StartedAt))
	}
	slices.Sort(list)
	return list[len(list)/2], nil
}

// shownTriggers is how many triggers of a workspace its page lists.
const shownTriggers = 80

// showWorkspaceTriggers is GET /triggers: what starts in the next 24 hours, and all triggers, those that need attention first.
func showWorkspaceTriggers(c *call) error {
	list, err := c.s.Store.ListTriggers(c.Ctx(), c.WorkspaceID(), "")
	if err != nil {
		return err
	}
	heads, err := c.s.Store.ListFlowHeads(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	flows := map[flow.FlowID]*flow.Flow{}
	for i := range heads {
		flows[heads[i].ID] = &heads[i]
	}
	rows, err := newRows(c)
	if err != nil {
		return err
	}
	zone := rows.reader
	if zone == nil {
		if zone, err = schedule.Zone(cmp.Or(rows.workspace, "UTC")); err != nil {
			return err
		}
	}
	page := view.WorkspacePage{Zone: schedule.City(zone.String()), Settings: c.Member.Role.AtLeast(flow.MemberOwner), Now: rows.now}
	var all []row
	for i := range list {
		t := &list[i]
		f := flows[t.FlowID]
		if f == nil { // archived
			continue
		}
		v, err := rows.row(t, f)
		if err != nil {
			return err
		}
		all = append(all, v)
		page.Upcoming = append(page.Upcoming, upcoming(&v, rows.now, zone)...)
	}
	sorting.By(all, func(a, b row) int {
		if a.trouble != b.trouble {
			if a.trouble {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Flow+"\x00"+a.Name, b.Flow+"\x00"+b.Name)
	})
	for _, v := range all[:min(len(all), shownTriggers)] {
		page.Triggers = append(page.Triggers, v.TriggerRow)
	}
	page.More = len(all) - len(page.Triggers)
	sorting.By(page.Upcoming, func(a, b view.UpcomingRow) int { return a.At.Compare(b.At) })
	page.Upcoming = page.Upcoming[:min(len(page.Upcoming), maxUpcoming)]
	return c.Render(http.StatusOK, view.Workspace(c.Page("Triggers", layout.SectionTriggers), page))
}

// upcoming returns the planned times of a schedule in the next 24 hours. One that starts more often than hourly has one row.
func upcoming(v *row, now time.Time, zone *time.Location) (list []view.UpcomingRow) {
	if v.plan == nil || !v.On {
		return nil
	}
	for at := v.next; !at.IsZero() && at.Before(now.Add(upcomingSpan)) && len(list) < 24; at = v.plan.Next(at) {
		if len(list) > 0 && at.Sub(list[len(list)-1].At) < time.Hour {
			list = list[:1]
			list[0].Text = "From " + list[0].Text
			break
		}
		list = append(list, view.UpcomingRow{At: at, Text: moment(at.In(zone), now.In(zone)), Trigger: v.Name, Flow: v.Flow, Sentence: v.Sentence, Path: templ.SafeURL(view.TriggerPath(v.FlowID, v.ID))})
	}
	return list
}

// showTrigger is GET trigger: the dialog of a schedule, or the page of a webhook.
func showTrigger(c *call, f *flow.Flow, t *triggers.Trigger) error {
	if t.Kind == triggers.Hook {
		return showHook(c, f, t, nil)
	}
	form, err := storedSchedule(c, f, t)
	if err != nil {
		return err
	}
	return triggersPage(c, http.StatusOK, f, form)
}

// changeTrigger is POST trigger.
func changeTrigger(c *call, f *flow.Flow, t *triggers.Trigger) error {
	if t.Kind == triggers.Hook {
		return saveHook(c, f, t)
	}
	return saveSchedule(c, f, t)
}

// back redirects to the list.
func back(c *call, f *flow.Flow) error { return c.Redirect(view.TriggersPath(string(f.ID))) }

// switchTrigger returns the handler that pauses or resumes a trigger.
func switchTrigger(on bool) func(*call, *flow.Flow, *triggers.Trigger) error {
	return func(c *call, f *flow.Flow, t *triggers.Trigger) error {
		if err := c.s.triggers.Switch(c.Ctx(), c.Actor(), nil, t, on); err != nil {
			return err
		}
		toast := layout.Toast{Tone: components.ToneOK, Text: "“" + title(t.Name) + "” is on. It continues from now."}
		if !on {
			toast = layout.Toast{Tone: components.ToneOK, Text: "“" + title(t.Name) + "” is paused.", Undo: view.TriggerPath(string(f.ID), t.ID) + "/resume"}
		}
		c.Flash(toast)
		return back(c, f)
	}
}

// startTrigger is POST now: a run of the signed-in person.
func startTrigger(c *call, f *flow.Flow, t *triggers.Trigger) error {
	started, err := c.s.triggers.StartNow(c.Ctx(), c.Actor(), nil, c.Member.UserID, t)
	if e := flow.AsError(err); err != nil && e.Code != flow.CodeInternal {
		c.Toast(components.ToneBad, e.Message)
		return back(c, f)
	}
	if err != nil {
		return err
	}
	if t.Config.Test != nil {
		test, err := c.s.Store.FindTestOfRun(c.Ctx(), f.WorkspaceID, started.Run.ID)
		if err != nil {
			return err
		}
		return c.Redirect(reportPath(f, test.ID))
	}
	return c.Redirect(components.RunPath(string(started.Run.ID)))
}

// deleteTrigger is POST delete.
func deleteTrigger(c *call, f *flow.Flow, t *triggers.Trigger) error {
	if err := c.s.triggers.Delete(c.Ctx(), c.Actor(), nil, t); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "“"+title(t.Name)+"” was deleted.")
	return back(c, f)
}
