package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/e2e/need"
	"sluice/providers/hosted/hostedtest"
)

// operationSample finds the operations of the API reference and the first sample of each.
var operationSample = regexp.MustCompile("(?s)\n`([A-Z]+ /[^`]*)`\n.*?\n```sh\n(.*?)\n```\n")

// exampleFile is the ID of a file in samples.
const exampleFile = "file_01m7z26njgm1r68xj6qyhfyvty"

// sampler runs the samples of the API reference.
type sampler struct {
	*server
	c        *client           // with a key for everything
	provider string            // URL of a model server
	table    string            // flow with the input text
	shared   map[string]string // values of shell variables, for all samples
}

// TestReference_samples_work runs the curl command of each operation in the API reference, exactly as
// it is printed, against a server that has what the command names.
func TestReference_samples_work(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("curl")
	need.Tool(t, "curl is not installed", err == nil)
	text, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	operations := operationSample.FindAllStringSubmatch(string(text), -1)
	if len(operations) < 60 {
		t.Fatalf("the page has only %d operations", len(operations))
	}
	// The others change the flow that this one creates.
	first := slices.IndexFunc(operations, func(o []string) bool { return o[1] == "POST /v1/flow" })
	operations = slices.Concat(operations[first:first+1], operations)
	operations = slices.Delete(operations, first+1, first+2)
	s := newSampler(t)
	for _, o := range operations {
		if strings.Contains(o[1], " /v1/companions/{companion}") {
			continue // the sample is one of a flow
		}
		if strings.HasSuffix(o[1], "/marks") {
			continue // it needs a verdict of a model
		}
		s.run(o[1], o[2], s.variables(o[1]))
	}
}

// curlCommand finds each curl command in a block of a page.
var curlCommand = regexp.MustCompile(`(?m)^curl (?:[^\n]*\\\n)*[^\n]*`)

// TestPages_have_commands_that_work runs the curl commands of the other pages of the documentation.
func TestPages_have_commands_that_work(t *testing.T) {
	t.Parallel()
	s := newSampler(t)
	photo := s.publish(documentOf("Photo", []object{node("photo", "input", object{"name": "photo", "type": "file"}), output("same")}, "photo.value > out_same.value"))
	file := s.upload()
	asking := documentOf("Ask", []object{input("ticket"), node("ask", "approval", object{"values": []string{"reply"}, "editable": []string{"reply"}}), output("sent")}, "ticket.value > ask.reply", "ask.reply > out_sent.value")
	for page, want := range map[string]int{"runs": 9, "files": 4, "errors": 1, "keys": 1, "publishing": 1, "streaming": 2, "webhooks": 3} {
		count := 0
		for _, block := range sampleBlocks(t, page, "sh") {
			for _, command := range curlCommand.FindAllString(block, -1) {
				values := map[string]string{"URL": s.base() + "/v1/files/" + file}
				maps.Copy(values, s.shared)
				switch {
				case strings.Contains(command, "/approvals"):
					run := s.waiting(asking, object{"ticket": "a"})
					values["FLOW"], values["RUN"], values["KEY"] = run.FlowID, run.ID, s.key("--scope", "read,approve")
				case strings.Contains(command, `"photo"`):
					values["FLOW"] = photo
					values["FILE"] = file
				case strings.Contains(command, "$URL"):
					command += ` -H "Authorization: Bearer $KEY"` // in place of the signature of a link
				}
				s.run(page, command, values)
				count++
			}
		}
		if count != want {
			t.Errorf("%s has %d curl commands, the test knows %d", page, count, want)
		}
	}
}

// run executes a command of a page. The response must be a success.
func (s *sampler) run(where, command string, values map[string]string) {
	s.t.Helper()
	script := strings.ReplaceAll(command, "http://127.0.0.1:8080", s.base())
	if values["FILE"] != "" {
		script = strings.ReplaceAll(script, exampleFile, values["FILE"])
	}
	cmd := exec.Command("sh", "-euc", strings.Replace(script, "curl ", "curl -sS -w '\\n%{http_code}' ", 1))
	cmd.Dir, cmd.Env = filepath.Dir(writeFile(s.t, "cat.png", []byte("\x89PNG"))), environment()
	for name, value := range values {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	r := runCommand(s.t, cmd)
	if lines := strings.Split(strings.TrimSpace(r.out), "\n"); r.code != 0 || !strings.HasPrefix(lines[len(lines)-1], "2") {
		s.t.Errorf("%s: %s\n%s\n%s", where, command, r.errs, r.out)
	}
}

// upload uploads a picture and returns its ID.
func (s *sampler) upload() string { return s.uploadAs("a.png", "image/png", "\x89PNG\r\n\x1a\n") }

// uploadAs uploads a file and returns its ID.
func (s *sampler) uploadAs(name, mediaType, content string) string {
	part := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\nContent-Type: " + mediaType + "\r\n\r\n" + content + "\r\n--x--\r\n"
	return s.c.want(201, "POST", "/v1/files", []byte(part), "Content-Type: multipart/form-data; boundary=x").object(s.t)["file"].(string)
}

// waiting starts a run and waits until it asks a person.
func (s *sampler) waiting(document []byte, inputs object) *run {
	r := s.c.start(s.publish(document), inputs)
	s.waitUntil("the run asks", func() bool { return s.c.do("GET", r.path(), nil).run(s.t).Status == "waiting" })
	return r
}

// newSampler starts a server and creates what most samples need.
func newSampler(t *testing.T) *sampler {
	platform := hostedtest.New(t)
	platform.AddModel(hostedtest.Model{Owner: "acme", Name: "paint", Schemas: paint})
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "test"}]}`))
	}))
	t.Cleanup(provider.Close)
	s := &sampler{server: newServer(t, "SLUICE_REPLICATE_URL="+platform.URL, "REPLICATE_API_TOKEN="+hostedtest.Secret)}
	s.provider = provider.URL
	s.connect()
	key := s.key("--scope", "run,read,manage,edit,approve,admin")
	s.c = s.client(key)
	hook := newReceiver(t, nil)
	flow := s.publish(documentOf("Answer", []object{
		input("ticket"), node("team", "template", object{"template": "billing: {{ticket}}"}), node("write", "template", object{"template": "Re: {{ticket}}"}), output("reply"), node("notify", "webhook", object{"url": hook.URL + "/hook"}),
	}, "ticket.value > team.ticket", "team.text > write.ticket", "write.text > out_reply.value"))
	s.table = s.publish(documentOf("Comments", []object{input("text"), node("ask", "approval", object{"values": []string{"reply"}}), output("same")}, "text.value > ask.reply", "ask.reply > out_same.value"))
	s.shared = map[string]string{
		"KEY": key, "FLOW": flow, "NODE": "notify", "STEP": "ask", "NAME": "gpu", "PROVIDER": "gpu", "HOOK": "github", "OWNER": "acme", "MODEL": "paint", "WORKSPACE_ID": "default",
	}
	draft := s.c.want(200, "GET", "/v1/flow/"+flow+"/document?version=draft", nil)
	s.c.want(200, "PUT", "/v1/flow/"+flow, []byte(strings.Replace(string(draft.body), "billing: ", "support: ", 1)), "If-Match: "+draft.header.Get("ETag"))
	s.c.want(200, "POST", "/v1/flow/"+flow+"/publish", object{})
	s.c.do("PUT", "/v1/credentials/github-hook", object{"secret": "It's a Secret to Everybody", "hosts": []string{"api.github.com"}})
	s.c.want(200, "PUT", "/v1/flow/"+flow+"/hooks/github", object{"verify": object{"scheme": "github", "secrets": []string{"github-hook"}}})
	s.c.want(200, "PUT", "/v1/flow/"+flow+"/triggers/weekdays", object{"cron": "0 9 * * 1-5", "inputs": object{"ticket": "a"}})
	s.shared["TRIGGER"] = "weekdays"
	s.c.want(200, "PUT", "/v1/alarms/broken", object{"kind": "failed", "flow": flow, "to": []object{{"webhook": "https://example.com/x"}}})
	s.shared["ALARM"] = "broken"
	s.c.want(201, "POST", "/v1/knowledge", object{"slug": "handbook"})
	added := s.c.want(202, "POST", "/v1/knowledge/handbook/documents", object{"source": "refunds.md", "text": "A refund takes five days."}).object(t)
	s.c.want(200, "GET", added["url"].(string)+"?wait=30", nil)
	known := s.c.want(200, "GET", "/v1/knowledge/handbook/documents", nil).object(t)
	s.shared["KNOWLEDGE"], s.shared["SOURCE"] = "handbook", "refunds.md"
	s.shared["DOCUMENT_ID"] = known["documents"].([]any)[0].(object)["id"].(string)
	s.shared["RUN"] = s.c.succeed(flow, object{"ticket": "a"}).ID
	hook.await(t, "/hook", 1)
	log := s.c.want(200, "GET", "/v1/flow/"+flow+"/deliveries", nil).object(t)
	s.shared["DELIVERY"] = log["deliveries"].([]any)[0].(object)["delivery_id"].(string)
	s.shared["VERSION"] = s.c.want(200, "GET", "/v1/hosted-models/acme/paint", nil).object(t)["version"].(string)
	return s
}

// variables returns the shell variables for the sample of an operation. What the operation ends or
// removes is created again.
func (s *sampler) variables(operation string) map[string]string {
	values := maps.Clone(s.shared)
	_, path, _ := strings.Cut(operation, " ")
	if strings.Contains(path, "{file_id}") {
		values["FILE"] = s.upload()
	}
	if strings.Contains(path, "{key_id}") {
		values["KEY_ID"] = s.c.want(201, "POST", "/v1/keys", object{"name": "made"}).object(s.t)["id"].(string)
	}
	if strings.Contains(path, "/batches") {
		values["FLOW"], values["FILE"] = s.table, s.uploadAs("tickets.csv", "text/csv", "Comment\na\nb\n")
	}
	if strings.Contains(path, "/batches/{run_id}") {
		started := s.c.want(202, "POST", "/v1/flow/"+s.table+"/batches", object{"rows": []object{{"text": "a"}}})
		values["RUN"] = started.object(s.t)["run"].(object)["run_id"].(string)
		s.waitUntil("the row is in progress", func() bool {
			return fmt.Sprint(s.c.want(200, "GET", started.header.Get("Location"), nil).object(s.t)["rows"].(object)["running"]) == "1"
		})
	}
	if strings.Contains(path, "/cases") || strings.Contains(path, "/tests") {
		s.c.want(200, "PUT", "/v1/flow/"+values["FLOW"]+"/cases/one", object{"inputs": object{"ticket": "a"}})
		values["CASE"] = "one"
		if strings.HasSuffix(path, "/from-event") { // the event of the sample
			captureEvent(s.c, "/v1/flow/"+values["FLOW"], "github", "72d3162e-cc78-11e3-81ab-4c9367dc0958", object{"ticket": "a"})
		}
		if strings.HasSuffix(path, "/expect") { // the case of the sample
			s.c.want(200, "PUT", "/v1/flow/"+values["FLOW"]+"/cases/refund-late", object{"inputs": object{"ticket": "a"}})
		}
	}
	if strings.Contains(path, "{test}") {
		values["TEST"] = s.c.want(202, "POST", "/v1/flow/"+values["FLOW"]+"/tests", object{"mode": "replay"}).object(s.t)["id"].(string)
		if strings.HasSuffix(path, "/retry") || strings.HasSuffix(path, "/expect") {
			s.waitUntil("the test ends", func() bool {
				return s.c.want(200, "GET", "/v1/flow/"+values["FLOW"]+"/tests/"+values["TEST"], nil).object(s.t)["status"] == "succeeded"
			})
		}
	}
	if strings.Contains(path, "{companion}") {
		file := s.c.want(200, "GET", "/v1/flow/"+values["FLOW"]+"/companions/triggers", nil)
		values["COMPANION"], values["ETAG"] = "triggers", file.header.Get("ETag")
	}
	switch operation {
	case "DELETE /v1/credentials/{name}/connection", "POST /v1/credentials/{name}/tools/check":
		values["NAME"] = "desk"
		s.toolServer("desk")
	case "DELETE /v1/flow/{flow_id}/triggers/{trigger}", "PUT /v1/flow/{flow_id}/triggers/{trigger}":
		values["TRIGGER"] = "old"
		s.c.want(200, "PUT", "/v1/flow/"+s.shared["FLOW"]+"/triggers/old", object{"every": "1d"})
	case "DELETE /v1/knowledge/{knowledge}/documents":
		values["SOURCE"] = "old.md"
		added := s.c.want(202, "POST", "/v1/knowledge/handbook/documents", object{"source": "old.md", "text": "Old."}).object(s.t)
		s.c.want(200, "GET", added["url"].(string)+"?wait=30", nil)
	case "DELETE /v1/knowledge/{knowledge}":
		values["KNOWLEDGE"] = "old"
		s.c.want(201, "POST", "/v1/knowledge", object{"slug": "old"})
	case "DELETE /v1/alarms/{alarm}", "PUT /v1/alarms/{alarm}":
		values["ALARM"] = "old"
		s.c.want(200, "PUT", "/v1/alarms/old", object{"kind": "silent", "over": "1h", "flow": s.shared["FLOW"]})
	case "DELETE /v1/flow/{flow_id}/run/{run_id}":
		values["RUN"] = s.c.succeed(s.shared["FLOW"], object{"ticket": "b"}).ID
	case "POST /v1/flow/{flow_id}/run/{run_id}/approvals/{path}":
		run := s.waiting(approving("", nil), object{"draft": "a"})
		values["FLOW"], values["RUN"], values["KEY"] = run.FlowID, run.ID, s.key("--scope", "approve")
	case "PUT /v1/flow/{flow_id}":
		values["FLOW"] = "greet"
		values["ETAG"] = s.c.want(200, "GET", "/v1/flow/greet/document?version=draft", nil).header.Get("ETag")
	case "POST /v1/flow/{flow_id}/archive":
		values["FLOW"] = "greet"
	case "POST /v1/flow/{flow_id}/restore":
		values["FLOW"] = s.publish(greeting())
		s.c.want(200, "POST", "/v1/flow/"+values["FLOW"]+"/archive", nil)
	case "POST /v1/credentials/{name}/test", "GET /v1/providers/{provider}/models":
		s.connect()
	case "DELETE /v1/prices":
		values["MODEL"] = "openai/gpt-x"
		s.c.want(200, "PATCH", "/v1/prices", object{"model": "openai/gpt-x", "input": 2.5})
	}
	return values
}

// connect adds a credential for a provider that the test serves.
func (s *sampler) connect() {
	if r := s.commandWith("sk-test", "credential", "add", "--name", "gpu", "--provider", "vllm", "--base-url", s.provider+"/v1"); r.code != 0 {
		s.t.Fatalf("%+v", r)
	}
}
