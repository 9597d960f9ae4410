package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// commandsAlone skips tests that start many commands one after the other under the
// race detector, which makes each start several times slower and finds nothing in them.
func commandsAlone(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("commands do one thing at a time; what they ask a server for is tested with the race detector elsewhere")
	}
}

// TestFlowCommands imports, publishes, exports, lists and rolls back a flow.
func TestFlowCommands(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	s := newServer(t)
	file := writeFile(t, "greet.json", greeting())
	id := s.must("flow", "import", file)
	c := s.client(s.key())
	c.rejected(409, "not_published", "POST", "/v1/flow/"+id+"/run", object{"name": "Ada"})

	s.must("flow", "publish", id)
	if r := c.succeed(id, object{"name": "Ada"}); r.Outputs["text"] != "Hello Ada!" {
		t.Errorf("version 1 said %v", r.Outputs)
	}
	changed := strings.Replace(string(greeting()), "Hello", "Goodbye", 1)
	if again := s.must("flow", "import", writeFile(t, "changed.json", []byte(changed)), "--id", id, "--publish"); again != id {
		t.Errorf("import --id printed %s, wanted %s", again, id)
	}
	if r := c.succeed(id, object{"name": "Ada"}); r.Outputs["text"] != "Goodbye Ada!" || *r.Version != 2 {
		t.Errorf("version 2 said %v", r.Outputs)
	}
	s.must("flow", "publish", id, "--version", "1")
	if r := c.succeed(id, object{"name": "Ada"}); r.Outputs["text"] != "Hello Ada!" || *r.Version != 1 {
		t.Errorf("version 1, live again, said %v", r.Outputs)
	}
	checkExport(t, s, id)
	if list := s.must("flow", "list"); !strings.Contains(list, id) || !strings.Contains(list, "v1") {
		t.Errorf("flow list does not show the flow with its live version:\n%s", list)
	}
}

// checkExport checks that an export can be imported and is then equal.
func checkExport(t *testing.T, s *server, id string) {
	t.Helper()
	first := s.must("flow", "export", id, "--version", "1")
	other := s.must("flow", "import", writeFile(t, "again.json", []byte(first)))
	first = strings.Replace(first, `"slug": "greet"`, `"slug": "greet-2"`, 1) // a slug that no other flow has
	if second := s.must("flow", "export", other); second != first || !strings.Contains(first, "Hello {{name}}!") {
		t.Errorf("an export changes when it is taken in again:\n%s\n%s", first, second)
	}
}

// TestFlowRun runs a flow by ID through the server, by ID without a server, and from a
// file.
func TestFlowRun(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	s := newServer(t)
	id := s.publish(greeting())
	if out := s.must("flow", "run", id, "--input", "name=Ada"); out != "text: Hello Ada!" {
		t.Errorf("flow run by the server printed %q", out)
	}
	var r run
	if err := json.Unmarshal([]byte(s.must("flow", "run", id, "-i", "name=Ada", "--json")), &r); err != nil || r.Trigger != "cli" {
		t.Errorf("flow run --json gave trigger %q, error %v", r.Trigger, err)
	}
	s.stop()
	if out := s.must("flow", "run", id, "--input", "name=Ada, Grace"); out != "text: Hello Ada, Grace!" {
		t.Errorf("flow run without a server printed %q", out)
	}
	elsewhere := stoppedServer(t)
	file := writeFile(t, "greet.json", greeting())
	if out := elsewhere.must("flow", "run", file, "--input", "name=@ada"); out != "text: Hello @ada!" { // @ means a file only where one is wanted
		t.Errorf("flow run of a file printed %q", out)
	}
	if _, err := os.Stat(filepath.Join(elsewhere.dir, "sluice.db")); !os.IsNotExist(err) {
		t.Errorf("running a file left a database behind: %v", err)
	}
}

// TestKeyCommands creates, lists and revokes keys while the server runs. Changes apply
// to the next request.
func TestKeyCommands(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	s := newServer(t)
	id, other := s.publish(greeting()), s.publish(greeting())
	var made struct{ ID, Key string }
	if err := json.Unmarshal([]byte(s.key("--flow", id, "--expires", "90d", "--json")), &made); err != nil {
		t.Fatal(err)
	}
	c := s.client(made.Key)
	c.succeed(id, object{"name": "Ada"})
	c.rejected(403, "flow_not_allowed", "POST", "/v1/flow/"+other+"/run", object{"name": "Ada"})
	list := s.must("key", "list")
	if !strings.Contains(list, made.ID) || strings.Contains(list, made.Key) || !strings.Contains(list, "active") {
		t.Errorf("key list must show the key's ID and state and not the key:\n%s", list)
	}
	rolled := s.must("key", "rotate", made.ID)
	s.client(rolled).succeed(id, object{"name": "Ada"})
	c.succeed(id, object{"name": "Ada"}) // the old secret still works
	if list := s.must("key", "list"); !strings.Contains(list, made.Key[:10]+"… until") || strings.Contains(list, rolled) {
		t.Errorf("key list does not show that the old text works on:\n%s", list)
	}
	again := s.must("key", "roll", made.ID, "--overlap", "0s")
	s.client(rolled).rejected(401, "key_revoked", "POST", "/v1/flow/"+id+"/run", object{"name": "Ada"})
	c = s.client(again)
	s.must("key", "revoke", made.ID)
	c.rejected(401, "key_revoked", "POST", "/v1/flow/"+id+"/run", object{"name": "Ada"})
	if list := s.must("key", "list"); !strings.Contains(list, "revoked") {
		t.Errorf("key list does not show that the key is revoked:\n%s", list)
	}
}

// TestKindsCommand checks that every kind is listed with its fields and ports.
func TestKindsCommand(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	var kinds []struct {
		Kind            string
		Fields, Outputs []object
	}
	if err := json.Unmarshal([]byte(stoppedServer(t).must("kinds", "--json")), &kinds); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, k := range kinds {
		found[k.Kind] = len(k.Fields) > 0 && len(k.Outputs) > 0
	}
	for _, name := range []string{"input", "output", "webhook", "template", "http_request", "classify"} {
		if !found[name] {
			t.Errorf("the kind %s is missing, or its fields or ports are", name)
		}
	}
}

// TestExitCodes checks the exit codes 0, 1 and 2, and that errors are one sentence on
// standard error that suggests a fix.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	s := stoppedServer(t)
	broken := writeFile(t, "broken.json", []byte(`{"schema": "sluice.flow/v1", "name": "x", "nodes": [{"id": "a", "kind": "inptu", "config": {}}], "edges": []}`))
	fine := writeFile(t, "fine.json", greeting())
	failing := writeFile(t, "failing.json", calling("http://127.0.0.1:1/nobody"))
	cases := []struct {
		name, stdin string
		args        []string
		code        int
		out, errs   string // a part of what is printed
	}{
		{"version", "", []string{"version"}, 0, "sluice ", ""},
		{"help", "", []string{"flow", "--help"}, 0, "import", ""},
		{"migrate", "", []string{"migrate"}, 0, "up to date", ""},
		{"migrate_again", "", []string{"migrate"}, 0, "up to date", ""},
		{"user", "correct horse battery\n", []string{"user", "add", "--email", "ada@example.com", "--password-stdin"}, 0, "ada@example.com", ""},
		{"user_twice", "correct horse battery\n", []string{"user", "add", "--email", "Ada@example.com", "--password-stdin"}, 1, "", "already a person"},
		{"short_password", "short\n", []string{"user", "add", "--email", "bob@example.com", "--password-stdin"}, 1, "", "10 to 512"},
		{"not_an_address", "", []string{"user", "add", "--email", "bob", "--password-stdin"}, 2, "", "not an email address"},
		{"validate", "", []string{"flow", "validate", fine}, 0, "fine", ""},
		{"validate_broken", "", []string{"flow", "validate", fine, broken}, 1, "inptu", "1 of 2"},
		{"import_broken", "", []string{"flow", "import", broken}, 1, "", "inptu"},
		{"import_missing", "", []string{"flow", "import", "/nowhere/flow.json"}, 1, "", "/nowhere/flow.json"},
		{"run_missing_input", "", []string{"flow", "run", fine}, 1, "", `"name" is required`},
		{"run_fails", "", []string{"flow", "run", failing, "-i", "n=1"}, 1, "", "(http_failed)"},
		{"run_bad_input", "", []string{"flow", "run", fine, "-i", "name"}, 2, "", "name=value"},
		{"export_unknown", "", []string{"flow", "export", "flow_nothing"}, 1, "", "flow list"},
		{"revoke_unknown", "", []string{"key", "revoke", "key_nothing"}, 1, "", "key list"},
		{"rotate_unknown", "", []string{"key", "rotate", "key_nothing"}, 1, "", "key list"},
		{"key_help", "", []string{"key", "create", "--help"}, 0, "--runs-per-day", ""},
		{"key_unknown_flow", "", []string{"key", "create", "--name", "x", "--flow", "flow_nothing"}, 1, "", "flow list"},
		{"key_without_name", "", []string{"key", "create"}, 2, "", "--name"},
		{"key_bad_scope", "", []string{"key", "create", "--name", "x", "--scope", "all"}, 2, "", "manage, edit, approve, admin"},
		{"key_no_scope", "", []string{"key", "create", "--name", "x", "--scope="}, 2, "", "--scope: wanted a list of at least one scope"},
		{"key_expires_at_once", "", []string{"key", "create", "--name", "x", "--expires=0d"}, 2, "", "is not a time span"},
		{"no_workers", "", []string{"flow", "list", "--workers", "0"}, 2, "", "at least 1"},
		{"no_public_url", "", []string{"flow", "list", "--public-url", "ftp://x"}, 2, "", "SLUICE_PUBLIC_URL"},
		{"unknown_command", "", []string{"flows"}, 2, "", "--help"},
		{"unknown_flag", "", []string{"flow", "list", "--all"}, 2, "", "--all"},
	}
	for _, c := range cases { // in this order, on one directory
		r := s.commandWith(c.stdin, c.args...)
		if r.code != c.code || !strings.Contains(r.out, c.out) || !strings.Contains(strings.ToLower(r.errs), strings.ToLower(c.errs)) {
			t.Errorf("%s: exit code %d, wanted %d\nout: %s\nerr: %s", c.name, r.code, c.code, r.out, r.errs)
		}
		if c.code != 0 {
			checkSentence(t, c.name, r.errs)
		}
	}
}

// checkSentence checks that an error is one line for a person.
func checkSentence(t *testing.T, name, errs string) {
	t.Helper()
	var own []string
	for line := range strings.Lines(errs) {
		if strings.HasPrefix(line, "sluice: ") {
			own = append(own, line)
		}
	}
	if len(own) != 1 || strings.Contains(errs, "goroutine ") || strings.Contains(errs, "SQL") {
		t.Errorf("%s: wanted one sentence on standard error, got:\n%s", name, errs)
	}
}

// TestServe_rejects_second_server_on_directory checks that a second server on one directory exits with the reason.
func TestServe_rejects_second_server_on_directory(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	if r := s.command("serve"); r.code != 1 || !strings.Contains(r.errs, "sluice: ") {
		t.Errorf("a second server ended with %d: %s", r.code, r.errs)
	}
}
