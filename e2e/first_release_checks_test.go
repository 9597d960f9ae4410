package e2e

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
)

// firstCheck checks a database of the first release through a server of this program.
type firstCheck struct {
	t     *testing.T
	s     *server
	o     *outside
	names *firstNames
}

func (f *firstCheck) all() {
	f.ended()
	f.keys()
	f.secrets()
	f.open()
	f.deliveries()
	f.operator()
}

// ended checks that ended runs are unchanged.
func (f *firstCheck) ended() {
	c := f.s.client(f.names.Keys["all"])
	for _, name := range []string{"greeted", "secret", "failed", "hooked", "pending", "canceled"} {
		then := f.names.Runs[name]
		now := c.want(200, "GET", then.path(), nil).run(f.t)
		if was, is := kept(then), kept(now); was != is {
			f.t.Errorf("the run %s was %s and is %s", name, was, is)
		}
	}
	if steps := c.steps(f.names.Runs["greeted"]); steps["greet"].State != "succeeded" {
		f.t.Errorf("the steps of a run: %+v", steps)
	}
	if again := c.start(f.names.Flows["greet"], object{"name": "Ada"}, "Idempotency-Key: once"); again.ID != f.names.Runs["greeted"].ID {
		f.t.Errorf("the idempotency key of %s started %s", f.names.Runs["greeted"].ID, again.ID)
	}
	if a := c.want(200, "GET", "/v1/files/"+f.names.File, nil); string(a.body) != firstText {
		f.t.Errorf("the file holds %q", a.body)
	}
}

// kept returns the parts of a run that an upgrade must preserve.
func kept(r *run) string {
	data, _ := json.Marshal([]any{r.ID, r.FlowID, r.Version, r.Status, r.Inputs, r.Outputs, r.Error, r.Trigger, r.Parent, r.Metadata})
	return string(data)
}

// keys checks that every key keeps its permissions.
func (f *firstCheck) keys() {
	start := "/v1/flow/" + f.names.Flows["greet"] + "/run"
	for name, want := range map[string]int{"all": 202, "greet": 202, "rolled": 202, "fresh": 202, "read": 403, "revoked": 401} {
		if a := f.s.client(f.names.Keys[name]).do("POST", start, object{"name": "Bo"}); a.status != want {
			f.t.Errorf("a start with the key %q: status %d, want %d\n%s", name, a.status, want, a.body)
		}
	}
	if a := f.s.client(f.names.Keys["greet"]).do("POST", "/v1/flow/"+f.names.Flows["secret"]+"/run", object{}); a.status < 400 {
		f.t.Errorf("a key starts a flow that it was not made for: status %d", a.status)
	}
}

// secrets checks that encrypted secrets can be decrypted.
func (f *firstCheck) secrets() {
	c := f.s.client(f.names.Keys["all"])
	c.succeed(f.names.Flows["secret"], object{})
	if secret := f.s.must("flow", "secret", f.names.Flows["typed"]); secret != f.names.Signing["typed"] {
		f.t.Error("the secret of a webhook whose URL is typed has changed")
	}
	d := &dashboard{server: f.s}
	(&client{f.t, f.s.base, ""}).want(200, "GET", "/flows", nil, "Cookie: "+d.cookies(), "Sec-Fetch-Site: same-origin")
}

// open checks that unfinished runs end, and that recorded steps are not called again.
func (f *firstCheck) open() {
	c := f.s.client(f.names.Keys["all"])
	for name, r := range f.names.Runs {
		if !strings.HasPrefix(name, "open") && name != "waiting" {
			continue
		}
		if now := c.await(r); now.Status != "succeeded" {
			f.t.Errorf("the run %s %s: %+v", name, now.Status, now.Error)
		}
		if name == "waiting" {
			continue
		}
		key, _ := c.want(200, "GET", r.path(), nil).run(f.t).Outputs["got"].(object)
		if key["key"] != r.ID+":b" || f.o.called("/hang", r.ID+":b") == 0 {
			f.t.Errorf("the run %s has the outputs %v", name, key)
		}
	}
	recorded := 0
	for name, r := range f.names.Runs {
		if n := f.o.called("/ok", r.ID+":a"); strings.HasPrefix(name, "open") && n == 0 {
			recorded++
		}
	}
	if !*writeFirstRelease && recorded < 4 {
		f.t.Errorf("the recorded step of only %d runs was not repeated, want 4", recorded)
	}
}

// deliveries checks that the failed webhook is delivered, signed as before.
func (f *firstCheck) deliveries() {
	waitUntil(f.t, "the webhook is delivered", func() bool { return len(f.o.hook("/hook/later")) > 0 })
	came := f.o.hook("/hook/later")
	verify(f.t, f.names.Signing["hook"], came[len(came)-1])
	if n := len(f.o.hook("/hook/done")); n > 0 && !*writeFirstRelease {
		f.t.Errorf("a webhook that was delivered came %d times more", n)
	}
}

// operator checks that commands report no problems.
func (f *firstCheck) operator() {
	f.s.must("audit", "verify")
	if r := f.s.command("doctor"); strings.Contains(r.out, "damaged") || strings.Contains(r.out, "is missing") {
		f.t.Errorf("doctor:\n%s", r.out)
	}
}

func gunzip(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
