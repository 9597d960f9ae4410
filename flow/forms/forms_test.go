package forms

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

func TestFormTickets(t *testing.T) {
	t.Parallel()
	seals := &Seals{Key: []byte("a key of the test")}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ids := flow.NewIDs()
	flowID, run, other := ids.NewFlow(), ids.NewRun(), ids.New(flow.PrefixRun)
	good := seals.Ticket(flowID, run, now.Add(time.Hour))
	parts := strings.Split(good, ".")
	late := strings.Split(seals.Ticket(flowID, run, now.Add(48*time.Hour)), ".")
	for name, test := range map[string]struct {
		flowID flow.FlowID
		ticket string
		at     time.Time
		ok     bool
	}{
		"as given":             {flowID, good, now, true},
		"expired":              {flowID, good, now.Add(time.Hour), false},
		"of another flow":      {ids.NewFlow(), good, now, false},
		"for another run":      {flowID, strings.TrimPrefix(other, flow.PrefixRun) + "." + parts[1] + "." + parts[2], now, false},
		"made to last":         {flowID, parts[0] + "." + late[1] + "." + parts[2], now, false},
		"the run alone":        {flowID, parts[0], now, false},
		"without a signature":  {flowID, parts[0] + "." + parts[1] + ".", now, false},
		"with one by half":     {flowID, good[:len(good)-1], now, false},
		"nothing":              {flowID, "", now, false},
		"of another server":    {flowID, (&Seals{Key: []byte("other")}).Ticket(flowID, run, now.Add(time.Hour)), now, false},
		"a pass instead of it": {flowID, parts[0] + "." + seals.Pass(&Form{FlowID: flowID, Settings: Settings{PasswordHash: string(run)}}, now.Add(time.Hour)), now, false},
	} {
		found, _, ok := seals.VerifyTicket(test.flowID, test.ticket, test.at)
		if ok != test.ok || ok && found != run {
			t.Errorf("%s: %v, %s", name, ok, found)
		}
	}
}

func TestFormPass(t *testing.T) {
	t.Parallel()
	seals := &Seals{Key: []byte("a key of the test")}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	f := New(flow.DefaultWorkspace, "flow_1")
	f.PasswordHash = "first"
	pass := seals.Pass(f, now.Add(time.Hour))
	if !seals.VerifyPass(f, pass, now) || seals.VerifyPass(f, pass, now.Add(time.Hour)) || seals.VerifyPass(f, "", now) {
		t.Error("a pass holds until it expires")
	}
	other, changed := *f, *f
	other.FlowID, changed.PasswordHash = "flow_2", "second"
	if seals.VerifyPass(&other, pass, now) || seals.VerifyPass(&changed, pass, now) {
		t.Error("a pass is for one form and one password")
	}
}

func TestFormChanges(t *testing.T) {
	t.Parallel()
	a, b := New("ws", "flow_1").Settings, New("ws", "flow_1").Settings
	if names := b.Changed(&a); names != nil {
		t.Errorf("nothing changed, but %v", names)
	}
	b.Title, b.PerDay, b.Origins, b.PasswordHash = "T", 1, []string{"https://a.example"}, "h"
	if names := b.Changed(&a); !slices.Equal(names, []string{"title", "password", "limits", "embedding"}) {
		t.Errorf("changed %v", names)
	}
}
