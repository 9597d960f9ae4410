package main

import (
	"testing"

	"sluice/flow/triggers"
	"sluice/handlers/admin"
	"sluice/handlers/api"
)

func TestTriggerState_in_a_word(t *testing.T) {
	t.Parallel()
	paused := triggers.ReasonPaused
	for want, trigger := range map[string]admin.Trigger{
		"on": {Kind: triggers.Schedule, Next: []api.Time{{}}}, "over": {Kind: triggers.Schedule}, "paused": {Kind: triggers.Hook, Reason: &paused},
	} {
		if got := triggerState(&trigger); got != want {
			t.Errorf("%+v is %s, want %s", trigger, got, want)
		}
	}
	if got := triggerState(&admin.Trigger{Kind: triggers.Hook}); got != "on" {
		t.Errorf("a webhook is %s, want on", got)
	}
}
