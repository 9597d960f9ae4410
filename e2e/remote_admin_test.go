package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"sluice/providers/hosted/hostedtest"
)

// with runs a command that must succeed, with a text as its standard input. It returns
// standard output and standard error.
func (r *remoteShell) with(stdin string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command(sluice, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.dir, r.env, strings.NewReader(stdin)
	got := runCommand(r.t, cmd)
	if got.code != 0 {
		r.t.Fatalf("sluice %s: exit code %d\n%s%s", strings.Join(args, " "), got.code, got.out, got.errs)
	}
	return got.out + got.errs
}

// refuses runs a command that must fail with an exit code and a message: 1 for a
// refusal by the server, 2 for a mistake in the command.
func (r *remoteShell) refuses(code int, want string, args ...string) {
	r.t.Helper()
	if got := r.run(args...); got.code != code || !strings.Contains(got.errs, want) {
		r.t.Errorf("sluice %s: exit code %d, %q; wanted %d, %q", strings.Join(args, " "), got.code, got.errs, code, want)
	}
}

// TestRemoteCredentials manages the credentials of a server over HTTP, with nothing but
// a key. The secret must not be printed, logged or stored in plain text, and a base URL
// that was set this way may not lead to a private address.
func TestRemoteCredentials(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	models := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a private address was called")
	}))
	t.Cleanup(models.Close)
	s := newServer(t, "SLUICE_ALLOW_PRIVATE=")
	r := remoteTo(t, s, "admin,edit,read")
	var seen strings.Builder
	say := func(text, want string) {
		t.Helper()
		if seen.WriteString(text); !strings.Contains(text, want) {
			t.Errorf("printed %q, wanted %q", text, want)
		}
	}
	const secret = "sk-remote-canary-2f9c"
	say(r.with(secret, "credential", "add", "--name", "hook", "--host", "api.example.com"), "hook is stored and may be sent to api.example.com.")
	say(r.must("credential", "limits", "hook", "--at-once", "2"), "2 at once")
	say(r.with(secret, "credential", "add", "--name", "hook", "--host", "api.example.org"), "hook is replaced and may be sent to api.example.org.")
	say(r.must("credential", "limits", "hook"), "2 at once") // replacing keeps the limits
	say(r.with(secret, "credential", "add", "--name", "gpu", "--provider", "vllm", "--base-url", models.URL+"/v1"), "gpu is stored")
	r.refuses(1, "", "credential", "test", "gpu")
	r.refuses(2, "credential add", "credential", "hosts", "hook", "--host", "evil.example.com")
	user := s.publish(documentOf("Use it", []object{
		node("ask", "http_request", object{"url": "https://api.example.org/", "headers": object{"Authorization": object{"credential": "hook"}}}), output("text"),
	}, "ask.body > out_text.value"))
	say(r.must("credential", "list"), "Use it")
	say(r.must("credential", "list", "--json"), user)
	r.refuses(1, "used by Use it", "credential", "remove", "hook")
	say(r.must("credential", "remove", "hook", "--force"), "hook is removed.")
	r.refuses(1, "there is no credential hook", "credential", "remove", "hook", "--force")
	r.refuses(1, "there is no credential hook", "credential", "limits", "hook", "--per-minute", "3")
	if strings.Contains(seen.String(), secret) {
		t.Error("a secret was printed")
	}
	low := remoteTo(t, s, "run,read,manage,edit")
	low.refuses(1, `"admin"`, "credential", "list")
	s.stop()
	if log := s.process().out.String() + s.process().errs.String(); strings.Contains(log, secret) {
		t.Error("a secret is in the log")
	}
	wantNotOnDisk(t, "credential over HTTP", secret, s.dir)
}

// TestRemoteAdministration runs the commands for operators over HTTP, with nothing but
// a key. Their output must be the same as on the machine of the server.
func TestRemoteAdministration(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	platform := hostedtest.New(t)
	platform.AddModel(hostedtest.Model{Owner: "acme", Name: "paint", Schemas: paint})
	s := newServer(t, "SLUICE_REPLICATE_URL="+platform.URL, "REPLICATE_API_TOKEN="+hostedtest.Secret)
	r := remoteTo(t, s, "admin,edit,read,manage,run")
	hook := newReceiver(t, nil)
	id := s.publish(documentOf("Tell", []object{
		input("name"), node("greet", "template", object{"template": "Hello {{name}}!"}), output("text"), node("hook", "webhook", object{"url": hook.URL + "/hook"}),
	}, "name.value > greet.name", "greet.text > out_text.value"))
	same := func(args ...string) {
		t.Helper()
		if here, there := s.must(args...), strings.TrimSpace(r.must(args...)); here != there || here == "" {
			t.Errorf("sluice %s\non the machine %s\nover HTTP %s", strings.Join(args, " "), here, there)
		}
	}

	t.Run("prices", func(t *testing.T) {
		r.must("price", "set", "openai/gpt-x", "--input", "2.5", "--output", "10")
		r.must("price", "set", "openai/gpt-x", "--output", "12")
		same("price", "list")
		same("price", "list", "gpt", "--json")
		if list := r.must("price", "list"); !strings.Contains(list, "2.5") || !strings.Contains(list, "12") {
			t.Errorf("listed %s", list)
		}
		r.must("price", "remove", "openai/gpt-x")
		r.refuses(1, "there is no price", "price", "remove", "openai/gpt-x")
		r.refuses(2, "provider/model", "price", "set", "gpt-x", "--input", "1")
	})
	t.Run("models", func(t *testing.T) {
		same("provider", "list")
		same("provider", "list", "--json")
		same("model", "list")
		same("model", "show", "acme/paint")
		same("model", "show", "acme/paint", "--node")
		same("model", "show", "acme/paint", "--json")
		r.refuses(2, "there is no category", "model", "list", "--category", "none")
		r.refuses(1, `there is no provider "none"`, "provider", "models", "none")
		r.refuses(1, "no model acme/none", "model", "show", "acme/none")
		r.refuses(1, "was found on the server's machine", "provider", "models", "lmstudio")
	})
	t.Run("limits of a flow", func(t *testing.T) {
		if out := r.must("flow", "limits", "tell", "--max-running", "3", "--usd-per-day", "2.5"); !strings.Contains(out, "2.5") {
			t.Errorf("set %s", out)
		}
		same("flow", "limits", id)
		same("flow", "limits", id, "--json")
		r.must("flow", "limits", id, "--max-running", "0", "--usd-per-day", "0")
		if out := r.must("flow", "limits", id); strings.Contains(out, "3") {
			t.Errorf("removed %s", out)
		}
		r.refuses(1, "there is no such flow", "flow", "limits", "none")
	})
	t.Run("quotas", func(t *testing.T) {
		if out := r.must("workspace", "limits", "set", "default", "--bytes", "5GiB"); !strings.Contains(out, "set for this workspace") {
			t.Errorf("set %s", out)
		}
		same("workspace", "limits", "list")
		same("workspace", "limits", "show", "default", "--json")
		r.must("workspace", "limits", "set", "default", "--bytes", "default")
		r.refuses(1, "there is no workspace", "workspace", "limits", "show", "Nobody")
	})
	t.Run("audit log", func(t *testing.T) { same("audit", "verify", "--json") })
	t.Run("webhook secrets", func(t *testing.T) {
		r := r.in(t)
		same("flow", "secret", id)
		before := r.must("flow", "secret", id)
		if made := r.must("flow", "secret", "tell", "--rotate"); made == before || made != r.must("flow", "secret", "tell", "--node", "hook") {
			t.Errorf("rotated %s to %s", before, made)
		}
		r.refuses(1, "choose one of: hook", "flow", "secret", id, "--node", "none")
		var made struct {
			ID     string
			Secret string `json:"webhook_secret"`
		}
		if err := json.Unmarshal([]byte(r.must("key", "create", "--name", "low", "--json")), &made); err != nil || strings.TrimSpace(r.must("key", "secret", made.ID)) != made.Secret {
			t.Errorf("made %+v, %v", made, err)
		}
		var other struct{ ID string }
		if err := json.Unmarshal([]byte(s.key("--json")), &other); err != nil {
			t.Fatal(err)
		}
		r.refuses(1, "did not make this key", "key", "secret", other.ID)
	})
	t.Run("imports", func(t *testing.T) {
		r := r.in(t)
		r.write("one.json", greet("One", "Hello", "name"))
		r.write("two.json", greet("Two", "Hello", "name"))
		ids := strings.Fields(r.must("flow", "import", "one.json", "two.json", "--publish"))
		if len(ids) != 2 || !strings.Contains(r.must("flow", "list"), ids[1]) {
			t.Fatalf("imported %q", ids)
		}
		r.write("one.json", greet("One more", "Good morning", "name"))
		if out := r.must("flow", "import", "--id", "one", "one.json", "--publish", "--json"); !strings.Contains(out, ids[0]) || !strings.Contains(out, `"version": 2`) {
			t.Errorf("replaced %s", out)
		}
		r.write("one.json", greet("One more", "Good morning", "who"))
		r.refuses(1, "not published", "flow", "import", "--id", "one", "one.json", "--publish")
		r.write("bad.json", strings.Replace(greet("Bad", "x", "name"), `"template", "config"`, `"tempalte", "config"`, 1))
		r.refuses(1, "bad.json:4:", "flow", "import", "two.json", "bad.json")
		if out := r.must("flow", "list"); strings.Contains(out, "two-2") {
			t.Errorf("a part was imported:\n%s", out)
		}
	})
}
