package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestMCPAuthoring writes, publishes and runs a flow with nothing but the authoring tools, as
// an assistant would.
func TestMCPAuthoring(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	a := newMCPAgent(t, s, s.key("--scope", "edit,read,run"), "?tools=authoring")
	a.ask("connect", nil)
	names := []string{}
	for _, tool := range a.ask("list", nil).Answer.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if want := "add_document create_flow diff_flow edit_flow get_document label_cases list_cases list_flows list_kinds list_knowledge list_steps list_triggers preview_schedule publish_flow read_batch read_report read_run run_flow run_tests save_case save_event_as_case search_knowledge set_trigger set_webhook start_batch validate_flow"; strings.Join(names, " ") != want {
		t.Errorf("tools %v", names)
	}
	ok := func(tool string, given object) object {
		t.Helper()
		said := a.call(tool, given)
		if said.Error != nil || said.Answer.IsError {
			t.Fatalf("%s: %s", tool, said.Raw)
		}
		return said.Answer.StructuredContent
	}
	refused := func(tool string, given object, code string, parts ...string) {
		t.Helper()
		said := a.call(tool, given)
		if !said.Answer.IsError || said.Answer.Meta.Code != code {
			t.Errorf("%s is not refused with %s: %s", tool, code, said.Raw)
		}
		for _, part := range parts {
			if !strings.Contains(said.Raw, part) {
				t.Errorf("%q is not in the refusal of %s: %s", part, tool, said.Raw)
			}
		}
	}
	document := func(word, input string) (d object) {
		if err := json.Unmarshal([]byte(greet("Assistant's", word, input)), &d); err != nil {
			t.Fatal(err)
		}
		return d
	}

	if all := ok("list_kinds", nil)["kinds"].([]any); len(all) < 20 || all[0].(object)["summary"] == "" || all[0].(object)["fields"] != nil {
		t.Errorf("kinds %v", all)
	}
	if one := ok("list_kinds", object{"names": []any{"template"}})["kinds"].([]any); len(one) != 1 || one[0].(object)["fields"] == nil {
		t.Errorf("kinds %v", one)
	}
	wrong := document("Hello", "name")
	wrong["nodes"].([]any)[1].(object)["kind"] = "tempalte"
	if v := ok("validate_flow", object{"document": wrong}); v["valid"] != false || !strings.Contains(quotedJSON(v["errors"]), "tempalte") {
		t.Errorf("validation %v", v)
	}
	refused("create_flow", object{"document": wrong}, "document_invalid", "tempalte", "/nodes/1")
	refused("create_flow", object{"dokument": wrong}, "input_invalid", "- document:", "- dokument:")
	secret := document("Hello", "name")
	secret["nodes"] = append(secret["nodes"].([]any), node("call", "http_request", object{"url": "https://example.com", "headers": object{"Authorization": "Bearer sk-1234567890abcdef"}}))
	refused("create_flow", object{"document": secret}, "secret_in_document")
	made := ok("create_flow", object{"document": document("Hello", "name")})
	ref := made["slug"]
	if ref != "assistants" && ref != "assistant-s" {
		t.Errorf("created %v", made)
	}

	draft := ok("get_document", object{"flow": ref})
	if draft["etag"] != made["etag"] || draft["document"].(object)["name"] != "Assistant's" {
		t.Errorf("the draft is %v", draft)
	}
	edited := ok("edit_flow", object{"flow": ref, "document": document("Good day", "name"), "etag": draft["etag"]})
	refused("edit_flow", object{"flow": ref, "document": document("Hi", "name"), "etag": draft["etag"]}, "precondition_failed")
	if v := ok("publish_flow", object{"flow": ref, "notes": "From an assistant."}); v["version"] != 1.0 {
		t.Errorf("published %v", v)
	}
	run := ok("run_flow", object{"flow": ref, "inputs": object{"name": "Ada"}})
	if run["status"] != "succeeded" || run["outputs"].(object)["text"] != "Good day Ada!" || run["trigger"] != "mcp" {
		t.Errorf("the run is %v", run)
	}
	at := object{"flow": ref, "run": run["run_id"]}
	if again := ok("read_run", at); quotedJSON(again["outputs"]) != quotedJSON(run["outputs"]) {
		t.Errorf("read again, it is %v", again)
	}
	if steps := ok("list_steps", at); len(steps["steps"].([]any)) != 3 {
		t.Errorf("steps %v", steps)
	}
	refused("run_flow", object{"flow": ref, "inputs": object{"nam": "Ada"}}, "input_invalid", "/nam", "/name")
	refused("run_flow", object{"flow": ref, "version": "draft", "inputs": object{"name": "Ada"}}, "scope_missing", "manage")

	refused("save_case", object{"flow": ref, "id": "ada", "case": object{"inputz": object{}}}, "case_invalid", "inputs")
	ok("save_case", object{"flow": ref, "id": "ada", "case": object{"inputs": object{"name": "Ada"}, "checks": []object{{"output": "text", "equals": "Good day Ada!"}}}})
	ok("label_cases", object{"flow": ref, "csv": "case,text\nada,Good day Ada!\n"})
	refused("save_event_as_case", object{"flow": ref, "hook": "nothing", "event": "e"}, "not_found", "")
	if list := ok("list_cases", object{"flow": ref}); !strings.Contains(quotedJSON(list), `"ada"`) {
		t.Errorf("cases %v", list)
	}
	refused("run_tests", object{"flow": ref}, "scope_missing", "manage")
	test := ok("run_tests", object{"flow": ref, "version": "live", "baseline": "1", "mode": "replay"})
	report := func() object {
		return ok("read_report", object{"flow": ref, "test": test["id"], "case": "ada"})
	}
	s.waitUntil("the test ends", func() bool { return report()["state"] != "pending" })
	if r := report(); r["state"] != "passed" || len(r["verdicts"].([]any)) != 2 {
		t.Errorf("the report is %v", r)
	}

	ok("edit_flow", object{"flow": ref, "document": document("Good day", "person"), "etag": edited["etag"]})
	if d := ok("diff_flow", object{"flow": ref}); len(d["breaking"].([]any)) == 0 || !strings.Contains(quotedJSON(d["keys"]), `"test"`) {
		t.Errorf("the diff is %v", d)
	}
	refused("publish_flow", object{"flow": ref}, "breaking_change", `\"test\"`)
	if v := ok("publish_flow", object{"flow": ref, "allow_breaking": true}); v["version"] != 2.0 {
		t.Errorf("published %v", v)
	}
	if list := ok("list_flows", nil); !strings.Contains(quotedJSON(list), "Assistant") {
		t.Errorf("flows %v", list)
	}

	plain := newMCPAgent(t, s, s.key("--scope", "run,read,manage"), "?tools=authoring")
	if said := plain.ask("connect", nil); said.Error == nil || !strings.Contains(said.Error.Message, "scope_missing") {
		t.Errorf("a key without the scope edit: %s", said.Raw)
	}
}

func quotedJSON(v any) string { return string(must1(json.Marshal(v))) }
