package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// door is a way to publish a flow. Both acts return the code of the error, or "".
type door struct {
	name string
	// publish makes a document live that is already the draft.
	publish func(t *testing.T, f *gatedFlow, document string) (code string)
	// back makes version 1 live again; nil if the door only publishes documents.
	back func(t *testing.T, f *gatedFlow) (code string)
}

// gatedFlow is a flow that goes live with a report only.
type gatedFlow struct {
	c        *client
	id, slug string
}

// newGatedFlow makes a document a published flow. Its gate needs a case that expects a text.
func newGatedFlow(t *testing.T, c *client, slug, document, expected string) *gatedFlow {
	t.Helper()
	c.want(200, "POST", "/v1/apply", []byte(`{"publish": true, "documents": [`+document+`]}`))
	f := &gatedFlow{c: c, slug: slug, id: fmt.Sprint(c.want(200, "GET", "/v1/flow/"+slug, nil).object(t)["flow_id"])}
	file := "/v1/flow/" + f.id + "/companions/tests"
	c.want(200, "PUT", file, object{"schema": "sluice.tests/v1", "gate": object{"pass_rate": 1}, "cases": []object{caseOf(expected)}}, "If-Match: "+c.want(200, "GET", file, nil).header.Get("ETag"))
	return f
}

// caseOf is a case that expects a text.
func caseOf(expected string) object {
	return object{"id": "ada", "inputs": object{"name": "Ada"}, "checks": []object{{"output": "text", "equals": expected}}}
}

// expect changes what the case expects.
func (f *gatedFlow) expect(text string) {
	f.c.want(200, "PUT", "/v1/flow/"+f.id+"/cases/ada", caseOf(text))
}

// draft makes a document the draft.
func (f *gatedFlow) draft(document string) {
	f.c.want(200, "POST", "/v1/apply", []byte(`{"force": true, "documents": [`+document+`]}`))
}

// tested tests the draft until the end. The test must pass.
func (f *gatedFlow) tested() {
	f.c.t.Helper()
	test := f.c.want(202, "POST", "/v1/flow/"+f.id+"/tests", object{"mode": "replay", "candidates": []object{{"version": "draft"}}}).object(f.c.t)
	f.ended()
	if a := f.c.want(200, "GET", fmt.Sprint("/v1/flow/", f.id, "/tests/", test["id"]), nil).object(f.c.t); a["state"] != "passed" {
		f.c.t.Fatalf("the test of %s is %v", f.slug, a["state"])
	}
}

// ended waits until no test of the flow is in progress.
func (f *gatedFlow) ended() {
	f.c.t.Helper()
	waitUntil(f.c.t, "the tests of "+f.slug+" have ended", func() bool {
		list := f.c.want(200, "GET", "/v1/flow/"+f.id+"/tests", nil).object(f.c.t)["tests"].([]any)
		return !slices.ContainsFunc(list, func(v any) bool { return v.(object)["status"] != "succeeded" })
	})
}

// live is the version that is live.
func (f *gatedFlow) live() string {
	f.c.t.Helper()
	return fmt.Sprint(f.c.want(200, "GET", "/v1/flow/"+f.id, nil).object(f.c.t)["version"])
}

// settled publishes a document through a door until no test is missing. Each is started at most once.
func (d *door) settled(t *testing.T, f *gatedFlow, document string) (code string) {
	t.Helper()
	for range 3 {
		if code = d.publish(t, f, document); code != "tests_required" {
			return code
		}
		f.ended()
	}
	return code
}

// TestGate_holds_at_every_door publishes through the API, apply, the command line, MCP and the dashboard: each refuses what does not pass, by the
// hashes of the document, of the cases and of the flows below, and each but apply goes back to an older version without a report.
func TestGate_holds_at_every_door(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.client(s.key("--scope", "run,read,edit,manage"))
	if r := s.commandWith(passphrase+"\n", "user", "add", "--email", ownerEmail, "--role", "owner", "--password-stdin"); r.code != 0 {
		t.Fatal(r.errs)
	}
	cookies := (&dashboard{server: s}).cookies()
	for _, d := range []door{
		{"API", func(t *testing.T, f *gatedFlow, _ string) string {
			return codeOf(t, c.do("POST", "/v1/flow/"+f.id+"/publish", object{}))
		}, func(t *testing.T, f *gatedFlow) string {
			return codeOf(t, c.do("POST", "/v1/flow/"+f.id+"/publish", object{"version": 1, "allow_breaking": true}))
		}},
		{"apply", func(t *testing.T, _ *gatedFlow, document string) string {
			return codeOf(t, c.do("POST", "/v1/apply", []byte(`{"publish": true, "force": true, "documents": [`+document+`]}`)))
		}, nil},
		{"command", func(_ *testing.T, f *gatedFlow, _ string) string {
			return codeOfCommand(s.command("flow", "publish", f.slug))
		},
			func(_ *testing.T, f *gatedFlow) string {
				return codeOfCommand(s.command("flow", "publish", f.slug, "--version", "1"))
			}},
		{"MCP", func(t *testing.T, f *gatedFlow, _ string) string { return publishTool(t, c, object{"flow": f.slug}) },
			func(t *testing.T, f *gatedFlow) string {
				return publishTool(t, c, object{"flow": f.slug, "version": 1})
			}},
		{"dashboard", func(t *testing.T, f *gatedFlow, _ string) string {
			return publishPage(t, s, cookies, "/flows/"+f.id+"/publish")
		},
			func(t *testing.T, f *gatedFlow) string {
				return publishPage(t, s, cookies, "/flows/"+f.id+"/versions/1/live")
			}},
	} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			slug := "below-" + strings.ToLower(d.name)
			document := func(words, label string) string {
				return fmt.Sprintf(`{"schema":"sluice.flow/v1","slug":%q,"name":"Below","nodes":[{"id":"in","kind":"input","config":{"name":"name"}},{"id":"words","kind":"template","label":%q,"config":{"template":"%s {{name}}"}},{"id":"out","kind":"output","config":{"name":"text"}}],"edges":[{"from":"in.value","to":"words.name"},{"from":"words.text","to":"out.value"}]}`, slug, label, words)
			}
			caller := func(label string) string {
				return fmt.Sprintf(`{"schema":"sluice.flow/v1","slug":"above-%[1]s","name":"Above","nodes":[{"id":"in","kind":"input","config":{"name":"name"}},{"id":"run","kind":"subflow","label":%[2]q,"config":{"flow":%[1]q}},{"id":"out","kind":"output","config":{"name":"text"}}],"edges":[{"from":"in.value","to":"run.input.name"},{"from":"run.text","to":"out.value"}]}`, slug, label)
			}
			own := &client{t, c.base, c.key}
			f := newGatedFlow(t, own, slug, document("Hello", "one"), "Hello Ada")
			above := newGatedFlow(t, own, "above-"+slug, caller("one"), "Hello Ada")
			is := func(f *gatedFlow, what, code, want, live string) {
				t.Helper()
				if now := f.live(); code != want || now != live {
					t.Fatalf("%s: code %q, version %s is live; wanted %q and %s", what, code, now, want, live)
				}
			}
			bad, good, better := document("Bye", "two"), document("Hello", "three"), document("Hello", "four")
			f.draft(bad)
			is(f, "a document that fails", d.settled(t, f, bad), "tests_failed", "1")
			f.draft(good)
			is(f, "without a report", d.publish(t, f, good), "tests_required", "1")
			f.ended()
			is(f, "a document that passes", d.publish(t, f, good), "", "2")

			f.draft(better)
			f.tested()
			f.expect("Never Ada")
			is(f, "a changed case", d.settled(t, f, better), "tests_failed", "2")
			f.expect("Hello Ada")
			is(f, "the tested case", d.publish(t, f, better), "", "3")

			above.draft(caller("two"))
			above.tested()
			f.expect("Bye Ada")
			f.draft(bad)
			f.tested()
			own.want(200, "POST", "/v1/flow/"+f.id+"/publish", object{})
			is(above, "a flow that runs a changed one", d.publish(t, above, caller("two")), "tests_required", "1")
			above.ended()
			is(above, "a flow that fails with a changed one", d.publish(t, above, caller("two")), "tests_failed", "1")

			if d.back != nil {
				is(f, "going back", d.back(t, f), "", "1")
			}
		})
	}
}

// codeOf returns the code of a response of the API; "" for a success.
func codeOf(t *testing.T, a *response) string {
	t.Helper()
	if a.status == http.StatusOK {
		return ""
	}
	code, _ := a.object(t)["code"].(string)
	return code
}

// codeOfCommand returns the code that what a command says stands for.
func codeOfCommand(r result) string {
	switch {
	case r.code == 0:
		return ""
	case strings.Contains(r.errs, "does not pass the gate"):
		return "tests_failed"
	case strings.Contains(r.errs, "Publish again when it has ended"):
		return "tests_required"
	}
	return r.errs
}

// publishTool calls the tool publish_flow.
func publishTool(t *testing.T, c *client, given object) string {
	t.Helper()
	a := c.want(200, "POST", "/mcp?tools=authoring", object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{"name": "publish_flow", "arguments": given}}, "Accept: application/json, text/event-stream")
	body := strings.TrimSpace(string(a.body))
	if at := strings.Index(body, "data: "); at >= 0 {
		body = body[at+len("data: "):]
	}
	var said struct {
		Result struct {
			IsError bool
			Meta    struct{ Code string } `json:"_meta"`
		}
	}
	if err := json.Unmarshal([]byte(body), &said); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	if said.Result.IsError && said.Result.Meta.Code == "" {
		t.Fatal(body)
	}
	return said.Result.Meta.Code
}

// publishPage sends the form of a page as a person who is signed in.
func publishPage(t *testing.T, s *server, cookies, path string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base()+path, strings.NewReader(url.Values{}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Cookie", cookies)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	a, err := plain.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	switch {
	case a.StatusCode == http.StatusSeeOther:
		return ""
	case a.StatusCode == http.StatusConflict && strings.Contains(page, "pass its tests"):
		return "tests_failed"
	case a.StatusCode == http.StatusConflict && strings.Contains(page, "Testing the draft"):
		return "tests_required"
	}
	return a.Status + page
}
