package flow

import (
	"fmt"
	"testing"
)

func TestToolReach_says_what_a_tool_can_do_now(t *testing.T) {
	t.Parallel()
	reads, writes := ToolReach{Effect: EffectRead, Hosts: []string{"a"}}, ToolReach{Effect: EffectWrite, Hosts: []string{"a", "b"}}
	open := ToolReach{Effect: EffectRead, Open: true}
	for name, c := range map[string]struct {
		was, now ToolReach
		want     string
	}{
		"the same":         {writes, writes, "[]"},
		"less":             {writes, reads, "[]"},
		"a write":          {ToolReach{Effect: EffectRead, Hosts: writes.Hosts}, writes, "[changes something]"},
		"another host":     {reads, ToolReach{Effect: EffectRead, Hosts: []string{"a", "c"}}, "[sends data to c]"},
		"both":             {reads, writes, "[changes something sends data to b]"},
		"any host":         {reads, open, "[sends data to hosts that are not fixed]"},
		"from any host":    {open, reads, "[]"},
		"write, any host":  {open, writes, "[changes something]"},
		"nothing recorded": {ToolReach{}, reads, "[sends data to a]"},
	} {
		if got := fmt.Sprint(c.was.Wider(c.now)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
