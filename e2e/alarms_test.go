package e2e

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/e2e/need"
	"sluice/e2e/npm"
)

// dividing returns a flow whose runs fail if n is 0.
func dividing() []byte {
	return documentOf("Broken", []object{input("n"), node("check", "expression", object{"expression": "1 / int(value)"}), output("got")}, "n.value > check.value", "check.value > out_got.value")
}

// TestAlarm_mails_through_a_real_server checks that an independent mail server gets the message of an alarm once, although it refuses the first attempt.
func TestAlarm_mails_through_a_real_server(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	dir := filepath.Join("testdata", "smtp")
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "server.cjs"), npm.Install(t, dir))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewReader(out)
	port, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, "SLUICE_SMTP_URL=smtp://mailer:secret@127.0.0.1:"+strings.TrimSpace(port)+"?from=sluice@example.com&tls=off")
	id := s.publish(dividing())
	c := s.client(s.key("--scope", "edit,read,run"))
	c.want(200, "PUT", "/v1/alarms/broken", object{"kind": "failed", "flow": id, "to": []any{object{"email": "ops@example.com"}}})
	run := c.await(c.start(id, object{"n": "0"}))
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		To  []string
		Raw string
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.To) != 1 || m.To[0] != "ops@example.com" || !strings.Contains(m.Raw, run.ID) || !strings.Contains(strings.ToLower(m.Raw), "from: <sluice@example.com>") {
		t.Errorf("the mail is %s to %v", m.Raw, m.To)
	}
	waitUntil(t, "the message counts as sent", func() bool {
		return strings.Contains(string(c.want(200, "GET", "/v1/alarms/broken/messages", nil).body), `"sent"`)
	})
}
