package automation

import (
	"time"

	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func alarmSamples(theme layout.Theme) map[string]templ.Component {
	p := viewtest.Page("Alarms", layout.SectionTriggers, theme)
	firing := AlarmRow{Name: "triage-fails", Flow: "Triage", Sentence: "A run failed", State: "firing", Since: viewtest.Noon.Add(-time.Hour), Finding: "6 runs in a row failed.", On: true, MayEdit: true}
	list := AlarmsPage{MayEdit: true, Now: viewtest.Noon, Kinds: []KindRow{{"failed", "Runs fail", "One, several in a row, or a share of them"}},
		Alarms:  []AlarmRow{firing, {Name: "too-dear", Flow: "All flows", Sentence: "The cost of a day is at least $20", State: "quiet", On: true}},
		Trouble: []TroubleRow{{"Morning digest", "The last 5 events of this trigger of Digest started nothing: The last run was in progress.", "/flows/flow_1/triggers/trg_1"}}}
	flows := components.Field{Name: "flow", Label: "Flow", Value: "flow_1", Options: []components.Option{{Value: "all", Label: "All flows"}, {Value: "flow_1", Label: "Triage"}}}
	one := AlarmPage{AlarmRow: firing, Kind: "failed", KindText: "Runs fail", Choices: []components.Field{flows}, Runs: []string{"run_1"}, Now: viewtest.Noon, Errors: components.Errors{},
		Fields:   []components.Field{{Name: "count", Label: "Failures in a row", Optional: true, Value: "3"}, {Name: "to", Label: "Messages to", Optional: true, Value: "ops@example.com"}},
		Messages: []AlarmMessageRow{{viewtest.Noon.Add(-time.Hour), "started", "ops@example.com", "sent", "", ""}, {viewtest.Noon.Add(-time.Hour), "started", "https://hooks.example.com/…", "failed", "", "/deliveries/whd_1"}}}
	wrong := one
	wrong.Fresh, wrong.Name, wrong.Messages = true, "", nil
	wrong.Errors = components.Errors{"": "The alarm has a problem."}
	viewer := one
	viewer.MayEdit = false
	return map[string]templ.Component{"alarms": Alarms(p, list), "alarms-none": Alarms(p, AlarmsPage{Now: viewtest.Noon}), "alarm": Alarm(p, one), "alarm-errors": Alarm(p, wrong), "alarm-viewer": Alarm(p, viewer)}
}
