package e2e

import (
	"strings"
	"testing"
)

func TestPriceCommands(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	s := stoppedServer(t)
	s.must("migrate")
	s.must("price", "set", "openai/gpt-x", "--input", "2.5", "--output", "10")
	s.must("price", "set", "openai/gpt-x", "--input", "2.75", "--output", "10")
	s.must("price", "set", "openai/gpt-x", "--output", "12")
	if r := s.command("price", "set", "openai/gpt-x"); r.code != 2 {
		t.Errorf("setting nothing: %+v", r)
	}
	if list := s.must("price", "list"); !strings.Contains(list, "2.75") || !strings.Contains(list, "12") || strings.Contains(list, "2.5 ") {
		t.Errorf("price list:\n%s", list)
	}
	s.must("price", "remove", "openai/gpt-x")
	if r := s.command("price", "remove", "openai/gpt-x"); r.code != 1 {
		t.Errorf("removing what is gone: %+v", r)
	}
	if r := s.command("price", "set", "gpt-x"); r.code != 2 || !strings.Contains(r.errs, "provider/model") {
		t.Errorf("a model without a provider: %+v", r)
	}
}
