package e2e

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"sluice/e2e/need"
)

// starterFlows are the sample flows that are there after the first start.
var starterFlows = []string{"Answer from a document", "Route a support ticket", "Summarize a text"}

// TestFirstMinute runs the commands that the welcome text prints, exactly as printed. Only
// the address is configured, so that tests can run in parallel.
func TestFirstMinute(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("curl")
	need.Tool(t, "curl is not installed", err == nil)
	s := stoppedServer(t)
	s.cwd, s.env = t.TempDir(), []string{"SLUICE_ADDR=127.0.0.1:0", "SLUICE_DRAIN_DELAY=0"}
	s.start()
	greeting := s.process().out
	s.waitUntil("the greeting is whole", func() bool { return strings.Contains(greeting.String(), "  curl ") })
	for _, name := range starterFlows {
		if !strings.Contains(greeting.String(), name+"\n") {
			t.Errorf("the greeting does not list the flow %q:\n%s", name, greeting)
		}
	}
	cmd := exec.Command("sh", "-c", printedCommands(t, greeting.String()))
	cmd.Dir, cmd.Env = s.cwd, environment("NO_PROXY=127.0.0.1")
	r := runCommand(t, cmd)
	if r.code != 0 {
		t.Fatalf("what the greeting says does not work: %s", r.errs)
	}
	_, answer, _ := strings.Cut(r.out, "\n") // the first line is about publishing
	checkRouted(t, []byte(answer))
	if s.stop(); strings.Contains(firstLines(s), "Sample flows to try") {
		t.Error("the greeting is still for a newUser although there is a key")
	}
}

// firstLines starts the server again and returns what it prints.
func firstLines(s *server) string {
	s.start()
	return s.process().out.String()
}

// printedCommands returns the commands in the welcome text, for one shell.
func printedCommands(t *testing.T, greeting string) string {
	t.Helper()
	var script []string
	more := false
	for line := range strings.SplitSeq(greeting, "\n") {
		if more || strings.HasPrefix(line, "  KEY=") || strings.Contains(line, " flow publish ") || strings.HasPrefix(line, "  curl ") {
			script = append(script, line)
			more = strings.HasSuffix(line, `\`)
		}
	}
	if len(script) < 3 {
		t.Fatalf("the greeting has no commands:\n%s", greeting)
	}
	return "set -e\n" + strings.Replace(strings.Join(script, "\n"), "  curl ", "  curl -sS --fail-with-body ", 1)
}

// checkRouted checks the built-in model's answer to the sample flow's example.
func checkRouted(t *testing.T, body []byte) {
	t.Helper()
	var r run
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatalf("curl printed no run object: %v\n%s", err, body)
	}
	if r.Status != "succeeded" || r.Outputs["team"] != "billing" {
		t.Fatalf("the ticket was not routed to billing: %s", body)
	}
	if reply, _ := r.Outputs["reply"].(string); !strings.HasPrefix(reply, "Hello there,") {
		t.Errorf("the reply is %q", reply)
	}
	if score, _ := r.Outputs["confidence"].(float64); score < 0.9 || score > 1 {
		t.Errorf("the confidence is %v", r.Outputs["confidence"])
	}
}

// publishStarter publishes the sample flow that is a draft at first, and returns its ID.
func (s *server) publishStarter() string {
	s.t.Helper()
	for line := range strings.SplitSeq(s.must("flow", "list"), "\n") {
		if strings.Contains(line, "Route a support ticket") {
			id := strings.Fields(line)[0]
			s.must("flow", "publish", id)
			return id
		}
	}
	s.t.Fatal("the sample flow is missing")
	return ""
}

// TestStarterFlows runs the other starter flows with their own examples, which
// is what the API's description of them is for.
func TestStarterFlows(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.client(s.key())
	s.publishStarter()
	var list struct {
		Flows []struct {
			ID     string `json:"flow_id"`
			Name   string `json:"name"`
			Inputs struct {
				Properties map[string]struct{ Examples []any }
			} `json:"inputs"`
		} `json:"flows"`
	}
	if err := json.Unmarshal(c.want(200, "GET", "/v1/flow", nil).body, &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range list.Flows {
		names = append(names, f.Name)
		body := object{}
		for name, p := range f.Inputs.Properties {
			if len(p.Examples) > 0 {
				body[name] = p.Examples[0]
			}
		}
		r := c.succeed(f.ID, body)
		if len(r.Outputs) == 0 || len(body) == 0 {
			t.Errorf("%s gave %v for %v", f.Name, r.Outputs, body)
		}
	}
	if slices.Sort(names); !slices.Equal(names, starterFlows) {
		t.Errorf("the flows are %q, wanted %q", names, starterFlows)
	}
}
