package e2e

import (
	"encoding/json"
	"testing"
)

// TestRunSlug checks that every object of a run has the slug of its flow beside the ID,
// and that it is the current slug after the flow was renamed: in the response to a start,
// the run, lists, events, the webhook of the run, reruns, and over MCP.
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
