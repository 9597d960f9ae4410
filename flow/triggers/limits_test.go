package triggers_test

import (
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/schedule"
	"sluice/flow/triggers"
)

func TestLimits_bound_how_often_schedules_of_strangers_run(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 4, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		spec schedule.Spec
		want bool
	}{
		{schedule.Spec{Every: "5m"}, false}, {schedule.Spec{Every: "4m"}, true}, {schedule.Spec{Cron: "*/5 * * * *"}, false}, {schedule.Spec{Cron: "0,59 * * * *"}, true},
		{schedule.Spec{Cron: "1,2 0 1 1 *"}, true}, {schedule.Spec{Cron: "@daily"}, false}, {schedule.Spec{At: "2026-12-24T18:00"}, false},
	} {
		s, problems := schedule.Parse(c.spec, "UTC")
		if len(problems) > 0 {
			t.Fatalf("%+v: %v", c.spec, problems)
		}
		if got := triggers.LimitsOf("ws_other", true).TooOften(s, now); got != c.want {
			t.Errorf("%+v: %v, want %v", c.spec, got, c.want)
		}
		for name, l := range map[string]triggers.Limits{"closed": triggers.LimitsOf("ws_other", false), "default": triggers.LimitsOf(flow.DefaultWorkspace, true)} {
			if l.TooOften(s, now) || l.Most != triggers.MaxPerWorkspace {
				t.Errorf("%s: %+v is refused", name, c.spec)
			}
		}
	}
	if most := triggers.LimitsOf("ws_other", true).Most; most != 20 {
		t.Errorf("a stranger may have %d triggers", most)
	}
}
