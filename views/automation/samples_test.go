package automation

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/flow/schedule"
	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

var samples = viewtest.Merge(alarmSamples, batchSamples, triggerSamples, hookSamples)

func TestMain(m *testing.M) { viewtest.Main(m, samples) }

func TestGolden(t *testing.T) { viewtest.Golden(t, samples) }

func TestMarkup(t *testing.T) { viewtest.Markup(t, samples) }

func TestTemplates(t *testing.T) {
	t.Parallel()
	viewtest.Templates(t)
}

func triggerSamples(theme layout.Theme) map[string]templ.Component {
	p := viewtest.Page("Triggers of Morning digest", layout.SectionFlows, theme)
	page := sampleTriggers()
	viewer := page
	viewer.MayEdit = false
	dialog, fresh, wrong, refused := page, page, page, page
	refused.Dialog = sampleSchedule()
	refused.Dialog.ID, refused.Dialog.Title, refused.Dialog.On, refused.Dialog.More = "trg_1", "Morning digest", true, true
	refused.Dialog.Preview.Refusals = []string{`"day" is required (text).`, `This flow has no input "topic".`}
	refused.Triggers = slices.Clone(page.Triggers)
	refused.Triggers[0].Refusal = strings.Join(refused.Dialog.Preview.Refusals, " ")
	dialog.Dialog = sampleSchedule()
	dialog.Dialog.ID, dialog.Dialog.Title, dialog.Dialog.On = "trg_1", "Morning digest", true
	fresh.Dialog = sampleSchedule()
	wrong.Dialog = sampleSchedule()
	wrong.Dialog.Phrase, wrong.Dialog.Preview = "weekdays", SchedulePreview{Problem: "Add a time, such as “at 9:00 AM”."}
	wrong.Dialog.More = true
	wrong.Dialog.Errors = components.Errors{"phrase": "Add a time, such as “at 9:00 AM”.", "name": "The flow has a trigger with this name. Choose another one.", "max_late": "This must be an interval such as 6h."}
	workspace := WorkspacePage{Triggers: page.Triggers, More: 920, Zone: "New York", Settings: true, Now: viewtest.Noon, Upcoming: []UpcomingRow{
		{At: viewtest.Noon.Add(11 * time.Minute), Text: "From Today, 2:30 PM", Trigger: "Sync orders", Flow: "Morning digest", Sentence: "Every 15 minutes", Path: "/flows/flow_1/triggers/trg_2"},
		{At: viewtest.Noon.Add(15 * time.Hour), Text: "Tomorrow, 3:00 AM", Trigger: "Morning digest", Flow: "Morning digest", Sentence: "Weekdays at 9:00 AM, Berlin", Path: "/flows/flow_1/triggers/trg_1"},
	}}
	backfill := BackfillPage{FlowID: "flow_1", Flow: "Morning digest", LiveVersion: 3, ID: "trg_1", Name: "Morning digest", Sentence: "Weekdays at 9:00 AM, Berlin", Zone: "Berlin", From: "2026-11-01", Until: "2026-11-07", Errors: components.Errors{}}
	counted, refusedDays := backfill, backfill
	counted.Shown, counted.Count, counted.First, counted.Last, counted.Micros, counted.All = true, 5, "Nov 2, 2026, 9:00 AM", "Nov 6, 2026, 9:00 AM", 120_000, true
	refusedDays.Errors, refusedDays.LiveVersion = components.Errors{"until": "Choose a day that is not before the first."}, 0
	return map[string]templ.Component{
		"backfill":          Backfill(p, backfill),
		"backfill-counted":  Backfill(p, counted),
		"backfill-refused":  Backfill(p, refusedDays),
		"triggers":          Triggers(p, page),
		"triggers-viewer":   Triggers(p, viewer),
		"triggers-empty":    Triggers(p, TriggersPage{FlowID: "flow_1", Flow: "Morning digest", MayEdit: true, Now: viewtest.Noon}),
		"schedule":          Triggers(p, dialog),
		"schedule-new":      Triggers(p, fresh),
		"schedule-errors":   Triggers(p, wrong),
		"schedule-refused":  Triggers(p, refused),
		"workspace":         Workspace(viewtest.Page("Triggers", layout.SectionTriggers, theme), workspace),
		"workspace-nothing": Workspace(viewtest.Page("Triggers", layout.SectionTriggers, theme), WorkspacePage{Zone: "UTC", Now: viewtest.Noon}),
	}
}

func sampleTriggers() TriggersPage {
	marks := func(runs ...string) (list []string) {
		for len(list) < 20 {
			list = append(list, runs...)
		}
		return list[:20]
	}
	at := func(d time.Duration) time.Time { return viewtest.Noon.Add(-d) }
	return TriggersPage{
		FlowID: "flow_1", Flow: "Morning digest", LiveVersion: 3, MayEdit: true, Now: viewtest.Noon,
		States: []components.Tab{{Label: "All", Href: "/flows/flow_1/triggers", Current: true}, {Label: "Started", Href: "/flows/flow_1/triggers?state=started"}, {Label: "Rejected", Href: "/flows/flow_1/triggers?state=rejected"}},
		Triggers: []TriggerRow{
			{ID: "trg_1", Name: "Morning digest", FlowID: "flow_1", Flow: "Morning digest", Icon: "timer", Sentence: "Weekdays at 9:00 AM, Berlin", Next: "Tomorrow, 3:00 AM", NextBelow: "9:00 AM in Berlin", On: true, Marks: marks("started")},
			{ID: "trg_2", Name: "Sync orders", FlowID: "flow_1", Flow: "Morning digest", Icon: "timer", Sentence: "Every 15 minutes", Next: "Today, 2:30 PM", NextBelow: "in 11 min", On: true, Marks: marks("started", "started", "skipped"), Note: "38 of the last 100 skipped: runs take 19 min (median), interval 15 min", NoteTone: components.ToneWait},
			{ID: "trg_3", Name: "Stripe refunds", FlowID: "flow_1", Flow: "Morning digest", Icon: "webhook", Hook: true, Sentence: "When body.type == \"refund.created\", verified: Stripe", Next: "On request", NextBelow: "last 2 min ago", On: true, Marks: marks("started", "ignored", "rejected"), Note: "6 rejected: The signature doesn’t match.", NoteTone: components.ToneBad},
			{ID: "trg_4", Name: "Crm contact", FlowID: "flow_1", Flow: "Morning digest", Icon: "webhook", Hook: true, Sentence: "Every request, not verified", Next: "Paused", NextBelow: "since Oct 19"},
		},
		Events: []EventRow{
			{State: "rejected", Trigger: "Stripe refunds", Path: "/flows/flow_1/triggers/trg_3", Reason: "The signature doesn’t match: checked 812 bytes with HMAC SHA-256, secret stripe-live.", At: at(2 * time.Minute)},
			{State: "started", Trigger: "Sync orders", Path: "/flows/flow_1/triggers/trg_2", Reason: "Planned for Nov 21, 11:45 AM in UTC", At: at(15 * time.Minute), RunID: "run_01m7z26njgm1r68xj6qyhfyvty"},
			{State: "skipped", Trigger: "Sync orders", Path: "/flows/flow_1/triggers/trg_2", Reason: "The last run is still in progress.", At: at(30 * time.Minute)},
			{State: "ignored", Trigger: "Stripe refunds", Path: "/flows/flow_1/triggers/trg_3", Reason: "The filter is false.", At: at(time.Hour)},
			{State: "missed", Trigger: "Morning digest", Path: "/flows/flow_1/triggers/trg_1", Reason: "Sluice did not run.", At: at(26 * time.Hour)},
		},
		Pages: components.Pages{Path: "/flows/flow_1/triggers", After: "evt_1"},
	}
}

func sampleSchedule() *ScheduleForm {
	return &ScheduleForm{
		Starts: StartsRun,
		FlowID: "flow_1", Title: "New schedule", Name: "Schedule", MayEdit: true, Phrase: "Weekdays at 9:00 AM, Berlin", Was: "Weekdays at 9:00 AM, Berlin",
		Fields: schedule.FieldsOf(schedule.Spec{Cron: "0 9 * * 1-5"}), Timezone: "Europe/Berlin", Zones: []components.Option{{Value: "", Label: "Workspace (UTC)"}, {Value: "Europe/Berlin", Label: "Berlin (Europe)"}},
		Overlap: "skip", CatchUp: "one", Errors: components.Errors{},
		Inputs: []InputField{{Name: "day", Type: "text", Required: true, Source: "local.date", Sources: ScheduleSources}, {Name: "count", Type: "number", Source: "value", Text: "many", Sources: ScheduleSources, Error: "Enter a value such as 3, true or [\"a\", \"b\"]."}},
		Preview: SchedulePreview{Zone: "Berlin", Yours: "New York", Times: []PlannedRow{
			{Day: "Fri, Oct 23", Time: "9:00 AM", Yours: "3:00 AM"}, {Note: "Clocks in Berlin go back 1 h on Oct 25. It stays 9:00 AM there and becomes 4:00 AM for you."},
			{Day: "Mon, Oct 26", Time: "9:00 AM", Yours: "4:00 AM"}, {Day: "Tue, Oct 27", Time: "9:00 AM", Yours: "4:00 AM"}, {Day: "Wed, Oct 28", Time: "9:00 AM", Yours: "4:00 AM"}, {Day: "Thu, Oct 29", Time: "9:00 AM", Yours: "4:00 AM"},
		}},
	}
}
