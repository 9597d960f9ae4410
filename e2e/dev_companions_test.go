package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestDev_keeps_triggers_and_their_file_equal edits the triggers of a flow in their file and on the server while "sluice dev" runs, and
// then pulls and applies them.
func TestDev_keeps_triggers_and_their_file_equal(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	s := newServer(t)
	r := remoteTo(t, s, "edit,read")
	const file, path = "flows/greet.triggers.json", "/v1/flow/greet/triggers/daily"
	schedule := func(hour string) string {
		return `{"schema": "sluice.triggers/v1", "triggers": [{"name": "daily", "kind": "schedule", "cron": "0 ` + hour + ` * * *", "inputs": {"who": "Ada"}}]}`
	}
	r.write("flows/greet.flow.json", greet("Greet", "Hello", "name"))
	r.write(file, schedule("9"))
	d := startDev(t, r, s.client(s.key("--scope", "edit,read")))
	set := func(text string) {
		t.Helper()
		waitUntil(t, "the trigger has "+text, func() bool {
			a := d.c.do("GET", path, nil)
			return a.status == 200 && strings.Contains(string(a.body), text)
		})
	}
	filed := func(name, text string) {
		t.Helper()
		waitUntil(t, name+" has "+text, func() bool { return strings.Contains(fileText(filepath.Join(r.dir, name)), text) })
	}
	change := func(hour string) {
		t.Helper()
		d.c.want(200, "PUT", path, json.RawMessage(`{"cron": "0 `+hour+` * * *", "inputs": {"who": "Ada"}}`))
	}
	set("Every day at 9:00 AM")
	d.write(file, schedule("10"))
	set("Every day at 10:00 AM")
	change("11")
	filed(file, "0 11 * * *")

	// A mistake is printed with its line, and the server keeps what it has.
	d.write(file, strings.Replace(schedule("12"), `"cron"`, "\n\n\"crom\"", 1))
	d.waitFor(d.errs, file+":3: ")
	set("Every day at 11:00 AM")
	d.write(file, schedule("12"))
	set("Every day at 12:00 PM")

	// Both sides change at once: nothing is lost.
	_ = d.cmd.Process.Signal(syscall.SIGSTOP)
	change("13")
	d.write(file, schedule("14"))
	_ = d.cmd.Process.Signal(syscall.SIGCONT)
	d.waitFor(d.errs, "Conflict: "+file)
	if kept := d.read("flows/greet.triggers.conflict.json"); !strings.Contains(kept, "0 13") || d.read(file) != schedule("14") {
		t.Errorf("the conflict file is\n%s\nand the file\n%s", kept, d.read(file))
	}
	set("Every day at 1:00 PM")
	d.remove("flows/greet.triggers.conflict.json")
	set("Every day at 2:00 PM")

	// An entry that is removed from the file is removed from the server.
	d.write(file, `{"schema": "sluice.triggers/v1", "triggers": []}`)
	waitUntil(t, "the trigger is removed", func() bool { return d.c.do("GET", path, nil).status == 404 })
	d.write(file, schedule("15"))
	set("Every day at 3:00 PM")
	d.stop()

	// Pull gives the same files, under the slug that the flow has now.
	r.must("flow", "fmt", "flows")
	if out := r.must("flow", "pull", "flows"); strings.Contains(out, "triggers") {
		t.Errorf("pull wrote\n%s", out)
	}
	before := r.read(file)
	if out := r.must("flow", "apply", "flows"); !strings.Contains(out, "unchanged  greet.triggers.json") || strings.Contains(out, "changed  greet") && strings.Count(out, "unchanged  greet") != 2 {
		t.Errorf("apply printed\n%s", out)
	}
	text, tag := d.draft("greet")
	renamed := strings.Replace(text, `"slug": "greet"`, `"slug": "welcome"`, 1)
	d.c.want(200, "PUT", "/v1/flow/greet", json.RawMessage(renamed), "If-Match: "+tag)
	if out := r.must("flow", "pull", "flows"); !strings.Contains(out, "renamed to flows/welcome.triggers.json") {
		t.Errorf("pull wrote\n%s", out)
	}
	if after := r.read("flows/welcome.triggers.json"); after != before {
		t.Errorf("the renamed file is\n%s\nwant\n%s", after, before)
	}
}
