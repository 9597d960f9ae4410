package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"sluice/e2e/need"
	"sluice/providers/scripted"
)

// replayedStarters are the templates that need neither a knowledge base nor a service besides models and web pages.
var replayedStarters = []string{
	"add-up-an-order", "answer-a-review", "answer-from-a-document", "answer-in-a-tone", "approve-a-reply", "ask-a-document", "chat-assistant", "check-many-reviews",
	"check-the-mood-of-feedback", "clean-a-list", "find-a-duplicate-question", "read-an-order", "research-within-a-budget", "route-a-support-ticket", "route-by-rules", "send-it-later",
	"summarize-a-text", "support-with-orders",
}

// casesOfStarters is how many cases the templates have together, at least.
const casesOfStarters = 200

// starterCases writes the templates with their cases to a directory. All models are one.
func starterCases(t *testing.T, dir, site string) (total int) {
	t.Helper()
	write := func(name string, v any) {
		t.Helper()
		data, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) (doc object) {
		t.Helper()
		data, err := os.ReadFile("../cmd/sluice/starters/" + name + ".json")
		if err == nil {
			err = json.Unmarshal(data, &doc)
		}
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	write("check-one-review.flow.json", read("subflows/check-one-review"))
	each := casesOfStarters/len(replayedStarters) + 1
	for _, slug := range replayedStarters {
		doc := read(slug)
		inputs, answers := object{}, object{"refund": object{"decision": "approved", "values": object{"amount": 10}}}
		for _, n := range doc["nodes"].([]any) {
			n := n.(object)
			config, _ := n["config"].(object) // a tool may have none
			switch n["kind"] {
			case "agent", "chat":
				config["model"] = "openai/gpt-5-nano"
			case "approval":
				answers[n["id"].(string)] = object{"decision": "approved", "comment": "fine"}
			case "input":
				if v := config["example"]; v != nil {
					inputs[config["name"].(string)] = v
				}
				if config["type"] == "file" {
					inputs[config["name"].(string)] = "data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte("The rent is due on the third day of a month. The notice period is three months."))
				}
			}
		}
		if slug == "research-within-a-budget" {
			inputs["pages"] = site + "/bridge"
		}
		write(slug+".flow.json", doc)
		var list []object
		for k := range each {
			given := object{}
			for name, v := range inputs {
				if text, is := v.(string); is && k > 0 && (name == "question" || name == "message" || name == "review" || name == "feedback" || name == "ticket" || name == "text") {
					v = fmt.Sprintf("%s And the number %d?", text, k)
				}
				given[name] = v
			}
			list = append(list, object{"id": fmt.Sprintf("case-%02d", k), "inputs": given, "answers": answers})
		}
		write(slug+".tests.json", object{"schema": "sluice.tests/v1", "cases": list})
		total += each
	}
	return total
}

// starterModel answers the templates with models.
func starterModel(asked *atomic.Int64, site string) *scripted.Server {
	return scripted.New(func(r *scripted.Request) scripted.Answer {
		asked.Add(1)
		has := func(tool string) bool { return strings.Contains(strings.Join(r.Tools, " "), tool) }
		switch {
		case r.Turn == 0 && has("read_page"):
			return scripted.Answer{Calls: []scripted.Call{{ID: "c1", Name: "read_page", Arguments: fmt.Sprintf(`{"url": %q}`, site+"/bridge")}}}
		case r.Turn == 0 && has("find_order"):
			return scripted.Answer{Calls: []scripted.Call{{ID: "c1", Name: "find_order", Arguments: `{"number": "1017"}`}}}
		case r.Turn == 1 && has("refund"):
			return scripted.Answer{Text: "One moment.", Calls: []scripted.Call{{ID: "c2", Name: "refund", Arguments: `{"number": "1017", "amount": 12.5}`}}}
		}
		return scripted.Answer{Text: fmt.Sprintf("Answer to %d bytes.", len(r.User))}
	})
}

// changing are the parts of a report that differ each time: IDs, times and durations.
var changing = regexp.MustCompile(`(test|run|flow|user|key)_[0-9a-z]{26}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z|p95 [0-9.]+ s|"p95_ms":[0-9]+|"ms":[0-9]+|"created_by":"[^"]*"`)

// reportsOf returns the reports of `sluice test --json` without what differs each time.
func reportsOf(t *testing.T, text string) (reports []string) {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, raw := range list {
		reports = append(reports, plainReport(t, raw))
	}
	return reports
}

func plainReport(t *testing.T, raw []byte) string {
	t.Helper()
	var o any
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return changing.ReplaceAllString(string(text), "*")
}

// TestTests_replay_the_starters_without_a_connection records the results of 200 cases of the templates. Replays say the same without a
// network, for nothing: twice, three days later, and on a server with PostgreSQL.
func TestTests_replay_the_starters_without_a_connection(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	commandsAlone(t)
	var hits, asked atomic.Int64
	site := pagesSite(t, &hits)
	model := httptest.NewServer(starterModel(&asked, site.URL))
	t.Cleanup(model.Close)
	dir, data := t.TempDir(), t.TempDir()
	flows := filepath.Join(dir, "flows")
	if err := os.Mkdir(flows, 0o755); err != nil {
		t.Fatal(err)
	}
	total := starterCases(t, flows, site.URL)
	if total < casesOfStarters {
		t.Fatalf("%d cases", total)
	}
	shell := func(line string, want int, env ...string) string {
		t.Helper()
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		cmd.Env = append([]string{"PATH=" + filepath.Dir(sluice) + ":" + os.Getenv("PATH"), "HOME=" + data, "TMPDIR=" + t.TempDir(), "SLUICE_ALLOW_PRIVATE=127.0.0.0/8"}, env...)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Fatalf("%s: exit %d, wanted %d\n%s\n%.3000s", line, code, want, regexp.MustCompile(`"(summary|detail|message)": ".*"`).FindAllString(out.String(), -1), &errs)
		}
		return out.String()
	}
	shell("sluice test flows --mode fill", 0, "OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL="+model.URL+"/v1")
	if asked.Load() == 0 || hits.Load() == 0 {
		t.Fatalf("%d questions to models and %d pages were recorded", asked.Load(), hits.Load())
	}
	model.Close()
	site.Close()

	command := "sluice test flows --json"
	if runtime.GOOS == "linux" {
		_, err := exec.LookPath("unshare")
		need.Tool(t, "unshare is not installed", err == nil)
		const alone = "unshare --user --map-root-user --net sh -c 'ip link set lo up && %s'" // with nothing but its own loopback device
		if exec.Command("sh", "-c", fmt.Sprintf(alone, "true")).Run() == nil {               // containers may forbid namespaces
			command = fmt.Sprintf(alone, command)
		}
	}
	first := reportsOf(t, shell(command, 0))
	if len(first) != len(replayedStarters) {
		t.Fatalf("%d reports", len(first))
	}
	for i, again := range [][]string{reportsOf(t, shell(command, 0)), reportsOf(t, shell(command, 0, skewVariable+"=76h"))} {
		for k := range first {
			if again[k] != first[k] {
				t.Errorf("replay %d of %s differs:\n%s\n%s", i, replayedStarters[k], first[k], again[k])
			}
		}
	}
	free := regexp.MustCompile(`"spent_usd":([^,}]*)`)
	for k, report := range first {
		if found := free.FindStringSubmatch(report); found == nil || found[1] != "0" || !strings.Contains(report, `"state":"passed"`) {
			t.Errorf("%s: %s", replayedStarters[k], report)
		}
	}

	s := serversOn(t, 1)[0]
	s.must("flow", "apply", flows)
	c := s.client(s.key("--scope", "run,read,edit,manage"))
	for k, slug := range replayedStarters {
		path := "/v1/flow/" + slug + "/tests"
		id := c.want(202, "POST", path, object{"mode": "replay", "candidates": []object{{"version": "draft"}}, "children": "draft"}).object(t)["id"].(string)
		waitUntil(t, "the test has ended", func() bool {
			return c.want(200, "GET", path+"/"+id, nil).object(t)["status"] == "succeeded"
		})
		if report := plainReport(t, c.want(200, "GET", path+"/"+id, nil).body); report != first[k] {
			t.Errorf("%s differs on PostgreSQL:\n%s\n%s", slug, first[k], report)
		}
	}
}
