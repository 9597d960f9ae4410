package automation

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/schedule"
	"sluice/flow/triggers"
	view "sluice/views/automation"
	"sluice/views/components"
)

// nextTimes is how many planned times a preview has.
const nextTimes = 5

// describe fills in the phrase of a configuration, its next times, and why the live version would refuse them. t is the stored schedule,
// or nil for a new one.
func (e *scheduleEditor) describe(f *view.ScheduleForm, t *triggers.Trigger, config *triggers.Config) {
	plan, err := config.Schedule(e.workspace)
	if err != nil {
		f.Preview.Problem = flow.AsError(err).Message
		return
	}
	f.Was = plan.Phrase()
	f.Preview = preview(plan, e.c.s.Now(), e.c.readerZone())
	if f.Preview.Over || f.Errors["inputs"] != "" {
		return
	}
	planned := triggers.Trigger{Kind: triggers.Schedule, Config: *config}
	planned.Next = plan.Next(e.c.s.Now())
	if t != nil {
		planned.Decided = t.Decided
	}
	f.Preview.Refusals = e.c.refusals(e.flow, &planned, e.workspace, e.inputs)
}

// preview returns the next times of a schedule, in its zone and in the reader's.
func preview(plan *schedule.Schedule, now time.Time, reader *time.Location) view.SchedulePreview {
	p := view.SchedulePreview{Zone: schedule.City(plan.Timezone())}
	zone := plan.Location()
	if reader != nil && reader.String() != zone.String() {
		p.Yours = schedule.City(reader.String())
	} else {
		reader = zone
	}
	var before time.Time
	for _, at := range plan.NextN(now, nextTimes) {
		if note := clockNote(before, at, zone, reader); note != "" {
			p.Times = append(p.Times, view.PlannedRow{Note: note})
		}
		there, here := at.In(zone), at.In(reader)
		row := view.PlannedRow{Day: there.Format("Mon, Jan 2"), Time: there.Format("3:04 PM"), Yours: here.Format("3:04 PM")}
		if there.Year() != now.In(zone).Year() {
			row.Day = there.Format("Mon, Jan 2, 2006")
		}
		if here.YearDay() != there.YearDay() {
			row.Yours = here.Format("Mon 3:04 PM")
		}
		p.Times = append(p.Times, row)
		before = at
	}
	p.Over = len(p.Times) == 0
	return p
}

// clockNote tells about clock changes between two planned times, in the zone of a schedule and in the reader's.
func clockNote(before, at time.Time, zone, reader *time.Location) string {
	if before.IsZero() {
		return ""
	}
	var notes []string
	zones := []*time.Location{zone}
	if reader != zone {
		zones = append(zones, reader)
	}
	for _, z := range zones {
		for _, change := range schedule.Changes(z, before, at) {
			by, way := time.Duration(change.After-change.Before)*time.Second, "forward"
			if by < 0 {
				by, way = -by, "back"
			}
			notes = append(notes, fmt.Sprintf("Clocks in %s go %s %s on %s.", schedule.City(z.String()), way, components.WholeDuration(by), change.At.In(z).Format("Jan 2")))
		}
	}
	if len(notes) == 0 {
		return ""
	}
	then, now, mine := before.In(zone).Format("3:04 PM"), at.In(zone).Format("3:04 PM"), at.In(reader).Format("3:04 PM")
	if reader != zone && then == now && before.In(reader).Format("3:04 PM") != mine {
		notes = append(notes, fmt.Sprintf("It stays %s there and becomes %s for you.", now, mine))
	}
	return strings.Join(notes, " ")
}

// previewSchedule is POST preview: what the dialog would do. It renders the parts that the script replaces: the next times, and
// the fields or the phrase, whichever the person has not just changed.
func previewSchedule(c *call, f *flow.Flow) error {
	e, err := newScheduleEditor(c, f)
	if err != nil {
		return err
	}
	var t *triggers.Trigger
	if id := c.QueryParam("trigger"); id != "" {
		if t, err = c.s.Store.FindTrigger(c.Ctx(), f.WorkspaceID, f.ID, id); err != nil {
			return err
		}
	}
	form, config, byPhrase := e.read(t)
	e.preview(form, t, &config)
	if byPhrase {
		return c.Render(http.StatusOK, view.ScheduleParts(view.ScheduleFields(*form), view.ScheduleNext(*form)))
	}
	if form.Was != "" && len(form.Errors) == 0 {
		form.Phrase = form.Was
	}
	return c.Render(http.StatusOK, view.ScheduleParts(view.SchedulePhrase(*form), view.ScheduleNext(*form)))
}

// preview fills in the next times, or what is wrong.
func (e *scheduleEditor) preview(form *view.ScheduleForm, t *triggers.Trigger, config *triggers.Config) {
	for _, name := range []string{"phrase", "days", "time", "count", "day", "date", "cron"} {
		if form.Errors[name] != "" {
			form.Preview.Problem = form.Errors[name]
			return
		}
	}
	e.describe(form, t, config)
}
