package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestRunSlug checks that objects of a run have the flow's slug beside its ID, and that
// it is the current slug after the flow was renamed. The objects are those of starts,
// lists, events, webhooks, reruns and MCP tools.
func TestRunSlug(t *testing.T) {
	t.Parallel()
	receiver := newReceiver(t, nil)
	s := newServer(t)
	c := s.client(s.key("--scope", "run,read,edit,manage"))
	var document object
	if err := json.Unmarshal([]byte(greet("Route ticket", "Hello", "name")), &document); err != nil {
		t.Fatal(err)
	}
	id := c.want(201, "POST", "/v1/flow", document).object(t)["flow_id"].(string)
	c.want(200, "POST", "/v1/flow/route-ticket/publish", object{})
	tools := newMCPAgent(t, s, s.key("--scope", "run,read,edit"), "?tools=authoring")
	tools.ask("connect", nil)

	check := func(slug string) {
		t.Helper()
		wants := func(what string, o object) {
			t.Helper()
			if o["slug"] != slug || o["flow_id"] != id {
				t.Errorf("%s: slug %v of flow %v, want %s of %s", what, o["slug"], o["flow_id"], slug, id)
			}
		}
		body := object{"name": "Ada", "run_options": object{"webhook": object{"url": receiver.URL + "/" + slug, "secret": runSecret}}}
		path := "/v1/flow/" + slug
		wants("a start", c.want(202, "POST", path+"/run", object{"name": "Ada"}).object(t))
		ended := c.want(200, "POST", path+"/run", body, "Prefer: wait=30")
		wants("a start that waits", ended.object(t))
		r := ended.run(t)
		wants("the run", c.want(200, "GET", r.path(), nil).object(t))
		for _, list := range []string{path + "/runs", "/v1/runs"} {
			for _, run := range c.want(200, "GET", list, nil).object(t)["runs"].([]any) {
				wants(list, run.(object))
			}
		}
		for _, e := range c.events(r, 0) {
			var o object
			if err := json.Unmarshal([]byte(e.data), &o); err != nil {
				t.Fatal(err)
			}
			if e.name == "run" {
				wants("an event", o)
			}
		}
		var sent struct{ Data object }
		if err := json.Unmarshal(receiver.await(t, "/"+slug, 1)[0].body, &sent); err != nil {
			t.Fatal(err)
		}
		wants("the webhook", sent.Data)
		wants("a rerun", c.want(200, "POST", r.path()+"/rerun", object{}, "Prefer: wait=30").object(t))
		wants("a run of the draft", c.want(200, "POST", path+"/run", object{"name": "Ada", "run_options": object{"version": "draft"}}, "Prefer: wait=30").object(t))
		wants("an MCP tool", tools.call("read_run", object{"flow": slug, "run": r.ID}).Answer.StructuredContent)
	}
	check("route-ticket")
	document["slug"] = "sort-ticket"
	tag := c.want(200, "GET", "/v1/flow/route-ticket/document?version=draft", nil).header.Get("ETag")
	c.want(200, "PUT", "/v1/flow/route-ticket", document, "If-Match: "+tag)
	check("sort-ticket")
}

// TestMCP_accepts_former_name renames a flow and changes its slug. An MCP client can still call
// the flow by the tool names that it listed before, and the use of the former slug is
// counted for its key.
func TestMCP_accepts_former_name(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.client(s.key("--scope", "edit,read"))
	save := func(name, slug string) {
		t.Helper()
		var document object
		if err := json.Unmarshal([]byte(greet(name, "Hello", "name")), &document); err != nil {
			t.Fatal(err)
		}
		document["slug"] = slug
		if c.do("GET", "/v1/flow/greet/document?version=draft", nil).status == 404 {
			c.want(201, "POST", "/v1/flow", document)
		} else {
			tag := c.want(200, "GET", "/v1/flow/greet/document?version=draft", nil).header.Get("ETag")
			c.want(200, "PUT", "/v1/flow/greet", document, "If-Match: "+tag)
		}
		c.want(200, "POST", "/v1/flow/greet/publish", object{})
	}
	save("Greet", "greet")
	a := newMCPAgent(t, s, s.must("key", "create", "--name", "Agent", "--scope", "run,read"), "")
	a.ask("connect", nil)
	call := func(tool string) {
		t.Helper()
		said := a.call(tool, object{"name": "Ada"})
		if said.Error != nil || said.Answer.IsError || said.Answer.StructuredContent["text"] != "Hello Ada!" {
			t.Errorf("%s: %s", tool, said.Raw)
		}
	}
	call("greet")
	save("Welcome people", "welcome")
	names := ""
	for _, tool := range a.ask("list", nil).Answer.Tools {
		names += " " + tool.Name
	}
	if !strings.Contains(names, " welcome_people") || strings.Contains(names, " greet") {
		t.Errorf("the tools are%s", names)
	}
	for _, tool := range []string{"welcome_people", "greet", "welcome"} {
		call(tool)
	}
	if said := a.call("gret", object{"name": "Ada"}); said.Error == nil {
		t.Errorf("a tool that never was: %s", said.Raw)
	}
	var document object
	if err := json.Unmarshal([]byte(greet("Greet", "Hi", "name")), &document); err != nil {
		t.Fatal(err)
	}
	s.waitUntil("the use of the former slug is stored", func() bool {
		refused := c.rejected(409, "slug_taken", "POST", "/v1/apply", object{"documents": []any{document}})
		return strings.Contains(string(refused.body), `"name":"Agent","calls_30d":1}`)
	})
}
