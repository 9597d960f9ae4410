package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// remoteShell runs commands in an empty directory, with nothing but the address of a server
// and a key, as a CI job does.
type remoteShell struct {
	t   *testing.T
	dir string
	env []string
}

// remoteTo returns a shell whose key has the given scopes.
func remoteTo(t *testing.T, s *server, scopes string) *remoteShell {
	t.Helper()
	dir := t.TempDir()
	return &remoteShell{t, dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SLUICE_URL=" + s.base(), "SLUICE_KEY=" + s.key("--scope", scopes)}}
}

// in returns the same shell for a subtest.
func (r *remoteShell) in(t *testing.T) *remoteShell { return &remoteShell{t, r.dir, r.env} }

func (r *remoteShell) run(args ...string) result {
	r.t.Helper()
	cmd := exec.Command(sluice, args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	return runCommand(r.t, cmd)
}

// must runs a command that must succeed and returns its output.
func (r *remoteShell) must(args ...string) string {
	r.t.Helper()
	got := r.run(args...)
	if got.code != 0 {
		r.t.Fatalf("sluice %s: exit code %d\n%s%s", strings.Join(args, " "), got.code, got.out, got.errs)
	}
	return got.out
}

// write writes a file below the directory.
func (r *remoteShell) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *remoteShell) read(name string) string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

// greet returns a document that greets in the given words. The input has the given name.
func greet(name, word, input string) string {
	return `{"schema": "sluice.flow/v1", "name": "` + name + `",
  "nodes": [
    {"id": "who", "kind": "input", "config": {"name": "` + input + `"}},
    {"id": "words", "kind": "template", "config": {"template": "` + word + ` {{who}}!"}},
    {"id": "out", "kind": "output", "config": {"name": "text"}}
  ],
  "edges": [{"from": "who.value", "to": "words.who"}, {"from": "words.text", "to": "out.value"}]}`
}

// TestFlowsFromFiles applies, compares and pulls flows with nothing but an address and a
// key.
func TestFlowsFromFiles(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	s := newServer(t)
	r := remoteTo(t, s, "edit,read,run")
	r.write("flows/greet.flow.json", greet("Greet people", "Hello", "name"))
	r.write("flows/more/part.flow.json", greet("Part", "Goodbye", "name"))

	if out := r.must("flow", "apply", "flows/", "--publish"); !strings.Contains(out, "created  greet  v1") || !strings.Contains(out, "created  part   v1") {
		t.Errorf("apply printed\n%s", out)
	}
	if out := r.must("flow", "apply", "flows/", "--publish"); strings.Count(out, "unchanged") != 2 || strings.Contains(out, "v2") {
		t.Errorf("applying again printed\n%s", out)
	}
	if out := r.must("flow", "run", "greet", "-i", "name=Ada"); out != "text: Hello Ada!\n" {
		t.Errorf("the run printed %q", out)
	}

	if got := r.run("flow", "run", "gret"); got.code != 1 || !strings.Contains(got.errs, "gret is neither a file nor a flow") {
		t.Errorf("exit code %d: %s", got.code, got.errs)
	}

	t.Run("refuses a breaking change and names the keys", func(t *testing.T) {
		r := r.in(t)
		r.write("flows/greet.flow.json", greet("Greet people", "Hello", "person"))
		got := r.run("flow", "apply", "flows", "--publish", "--fail-on-breaking")
		if got.code != 1 || !strings.Contains(got.errs, `"test"`) || !strings.Contains(got.errs, "name") || !strings.Contains(got.errs, "Nothing was applied") {
			t.Errorf("exit code %d: %s", got.code, got.errs)
		}
		if dry := r.run("flow", "apply", "flows", "--publish", "--fail-on-breaking", "--dry-run"); dry.code != 1 || !strings.Contains(dry.errs, `"test"`) {
			t.Errorf("a dry run: exit code %d: %s", dry.code, dry.errs)
		}
		if out := r.must("flow", "diff", "flows"); !strings.Contains(out, "Breaking changes") || !strings.Contains(out, "1 flow without changes") {
			t.Errorf("the diff is\n%s", out)
		}
		if out := r.must("flow", "run", "greet", "-i", "name=Ada"); out != "text: Hello Ada!\n" {
			t.Errorf("after the refusal a run printed %q", out)
		}
	})
	t.Run("changes nothing if one of the files is bad", func(t *testing.T) {
		r := r.in(t)
		r.write("flows/greet.flow.json", greet("Greet people", "Hi", "name"))
		r.write("flows/more/part.flow.json", strings.Replace(greet("Part", "Goodbye", "name"), `"template", "config"`, `"tempalte", "config"`, 1))
		got := r.run("flow", "apply", "flows", "--publish")
		if got.code != 1 || !strings.Contains(got.errs, "part.flow.json:4:") || !strings.Contains(got.errs, "tempalte") || strings.Contains(got.errs, "greet.flow.json") {
			t.Errorf("exit code %d: %s", got.code, got.errs)
		}
		r.write("flows/more/part.flow.json", "{\n\"schema\": \n}")
		if got := r.run("flow", "apply", "flows"); got.code != 1 || !strings.Contains(got.errs, "part.flow.json:3:") {
			t.Errorf("exit code %d: %s", got.code, got.errs)
		}
		if out := r.must("flow", "list"); strings.Contains(out, "  v2 ") || !strings.Contains(out, "greet") {
			t.Errorf("the flows are\n%s", out)
		}
	})
	t.Run("pulls canonical files", func(t *testing.T) {
		r := r.in(t)
		r.write("flows/more/part.flow.json", greet("Part", "Goodbye", "name"))
		r.must("flow", "apply", "flows", "--publish")
		if out := r.must("flow", "pull", "flows"); !strings.Contains(out, "flows/greet.flow.json\n") || !strings.Contains(out, "flows/more/part.flow.json\n") || strings.Contains(out, "flows/part.flow.json") {
			t.Errorf("pull wrote\n%s", out)
		}
		if text := r.read("flows/greet.flow.json"); !strings.Contains(text, `"slug": "greet"`) || text != r.must("flow", "export", "greet") {
			t.Errorf("the file is\n%s", text)
		}
		if out := r.must("flow", "pull", "flows"); out != "All files are up to date.\n" {
			t.Errorf("pulling again wrote\n%s", out)
		}
		if out := r.must("flow", "fmt", "flows", "--check"); out != "" {
			t.Errorf("pulled files are not in canonical form:\n%s", out)
		}
		if out := r.must("flow", "apply", "flows"); strings.Count(out, "unchanged") != strings.Count(out, "\n") {
			t.Errorf("applying pulled files printed\n%s", out)
		}
	})
	t.Run("takes a former slug only on request", func(t *testing.T) {
		r := r.in(t)
		r.write("one/old.flow.json", greet("Old", "Hello", "name"))
		r.must("flow", "apply", "one")
		c := s.client(s.key("--scope", "edit,read"))
		var renamed object
		if err := json.Unmarshal([]byte(greet("Old", "Hello", "name")), &renamed); err != nil {
			t.Fatal(err)
		}
		renamed["slug"] = "current"
		tag := c.want(200, "GET", "/v1/flow/old/document?version=draft", nil).header.Get("ETag")
		c.want(200, "PUT", "/v1/flow/old", renamed, "If-Match: "+tag)
		if got := r.run("flow", "apply", "one"); got.code != 1 || !strings.Contains(got.errs, "whose slug is now current") || !strings.Contains(got.errs, "--take-alias") {
			t.Errorf("exit code %d: %s", got.code, got.errs)
		}
		if out := r.must("flow", "apply", "one", "--take-alias"); !strings.Contains(out, "created") || !strings.Contains(out, "taken from current") {
			t.Errorf("apply printed\n%s", out)
		}
	})
	t.Run("takes exports of AI-Flow", func(t *testing.T) {
		r := r.in(t)
		export, err := os.ReadFile(filepath.FromSlash("../flow/document/aiflow/testdata/summary.json"))
		if err != nil {
			t.Fatal(err)
		}
		r.write("ai/shorten.flow.json", string(export))
		if out := r.must("flow", "apply", "ai"); !strings.Contains(out, "created  shorten") || !strings.Contains(out, "shorten: “url_input”: these settings have no place here: selectors") {
			t.Errorf("apply printed\n%s", out)
		}
		if out := r.must("flow", "apply", "ai"); !strings.Contains(out, "unchanged  shorten") {
			t.Errorf("applying again printed\n%s", out)
		}
		if dry := r.must("flow", "apply", "ai", "--dry-run", "--json"); !strings.Contains(dry, `"losses"`) {
			t.Errorf("apply printed\n%s", dry)
		}
		if out := s.must("flow", "import", filepath.Join(r.dir, "ai/shorten.flow.json"), "--json"); !strings.Contains(out, "with_html_tags") {
			t.Errorf("import printed\n%s", out)
		}
		if id := strings.TrimSpace(s.must("flow", "import", filepath.Join(r.dir, "ai/shorten.flow.json"))); !strings.Contains(r.must("flow", "export", id), `"schema": "sluice.flow/v1"`) {
			t.Errorf("import printed %q", id)
		}
	})
	// Only flows of the given source are archived, so the starters of the server stay.
	t.Run("archives what has no file any more", func(t *testing.T) {
		r := r.in(t)
		r.must("flow", "apply", "flows", "--source", "repo")
		if err := os.Remove(filepath.Join(r.dir, "flows/more/part.flow.json")); err != nil {
			t.Fatal(err)
		}
		if got := r.run("flow", "apply", "flows", "--prune"); got.code != 2 || !strings.Contains(got.errs, "--source") {
			t.Errorf("exit code %d: %s", got.code, got.errs)
		}
		if out := r.must("flow", "apply", "flows", "--prune", "--source", "repo"); !strings.Contains(out, "archived   part") {
			t.Errorf("apply printed\n%s", out)
		}
	})
}

// TestFlowFmt formats files without a server. Formatting again changes nothing.
func TestFlowFmt(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	dir := t.TempDir()
	r := &remoteShell{t, dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}}
	r.write("a.flow.json", greet("A", "Hello", "name"))
	if got := r.run("flow", "fmt", "--check", "."); got.code != 1 || got.out != "a.flow.json\n" || r.read("a.flow.json") != greet("A", "Hello", "name") {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.errs)
	}
	r.must("flow", "fmt", ".")
	first := r.read("a.flow.json")
	if out := r.must("flow", "fmt", "a.flow.json"); out != "" || r.read("a.flow.json") != first || !json.Valid([]byte(first)) {
		t.Errorf("formatting twice changes the file:\n%s", first)
	}
	r.write("b.flow.json", "{\n\"schema\": \"sluice.flow/v1\",\n\"nam\": \"B\"}")
	r.write("a.flow.json", greet("A", "Hi", "name"))
	if got := r.run("flow", "fmt", "."); got.code != 1 || !strings.Contains(got.errs, "b.flow.json:3: nam") || r.read("a.flow.json") != greet("A", "Hi", "name") {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.errs)
	}
}

// TestLogin saves a server and a key, and never sends the key elsewhere.
func TestLogin(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	s := newServer(t)
	key := s.publish(greeting())
	key = s.key("--flow", key)
	dir := t.TempDir()
	r := &remoteShell{t, dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}}
	login := func(stdin, url string) result {
		cmd := exec.Command(sluice, "login", url)
		cmd.Dir, cmd.Env, cmd.Stdin = r.dir, r.env, strings.NewReader(stdin)
		return runCommand(t, cmd)
	}
	if got := r.run("flow", "pull", "flows"); got.code != 1 || !strings.Contains(got.errs, "sluice login URL") {
		t.Errorf("without a server: exit code %d: %s", got.code, got.errs)
	}
	for url, want := range map[string]string{"http://sluice.example.com": "https://", "example.com": "is not the address", s.base(): "not a key"} {
		if got := login("slu_wrong\n", url); got.code == 0 || !strings.Contains(got.errs, want) {
			t.Errorf("%s: exit code %d: %s", url, got.code, got.errs)
		}
	}
	if got := login(key+"\n", s.base()); got.code != 0 {
		t.Fatal(got.errs)
	}
	file := filepath.Join(dir, ".config", "sluice", "login.json")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the login is saved as %v, %v", info, err)
	}
	if out := r.must("flow", "list"); !strings.Contains(out, "greet") {
		t.Errorf("the flows are\n%s", out)
	}
	if got := r.run("flow", "list", "--server", "http://127.0.0.1:1"); got.code != 2 || !strings.Contains(got.errs, "no key for http://127.0.0.1:1") {
		t.Errorf("another server: exit code %d: %s", got.code, got.errs)
	}
	if got := r.run("user", "password", "ada@example.com", "--server", s.base()); got.code != 2 || !strings.Contains(got.errs, "not managed over HTTP") {
		t.Errorf("a local command: exit code %d: %s", got.code, got.errs)
	}
	saveAs := func(name, url string) result {
		cmd := exec.Command(sluice, "login", "--name", name, url)
		cmd.Dir, cmd.Env, cmd.Stdin = r.dir, r.env, strings.NewReader(key+"\n")
		return runCommand(t, cmd)
	}
	if got := saveAs("Prod!", s.base()); got.code != 2 || !strings.Contains(got.errs, "cannot be the name") {
		t.Errorf("a bad name: exit code %d: %s", got.code, got.errs)
	}
	if got := saveAs("prod", s.base()); got.code != 0 || !strings.Contains(got.out, "--server prod") {
		t.Fatal(got.errs)
	}
	if got := r.run("flow", "list", "--server", "test"); got.code != 2 || !strings.Contains(got.errs, `no saved server "test"; saved are prod`) {
		t.Errorf("another name: exit code %d: %s", got.code, got.errs)
	}
	if got := r.run("flow", "list", "--server", "prod"); got.code != 0 || !strings.Contains(got.out, "greet") || got.errs != "" {
		t.Errorf("by name: exit code %d: %s%s", got.code, got.out, got.errs)
	}
	if got := r.run("flow", "run", "greet", "--input", "name=Ada", "--server", "prod"); !strings.Contains(got.errs, "Server: "+s.base()+" (prod)\n") {
		t.Errorf("a command that changes something does not name the server: exit code %d: %s", got.code, got.errs)
	}
	if got := r.run("logout", "--name", "test"); got.code != 2 {
		t.Errorf("logout of another name: exit code %d: %s", got.code, got.errs)
	}
	r.must("logout", "--name", "prod")
	if got := r.run("flow", "list", "--server", "prod"); got.code != 2 {
		t.Errorf("after the logout of prod: exit code %d: %s", got.code, got.errs)
	}
	if out := r.must("flow", "list"); !strings.Contains(out, "greet") {
		t.Errorf("the other login is gone: %s", out)
	}
	r.must("logout")
	if got := r.run("flow", "pull", "flows"); got.code != 1 {
		t.Errorf("after the logout: exit code %d: %s", got.code, got.errs)
	}
}

func (r *remoteShell) remove(name string) {
	r.t.Helper()
	if err := os.Remove(filepath.Join(r.dir, name)); err != nil {
		r.t.Fatal(err)
	}
}

// fileText returns the content of a file, or "" if it does not exist.
func fileText(path string) string {
	data, _ := os.ReadFile(path)
	return string(data)
}

// TestRemoteKeys manages keys of a server with nothing but a key.
func TestRemoteKeys(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	r := remoteTo(t, s, "admin,run,read")
	var made struct{ ID, Key string }
	if err := json.Unmarshal([]byte(r.must("key", "create", "--name", "deploy", "--scope", "admin,run", "--expires", "1d", "--rpm", "100", "--json")), &made); err != nil || !strings.HasPrefix(made.Key, "slu_") {
		t.Fatalf("made %+v, %v", made, err)
	}
	if list := r.must("key", "list"); !strings.Contains(list, made.ID) || strings.Contains(list, made.Key) {
		t.Errorf("listed %s", list)
	}
	second := strings.TrimSpace(r.must("key", "rotate", made.ID, "--overlap", "0"))
	below := remoteShell{t, r.dir, append(r.env[:len(r.env)-1:len(r.env)-1], "SLUICE_KEY="+second)}
	low := strings.TrimSpace(below.must("key", "create", "--name", "low", "--scope", "run"))
	if got := below.run("key", "create", "--name", "wide", "--scope", "edit"); got.code != 1 || !strings.Contains(got.errs, "exceed") {
		t.Errorf("a key made one with another scope: %+v", got)
	}
	if people := r.must("user", "list"); !strings.Contains(people, "EMAIL") {
		t.Errorf("people: %s", people)
	}
	if got := r.run("user", "remove", "ada@example.com"); got.code != 2 || !strings.Contains(got.errs, "not managed over HTTP") {
		t.Errorf("a person was removed over HTTP: %+v", got)
	}
	if got := r.run("key", "list", "--workspace", "ws_other"); got.code != 2 || !strings.Contains(got.errs, "workspace") {
		t.Errorf("another workspace: %+v", got)
	}
	r.must("key", "revoke", made.ID, "--cascade")
	for _, key := range []string{made.Key, second, low} {
		if a := s.client(key).do("GET", "/v1/flow", nil); a.status != 401 {
			t.Errorf("a revoked key gets %d", a.status)
		}
	}
}
