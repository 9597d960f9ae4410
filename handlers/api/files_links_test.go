package api

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/value"
)

// filingDocument returns a file, unchanged and inside other values.
const filingDocument = `{"schema": "sluice.flow/v1", "name": "File it", "nodes": [
	{"id": "photo", "kind": "input", "config": {"name": "photo", "type": "json"}},
	{"id": "look", "kind": "think", "config": {}},
	{"id": "picture", "kind": "output", "config": {"name": "picture"}}],
	"edges": [{"from": "photo.value", "to": "look.value"}, {"from": "look.value", "to": "picture.value"}]}`

// linkIn finds the url of the file value at a path such as outputs.picture.
func linkIn(t *testing.T, a *reply, path string) string {
	t.Helper()
	link, _ := a.field(path + ".url").(string)
	if !strings.HasPrefix(link, publicURL+"/v1/files/file_") {
		t.Errorf("the url at %s is %q in %s", path, link, a.raw)
	}
	return link
}

func TestResponses_link_to_files(t *testing.T) {
	t.Parallel()
	w := setup(t)
	now := time.Date(2026, 1, 31, 12, 10, 0, 0, time.UTC)
	w.now = func() time.Time { return now }
	id := w.uploaded("cat.png", "image/png", pngBytes)
	flowID := w.addFlow("default", filingDocument)
	body := `{"photo": {"file": "` + id + `", "name": "cat.png", "url": "https://evil.example/"}}`
	path := w.endedRun(flowID, body)
	a := w.get(path)
	links := map[string]string{
		"the inputs of the run":  linkIn(t, a, "inputs.photo"),
		"the outputs of the run": linkIn(t, a, "outputs.picture"),
		"the result":             linkIn(t, w.get(path+"/result"), "picture"),
		"the answer to a start":  linkIn(t, w.start(flowID, body, 200, "Prefer", "wait=60"), "outputs.picture"),
	}
	list := w.get("/v1/flow/" + flowID + "/runs")
	list.body = list.body["runs"].([]any)[0].(map[string]any)
	links["a list of runs"] = linkIn(t, list, "outputs.picture")
	for _, step := range w.get(path + "/steps").body["steps"].([]any) {
		if s := step.(map[string]any); s["node"] == "look" {
			links["the input of a step"] = linkIn(t, &reply{body: s}, "input.value")
			links["the output of a step"] = linkIn(t, &reply{body: s}, "output.value")
		}
	}
	stream := w.send(request{method: "GET", path: path + "/events", headers: []string{"Accept", "text/event-stream"}})
	for part := range strings.SplitSeq(string(stream.raw), "\n\n") {
		if _, data, ok := strings.Cut(part, "event: output\ndata: "); ok {
			event := &reply{raw: []byte(data)}
			if err := json.Unmarshal(event.raw, &event.body); err != nil {
				t.Fatal(err)
			}
			links["an output event"] = linkIn(t, event, "value")
		}
	}
	if len(links) != 8 || strings.Contains(string(a.raw)+string(stream.raw), "evil") {
		t.Errorf("%d answers have links: %s", len(links), a.raw)
	}
	for name, link := range links {
		if got := w.send(request{method: "GET", path: local(t, link), key: "-"}); got.status != 200 || !bytes.Equal(got.raw, pngBytes) {
			t.Errorf("the link of %s gives %d", name, got.status)
		}
	}
	w.store.mu.Lock()
	for _, r := range w.store.runs {
		if strings.Contains(string(flow.EncodeJSON(r.Outputs)), publicURL) {
			t.Error("a link was kept")
		}
	}
	w.store.mu.Unlock()
	checkLinkTimes(t, w, &now, path)
}

// checkLinkTimes checks that links, and so responses, stay equal until the end of the
// hour, and are valid for one to two hours.
func checkLinkTimes(t *testing.T, w *env, now *time.Time, run string) {
	t.Helper()
	a := w.get(run)
	tag, link := a.header.Get("ETag"), local(t, linkIn(t, a, "outputs.picture"))
	begun := *now
	*now = begun.Add(49 * time.Minute)
	w.get(run, "If-None-Match", tag).want(t, 304)
	*now = begun.Add(51 * time.Minute)
	fresh := w.get(run, "If-None-Match", tag)
	fresh.want(t, 200)
	*now = begun.Add(time.Hour)
	w.send(request{method: "GET", path: link, key: "-"}).want(t, 200)
	*now = begun.Add(2 * time.Hour)
	w.send(request{method: "GET", path: link, key: "-"}).want(t, 404)
	w.send(request{method: "GET", path: local(t, linkIn(t, fresh, "outputs.picture")), key: "-"}).want(t, 200)
}

// TestFileLinks_exclude_files_of_other_workspaces checks that the link to a file of another
// workspace is not found, and that metadata that looks like a file is returned unchanged.
func TestFileLinks_exclude_files_of_other_workspaces(t *testing.T) {
	t.Parallel()
	w := setup(t)
	theirs := w.files.put(flow.NewFile{WorkspaceID: "ws_other", Name: "secret"}, []byte("theirs"))
	flowID := w.addFlow("default", filingDocument)
	value := `{"file": "` + theirs.ID + `"}`
	a := w.get(w.endedRun(flowID, `{"photo": [`+value+`], "run_options": {"metadata": {"m": `+value+`}}}`))
	list := a.field("outputs.picture").([]any)
	link := list[0].(map[string]any)["url"]
	w.send(request{method: "GET", path: local(t, link), key: "-"}).wantCode(t, 404, flow.CodeNotFound)
	a.wantFields(t, map[string]any{"metadata.m": map[string]any{"file": theirs.ID}})
}

func TestWebhooksLinkToFiles(t *testing.T) {
	t.Parallel()
	w := setup(t)
	id := w.uploaded("cat.png", "image/png", pngBytes)
	kept := []byte(`{"picture":{"file":"` + id + `"}}`)
	w.store.mu.Lock()
	w.store.deliveries = append(w.store.deliveries, flow.DeliveryRecord{Delivery: flow.Delivery{
		ID: w.ids.New(flow.PrefixDelivery), WorkspaceID: "default", FlowID: flow.FlowID(w.echo), Node: "hook", Body: kept, CreatedAt: time.Now(), State: flow.DeliveryDelivered}})
	w.store.mu.Unlock()
	a := w.get("/v1/flow/" + w.echo + "/deliveries")
	a.body = a.body["deliveries"].([]any)[0].(map[string]any)
	link := local(t, linkIn(t, a, "body.picture"))
	w.send(request{method: "GET", path: link, key: "-"}).want(t, 200)
	now := time.Now().Add(linkLifetime) // a key that saw the log and was revoked since must not have it for a week
	w.now = func() time.Time { return now }
	w.send(request{method: "GET", path: link, key: "-"}).want(t, 404)

	run := &flow.Run{ID: w.ids.NewRun(), WorkspaceID: "default", State: flow.RunSucceeded, Outputs: value.FromMap(map[string]any{"picture": map[string]any{"file": id}})}
	typ, data := w.server.RunEnded(run)
	if typ != "run.succeeded" || strings.Contains(string(data), "signature") || !strings.Contains(string(data), `"file":"`+id) {
		t.Errorf("what is kept of the end of a run is %s %s", typ, data)
	}
}
