package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// lookedUp asks a service with a credential, and runs another flow, which asks it too.
const lookedUp = `{"schema":"sluice.flow/v1","slug":"look-up","name":"Look up","nodes":[
	{"id":"in","kind":"input","config":{"name":"word","type":"text"}},
	{"id":"get","kind":"http_request","config":{"method":"GET","url":"%[1]s/get?word={{word}}","headers":{"Authorization":{"credential":"api"}}}},
	{"id":"again","kind":"subflow","config":{"flow":"below"}},
	{"id":"out","kind":"output","config":{"name":"answer"}},{"id":"out2","kind":"output","config":{"name":"below"}}],
	"edges":[{"from":"in.value","to":"get.word"},{"from":"get.body","to":"out.value"},{"from":"in.value","to":"again.input.word"},{"from":"again.answer","to":"out2.value"}]}`

const lookedUpBelow = `{"schema":"sluice.flow/v1","slug":"below","name":"Below","nodes":[
	{"id":"in","kind":"input","config":{"name":"word","type":"text"}},
	{"id":"get","kind":"http_request","config":{"method":"GET","url":"%[1]s/below?word={{word}}"}},
	{"id":"out","kind":"output","config":{"name":"answer"}}],
	"edges":[{"from":"in.value","to":"get.word"},{"from":"get.body","to":"out.value"}]}`

// testFixture is a directory with a flow, one that it runs, and cases, and a data directory with the credential.
type testFixture struct {
	t         *testing.T
	dir, data string
	asked     atomic.Int64
	service   *httptest.Server
}

func newTestFixture(t *testing.T) *testFixture {
	t.Helper()
	x := &testFixture{t: t, dir: t.TempDir(), data: t.TempDir()}
	x.service = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := x.asked.Add(1)
		if r.URL.Path == "/get" && r.Header.Get("Authorization") != "Bearer of-the-test" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"n": %d, "word": %q}`, n, r.URL.Query().Get("word"))
	}))
	t.Cleanup(x.service.Close)
	x.write("look-up.flow.json", fmt.Sprintf(lookedUp, x.service.URL))
	x.write("below.flow.json", fmt.Sprintf(lookedUpBelow, x.service.URL))
	x.write("look-up.tests.json", `{"schema":"sluice.tests/v1","cases":[
		{"id":"first","inputs":{"word":"Ann"},"tags":["must"],"checks":[{"output":"answer","equals":{"word":"Ann"},"ignore":["/n"]},{"output":"below","equals":{"word":"Ann"},"ignore":["/n"]}]},
		{"id":"second","inputs":{"word":"Bob"}}]}`)
	return x
}

func (x *testFixture) write(name, text string) {
	x.t.Helper()
	if err := os.WriteFile(filepath.Join(x.dir, name), []byte(text), 0o600); err != nil {
		x.t.Fatal(err)
	}
}

// run runs a command, which must end with a code, and returns what it prints.
func (x *testFixture) run(want int, args ...string) string {
	x.t.Helper()
	var out, errs bytes.Buffer
	if code := run(args, strings.NewReader("Bearer of-the-test"), &out, &errs); code != want {
		x.t.Fatalf("sluice %s: exit %d, wanted %d:\n%s%s", strings.Join(args, " "), code, want, &out, &errs)
	}
	return out.String() + errs.String()
}

func (x *testFixture) recordings() []string {
	x.t.Helper()
	list, err := filepath.Glob(filepath.Join(x.dir, "look-up.tests", "*.json"))
	if err != nil {
		x.t.Fatal(err)
	}
	return list
}

// TestTestRun_needs_no_server_and_no_key records results once, and replays them without the service, the credential and a database.
func TestTestRun_needs_no_server_and_no_key(t *testing.T) {
	t.Parallel()
	x := newTestFixture(t)
	nowhere := "--data-dir=" + filepath.Join(t.TempDir(), "none")
	if out := x.run(exitStale, "test", x.dir, nowhere); !strings.Contains(out, "2 stale") || !strings.Contains(out, "first: stale. get has no recorded result.") {
		t.Errorf("without recordings: %s", out)
	}
	if n := x.asked.Load(); n != 0 {
		t.Fatalf("a replay sent %d requests", n)
	}
	host := strings.TrimPrefix(x.service.URL, "http://")
	x.run(exitOK, "migrate", "--data-dir="+x.data)
	x.run(exitOK, "credential", "add", "--name", "api", "--host", host, "--data-dir="+x.data)
	out := x.run(exitOK, "test", filepath.Join(x.dir, "look-up.flow.json"), "--mode", "fill", "--allow-private=127.0.0.0/8", "--data-dir="+x.data)
	if n := x.asked.Load(); n != 4 || len(x.recordings()) != 4 || !strings.Contains(out, "the result of get,") {
		t.Fatalf("filling sent %d requests and wrote %d recordings: %s", n, len(x.recordings()), out)
	}
	x.service.Close()
	junit, markdown := filepath.Join(x.dir, "junit.xml"), filepath.Join(x.dir, "report.md")
	out = x.run(exitOK, "test", x.dir, "--junit", junit, "--markdown", markdown, nowhere)
	if !strings.HasPrefix(out, "look-up: 2 of 2 pass.") {
		t.Errorf("replayed: %s", out)
	}
	xml, err := os.ReadFile(junit)
	if err != nil || !strings.Contains(string(xml), `<testsuite name="look-up: the draft" tests="2" failures="0" errors="0"`) || strings.Count(string(xml), "<testsuites") != 1 || !strings.HasSuffix(string(xml), "</testsuites>\n") {
		t.Errorf("%v\n%s", err, xml)
	}
	comment, err := os.ReadFile(markdown)
	if err != nil || !strings.HasPrefix(string(comment), "**look-up:** 2 of 2 pass.") {
		t.Errorf("%v\n%s", err, comment)
	}
	var reports []struct{ State, Mode string }
	if err := json.Unmarshal([]byte(x.run(exitOK, "test", x.dir, "--json", "--tags", "must", nowhere)), &reports); err != nil || len(reports) != 1 || reports[0].State != "passed" || reports[0].Mode != "replay" {
		t.Errorf("as JSON: %v %+v", err, reports)
	}
}

// TestTestRun_ends_with_a_code_for_CI has a code for what failed, for what is stale, and for what cannot run.
func TestTestRun_ends_with_a_code_for_CI(t *testing.T) {
	t.Parallel()
	x := newTestFixture(t)
	nowhere := "--data-dir=" + filepath.Join(t.TempDir(), "none")
	x.write("look-up.flow.json", `{"schema":"sluice.flow/v1","name":"Look up","nodes":[{"id":"in","kind":"input","config":{"name":"word","type":"text"}},{"id":"out","kind":"output","config":{"name":"answer"}}],"edges":[{"from":"in.value","to":"out.value"}]}`)
	cases := func(check string) {
		x.write("look-up.tests.json", `{"schema":"sluice.tests/v1","cases":[{"id":"one","inputs":{"word":"Ann"},"checks":[`+check+`]}]}`)
	}
	cases(`{"output":"answer","equals":"Ann"}`)
	x.run(exitOK, "test", x.dir, nowhere)
	cases(`{"output":"answer","equals":"Bob"}`)
	if out := x.run(exitError, "test", x.dir, nowhere); !strings.Contains(out, `one: failed. answer equals: wanted "Bob", got "Ann"`) {
		t.Errorf("what failed: %s", out)
	}
	cases(`{"output":"answer","equal":"Bob"}`)
	if out := x.run(exitError, "test", x.dir, nowhere); !strings.Contains(out, "look-up.tests.json:1: ") {
		t.Errorf("an invalid file: %s", out)
	}
	x.run(exitUsage, "test", nowhere)
	x.run(exitUsage, "test", x.dir, "--mode", "fast", nowhere)
	x.run(exitError, "test", filepath.Join(x.dir, "none.flow.json"), nowhere)
	cases("")
	x.run(exitUsage, "test", x.dir, "--tags", "none", nowhere)
	if err := os.Remove(filepath.Join(x.dir, "look-up.tests.json")); err != nil {
		t.Fatal(err)
	}
	if out := x.run(exitError, "test", x.dir, nowhere); !strings.Contains(out, "there is no SLUG.tests.json") {
		t.Errorf("without cases: %s", out)
	}
}
