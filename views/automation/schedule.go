package automation

import (
	"net/url"
	"strconv"

	"sluice/flow/schedule"
	"sluice/views/components"
)

// ScheduleForm is the dialog of a schedule.
type ScheduleForm struct {
	FlowID  string
	ID      string // "" for a new one
	Title   string
	Name    string // of a new one
	MayEdit bool
	On      bool

	Phrase string // as typed
	Was    string // the phrase that describes the fields
	schedule.Fields
	Timezone string // "" for that of the workspace
	Zones    []components.Option

	Overlap, CatchUp, MaxLate   string
	From, Until, Except, Jitter string
	PauseAfter                  string
	Starts                      string // StartsRun or StartsTest
	Test                        TestForm
	Inputs                      []InputField
	More                        bool // the settings below are open

	Preview SchedulePreview
	Errors  components.Errors
}

// What a schedule starts.
const (
	StartsRun  = "run"
	StartsTest = "test"
)

// TestForm says what a schedule tests.
type TestForm struct {
	Kept    string // describes candidates that the form cannot show; "" if it can
	Version string // "", draft, or draft with the live version as baseline
	Mode    string
	Cases   string // "", tags or runs
	Tags    string
	Limit   string // of the latest runs
	Newer   string
	MaxUSD  string
}

// VersionCompared is the draft, compared with the live version.
const VersionCompared = "compared"

var (
	starts       = []components.Option{{Value: StartsRun, Label: "Run"}, {Value: StartsTest, Label: "Test"}}
	testVersions = []components.Option{{Value: "", Label: "Live version"}, {Value: "draft", Label: "Draft"}, {Value: VersionCompared, Label: "Draft, compared with the live version"}}
	testModes    = []choice{{"live", "All", "notices models that changed"}, {"fill", "Missing", "only what is not recorded"}, {"replay", "None", "only recorded results"}}
	testCases    = []components.Option{{Value: "", Label: "All test cases"}, {Value: "tags", Label: "Test cases with tags"}, {Value: "runs", Label: "Latest runs"}}
)

// SchedulePreview is what a schedule would do.
type SchedulePreview struct {
	Zone, Yours string // names of the columns; Yours is "" if it is the same zone
	Times       []PlannedRow
	Refusals    []string // why the live version would refuse the next one
	Problem     string
	Over        bool // there are no more times
}

// PlannedRow is a planned time, or a note between two.
type PlannedRow struct{ Day, Time, Yours, Note string }

// InputField says what an input of the flow is made of.
type InputField struct {
	Name, Type string
	Required   bool
	Source     string // "", value, or an expression of Sources; cel is another expression
	Text       string // the value or the expression
	Sources    []components.Option
	Error      string
}

// Sources of the inputs of a schedule and of a webhook.
var (
	ScheduleSources = []components.Option{{Value: "", Label: "Default"}, {Value: "value", Label: "Value"}, {Value: "local.date", Label: "Planned date"}, {Value: "local.time", Label: "Planned time of day"},
		{Value: "local.weekday", Label: "Planned weekday"}, {Value: "scheduled_at", Label: "Planned time in UTC"}, {Value: "cel", Label: "Expression"}}
	HookSources = []components.Option{{Value: "", Label: "Member of the same name"}, {Value: "cel", Label: "Expression"}, {Value: "value", Label: "Value"}}
)

// preview returns the URL that describes what the form says.
func (f ScheduleForm) preview() string {
	path := TriggersPath(f.FlowID) + "/preview"
	if f.ID != "" {
		path += "?trigger=" + url.QueryEscape(f.ID)
	}
	return path
}

// action returns the URL of the form.
func (f ScheduleForm) action() string {
	if f.ID == "" {
		return TriggersPath(f.FlowID) + "/schedule"
	}
	return TriggerPath(f.FlowID, f.ID)
}

// repeats are the ways in which a schedule is described.
var repeats = []components.Option{
	{Value: string(schedule.RepeatDays), Label: "Days"}, {Value: string(schedule.RepeatInterval), Label: "Interval"}, {Value: string(schedule.RepeatMonthly), Label: "Month"},
	{Value: string(schedule.RepeatOnce), Label: "Once"}, {Value: string(schedule.RepeatCron), Label: "Cron"},
}

var units = []components.Option{{Value: "m", Label: "minutes"}, {Value: "h", Label: "hours"}, {Value: "d", Label: "days"}}

// monthDays are the days of a month.
func monthDays() (list []components.Option) {
	for d := 1; d <= 31; d++ {
		list = append(list, components.Option{Value: strconv.Itoa(d), Label: "Day " + strconv.Itoa(d)})
	}
	return append(list, components.Option{Value: "L", Label: "Last day"})
}

// weekday is a day of the week in the form.
type weekday struct {
	number      int
	short, long string
}

var weekdays = []weekday{{1, "Mo", "Monday"}, {2, "Tu", "Tuesday"}, {3, "We", "Wednesday"}, {4, "Th", "Thursday"}, {5, "Fr", "Friday"}, {6, "Sa", "Saturday"}, {0, "Su", "Sunday"}}

// choice is an option with an explanation.
type choice struct{ value, label, about string }

var (
	overlaps = []choice{{"skip", "Skip", "this time"}, {"queue", "Wait", "then run once"}, {"replace", "Replace", "cancel the old run"}, {"allow", "Overlap", "run both"}}
	catchUps = []choice{{"one", "Run once", "the latest missed time"}, {"all", "Run all", "up to 100"}, {"none", "Run none", ""}}
)
