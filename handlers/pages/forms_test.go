package pages

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

// everyInput asks for one value of each type and gives them all back.
const everyInput = `{"schema":"sluice.flow/v1","name":"Order a report","description":"You get it at once.","nodes":[
 {"id":"t","kind":"input","label":"Your question","config":{"name":"question","type":"text","min":3,"description":"What is it about?"}},
 {"id":"s","kind":"input","config":{"name":"short_name","type":"text","max":20,"pattern":"^[a-z]+$","default":"ada"}},
 {"id":"n","kind":"input","config":{"name":"pages","type":"number","min":1,"max":9}},
 {"id":"b","kind":"input","config":{"name":"urgent","type":"boolean","default":false}},
 {"id":"e","kind":"input","config":{"name":"tone","type":"text","enum":["calm","loud"]}},
 {"id":"j","kind":"input","config":{"name":"extra","type":"json","default":{}}},
 {"id":"l","kind":"input","config":{"name":"labels","type":"list","default":[],"max":3}},
 {"id":"f","kind":"input","config":{"name":"photo","type":"file","accept":["image/*"]}},
 {"id":"secret","kind":"template","label":"Guess the budget","config":{"template":"INTERNAL PROMPT {{q}}"}},
 {"id":"o1","kind":"output","label":"Summary","config":{"name":"out_question"}},
 {"id":"o2","kind":"output","config":{"name":"out_pages"}},
 {"id":"o3","kind":"output","config":{"name":"out_photo"}},
 {"id":"o4","kind":"output","config":{"name":"out_labels"}},
 {"id":"o5","kind":"output","config":{"name":"out_extra"}}],
 "edges":[{"from":"t.value","to":"secret.q"},{"from":"t.value","to":"o1.value"},{"from":"n.value","to":"o2.value"},
 {"from":"f.value","to":"o3.value"},{"from":"l.value","to":"o4.value"},{"from":"j.value","to":"o5.value"}]}`

// pixel is a picture of one point.
var pixel = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82")

// formOf publishes a document and opens its form.
func (h *house) formOf(document string, set ...func(*flow.Form)) (id string) {
	h.t.Helper()
	id = h.flow(document)
	h.publish(id)
	f := flow.NewForm(flow.DefaultWorkspace, id)
	f.On = true
	for _, s := range set {
		s(f)
	}
	if err := h.store.SaveForm(context.Background(), f); err != nil {
		h.t.Fatal(err)
	}
	return id
}

// formFile is one of a form: name, MIME and content.
type formFile struct {
	name, mime string
	content    []byte
}

// sendForm sends a form as a browser does, files last.
func (b *browser) sendForm(path string, texts map[string]string, files map[string]formFile) *answer {
	b.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, text := range texts {
		if err := w.WriteField(name, text); err != nil {
			b.t.Fatal(err)
		}
	}
	for name, f := range files {
		part, err := w.CreatePart(map[string][]string{"Content-Disposition": {fmt.Sprintf(`form-data; name=%q; filename=%q`, name, f.name)}, "Content-Type": {f.mime}})
		if err == nil {
			_, err = part.Write(f.content)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.t.Fatal(err)
	}
	return b.send("POST", path, w.FormDataContentType(), &body)
}

// ended loads the page of a result, as a browser without scripts does again and
// again, until the run has ended.
func (b *browser) ended(path string) *answer {
	b.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		a := b.get(path).is(http.StatusOK)
		if !strings.Contains(a.body, "data-events") {
			return a
		}
		if !strings.Contains(a.body, `<noscript><meta http-equiv="refresh" content="2"></noscript>`) {
			b.t.Fatalf("the page does not load itself anew: %s", a.body)
		}
	}
	b.t.Fatal("the run did not end")
	return nil
}

func good() map[string]string {
	return map[string]string{"in.question": "How much <b>is</b> it?", "in.short_name": "grace", "in.pages": "3", "in.urgent": "true", "in.tone": "calm", "in.extra": `{"a": [1, 2]}`, "in.labels": "red\nblue\n", "once": "1"}
}

var photo = map[string]formFile{"in.photo": {"me.png", "image/png", pixel}}

func TestForm(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.formOf(everyInput)
	b := h.stranger()

	t.Run("shows a field for each type", func(t *testing.T) {
		page := b.get("/f/" + id).is(http.StatusOK)
		page.has("<h1>Order a report</h1>", "You get it at once.", "Your question", "What is it about? At least 3 characters.", `<textarea class="area large"`,
			`<input class="input large" type="text" value="ada"`, "At most 20 characters.", `type="number"`, `min="1"`, `max="9"`, `type="checkbox"`, `type="radio"`,
			"data-json", "One item a line. At most 3 items.", `type="file"`, `accept="image/*"`, "Takes pictures. At most 25 MiB.", "Made with Sluice", `enctype="multipart/form-data"`)
		page.lacks("INTERNAL", "Guess the budget", "canvas", "Sign in", "noindex")
		if got := page.header.Get("X-Frame-Options") + "|" + page.header.Get("Cache-Control") + "|" + page.header.Get("Referrer-Policy"); got != "DENY|no-store|same-origin" {
			t.Errorf("headers %s", got)
		}
		if csp := page.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'; script-src 'self'") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("policy %s", csp)
		}
		if page.header.Get("Set-Cookie") != "" {
			t.Errorf("a form without a password sets %s", page.header.Get("Set-Cookie"))
		}
	})
	t.Run("runs without scripts", func(t *testing.T) {
		a := b.sendForm("/f/"+id, good(), photo).is(http.StatusSeeOther)
		path := a.header.Get("Location")
		if !regexp.MustCompile(`^/f/` + id + `/r/[0-9a-z]{26}\.[0-9a-z]+\.[0-9a-f]{64}$`).MatchString(path) {
			t.Fatalf("leads to %s", path)
		}
		page := b.ended(path)
		page.has("Done", "Summary", "How much &lt;b&gt;is&lt;/b&gt; it?", "red", "blue", "Again", `href="/f/`+id+`?again=`)
		page.lacks("INTERNAL", "Guess the budget", "in.question")
		if got := page.header.Get("Referrer-Policy") + "|" + page.header.Get("X-Robots-Tag") + "|" + page.header.Get("Cache-Control"); got != "no-referrer|noindex, nofollow|no-store" {
			t.Errorf("headers %s", got)
		}
		link := regexp.MustCompile(`src="(/v1/files/[^"]+)"`).FindStringSubmatch(page.body)
		if link == nil || !strings.Contains(link[1], "signature=") {
			t.Errorf("no signed link to the picture: %s", page.body)
		}
		run := h.lastRun(id)
		if run.Trigger != flow.TriggerForm || run.Version != 1 || run.KeyID != "" || run.UserID != "" {
			t.Errorf("run %+v", run)
		}
		if got := fmt.Sprintln(run.Inputs["pages"], run.Inputs["urgent"], run.Inputs["tone"], run.Inputs["labels"], run.Inputs["extra"]); got != "3 true calm [red blue] map[a:[1 2]]\n" {
			t.Errorf("inputs %s", got)
		}
		h.as(flow.MemberViewer).get("/runs/"+run.ID).is(http.StatusOK).has("Form", "How much")
	})
	t.Run("again keeps the inputs and the file", func(t *testing.T) {
		first := h.lastRun(id)
		path := "/f/" + id + "?again=" + h.server.seals.Ticket(id, first.ID, time.Now().Add(time.Hour))
		page := b.get(path).is(http.StatusOK).has("How much &lt;b&gt;is&lt;/b&gt; it?", `value="grace"`, "red\nblue", "me.png", `name="last.in.photo"`)
		again := regexp.MustCompile(`name="again" value="([^"]+)"`).FindStringSubmatch(page.body)[1]
		texts := good()
		texts["again"], texts["once"] = again, "2"
		texts["last.in.photo"], _ = flow.FileID(first.Inputs["photo"])
		b.sendForm("/f/"+id, texts, nil).is(http.StatusSeeOther)
		if run := h.lastRun(id); run.ID == first.ID || fmt.Sprint(run.Inputs["photo"]) != fmt.Sprint(first.Inputs["photo"]) {
			t.Errorf("run %+v", run.Inputs)
		}
		delete(texts, "again")
		texts["once"] = "3"
		b.sendForm("/f/"+id, texts, nil).is(http.StatusUnprocessableEntity).has("Choose the file again.")
	})
	t.Run("sent twice starts one run", func(t *testing.T) {
		texts := map[string]string{"once": "twice"}
		other := h.formOf(ticketRouting)
		texts["in.ticket"] = "refund"
		a, c := b.sendForm("/f/"+other, texts, nil).is(http.StatusSeeOther), b.sendForm("/f/"+other, texts, nil).is(http.StatusSeeOther)
		if one, two := strings.Split(a.header.Get("Location"), ".")[0], strings.Split(c.header.Get("Location"), ".")[0]; one != two {
			t.Errorf("%s and %s", one, two)
		}
		if f, err := h.store.FindForm(t.Context(), other); err != nil || f.Taken != 1 {
			t.Errorf("counted %+v, %v", f, err)
		}
		texts["in.ticket"] = "other words"
		if d := b.sendForm("/f/"+other, texts, nil).is(http.StatusSeeOther); strings.Split(d.header.Get("Location"), ".")[0] == strings.Split(a.header.Get("Location"), ".")[0] {
			t.Error("other inputs are another run")
		}
	})
}

// lastRun is the newest run of a flow.
func (h *house) lastRun(flowID string) *flow.Run {
	h.t.Helper()
	list, err := h.store.ListRuns(context.Background(), flow.RunFilter{WorkspaceID: flow.DefaultWorkspace, FlowID: flowID, Limit: 1})
	if err != nil || len(list) == 0 {
		h.t.Fatalf("no run of %s: %v", flowID, err)
	}
	return &list[0]
}

func (h *house) countRuns(flowID string) int {
	h.t.Helper()
	list, err := h.store.ListRuns(context.Background(), flow.RunFilter{WorkspaceID: flow.DefaultWorkspace, FlowID: flowID, Limit: 50})
	if err != nil {
		h.t.Fatal(err)
	}
	return len(list)
}

// What is off, archived, not published or unknown is one and the same page.
func TestFormThatIsNotThere(t *testing.T) {
	t.Parallel()
	h := setup(t)
	off := h.formOf(ticketRouting, func(f *flow.Form) { f.On = false })
	archived := h.formOf(ticketRouting)
	if err := h.store.ArchiveFlow(t.Context(), flow.DefaultWorkspace, archived); err != nil {
		t.Fatal(err)
	}
	never := h.flow(ticketRouting)
	draft := h.flow(ticketRouting)
	form := flow.NewForm(flow.DefaultWorkspace, draft)
	form.On, form.Origins = true, []string{"https://a.example"}
	if err := h.store.SaveForm(t.Context(), form); err != nil {
		t.Fatal(err)
	}
	b := h.stranger()
	want := b.get("/nothing/at/all").is(http.StatusNotFound)
	for name, id := range map[string]string{"off": off, "archived": archived, "never set up": never, "not published": draft, "unknown": "flow_01jd3v8m2kq4r5t6w7x8y9z0ab", "malformed": "flow_1"} {
		for _, a := range []*answer{
			b.get("/f/" + id), b.post("/f/"+id, url.Values{"in.ticket": {"a"}}), b.post("/f/"+id+"/password", url.Values{"password": {"a"}}),
			b.get("/f/" + id + "/r/x"), b.get("/f/" + id + "/r/x/events"), b.post("/f/"+id+"/r/x/cancel", nil),
		} {
			if a.status != want.status || a.body != want.body || a.header.Get("X-Frame-Options") != "DENY" {
				t.Errorf("%s: status %d, %s", name, a.status, a.body)
			}
		}
	}
}

func TestFormTicket(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id, other := h.formOf(ticketRouting), h.formOf(ticketRouting)
	b := h.stranger()
	path := b.sendForm("/f/"+id, map[string]string{"in.ticket": "refund"}, nil).is(http.StatusSeeOther).header.Get("Location")
	b.ended(path)
	run := h.lastRun(id)
	short, seals := strings.TrimPrefix(run.ID, flow.PrefixRun), h.server.seals
	byKey, err := h.runner.StartRun(t.Context(), flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: id, Trigger: flow.TriggerAPI, Given: map[string]any{"ticket": "private"}})
	if err != nil {
		t.Fatal(err)
	}
	want := b.get("/nothing").body
	for name, ticket := range map[string]string{
		"the run alone":       short,
		"its whole ID":        run.ID,
		"tampered with":       strings.Replace(path[strings.LastIndex(path, "/")+1:], short, strings.TrimPrefix(byKey.Run.ID, flow.PrefixRun), 1),
		"expired":             seals.Ticket(id, run.ID, time.Now().Add(-time.Second)),
		"of another form":     seals.Ticket(other, run.ID, time.Now().Add(time.Hour)),
		"for a run of a key":  seals.Ticket(id, byKey.Run.ID, time.Now().Add(time.Hour)),
		"for a run that none": seals.Ticket(id, "run_01jd3v8m2kq4r5t6w7x8y9z0ab", time.Now().Add(time.Hour)),
	} {
		for _, a := range []*answer{b.get("/f/" + id + "/r/" + ticket), b.get("/f/" + id + "/r/" + ticket + "/events"), b.post("/f/"+id+"/r/"+ticket+"/cancel", nil)} {
			if a.status != http.StatusNotFound || a.body != want {
				t.Errorf("%s: status %d, %s", name, a.status, a.body)
			}
		}
	}
	b.get(strings.Replace(path, id, other, 1)).is(http.StatusNotFound)
	b.get("/runs/" + run.ID).is(http.StatusSeeOther) // to the sign-in
	b.get("/f/" + id + "?again=" + seals.Ticket(other, run.ID, time.Now().Add(time.Hour))).is(http.StatusOK).lacks("refund")
	b.get("/f/" + id + "?again=" + seals.Ticket(id, byKey.Run.ID, time.Now().Add(time.Hour))).is(http.StatusOK).lacks("private")
	h.offForm(id)
	b.get(path).is(http.StatusNotFound)
}

func TestFormEmbedding(t *testing.T) {
	t.Parallel()
	h := setup(t, func(c *Config) { c.PublicURL = "https://flows.example.com" })
	id := h.formOf(ticketRouting, func(f *flow.Form) {
		f.Origins, f.PasswordHash = []string{"https://www.example.com", "https://*.partner.example"}, passwordHash()
	})
	b := h.stranger()
	page := b.get("/f/" + id).is(http.StatusOK)
	if csp := page.header.Get("Content-Security-Policy"); !strings.HasSuffix(csp, "frame-ancestors https://www.example.com https://*.partner.example") || page.header.Get("X-Frame-Options") != "" {
		t.Errorf("policy %s, X-Frame-Options %q", csp, page.header.Get("X-Frame-Options"))
	}
	a := b.post("/f/"+id+"/password", url.Values{"password": {password}}).is(http.StatusSeeOther)
	if c := a.header.Get("Set-Cookie"); !strings.HasPrefix(c, "__Secure-form=") || !strings.Contains(c, "SameSite=None") || !strings.Contains(c, "Partitioned") || !strings.Contains(c, "Secure") {
		t.Errorf("cookie %s", c)
	}
	other := h.formOf(ticketRouting)
	if page := b.get("/f/" + other).is(http.StatusOK); page.header.Get("X-Frame-Options") != "DENY" || !strings.HasSuffix(page.header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Errorf("headers of a form that none may embed: %v", page.header)
	}
}

// A page of another site sends nothing here, but for what nobody else knows.
func TestFormFromElsewhere(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id, _ := h.slowForm()
	post := func(path, site, origin string) int {
		r, _ := http.NewRequest("POST", h.http.URL+path, strings.NewReader(""))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", origin)
		if site != "" {
			r.Header.Set("Sec-Fetch-Site", site)
		}
		resp, err := h.stranger().client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := post("/f/"+id, "cross-site", "https://evil.example"); got != http.StatusForbidden || h.countRuns(id) != 0 {
		t.Errorf("a form of another site: %d", got)
	}
	if got := post("/f/"+id, "same-origin", h.http.URL); got != http.StatusSeeOther {
		t.Errorf("a form inside a frame: %d", got)
	}
	ticket := h.server.seals.Ticket(id, h.lastRun(id).ID, time.Now().Add(time.Hour))
	if got := post("/f/"+id+"/r/"+ticket+"/cancel", "", "null"); got != http.StatusSeeOther {
		t.Errorf("cancel by a browser that says not where from: %d", got)
	}
}

// slowForm is a form whose run goes on until the gate opens.
func (h *house) slowForm() (id string, gate chan<- int) {
	h.t.Helper()
	id, gate = h.waiting()
	h.publish(id)
	f := flow.NewForm(flow.DefaultWorkspace, id)
	f.On = true
	if err := h.store.SaveForm(context.Background(), f); err != nil {
		h.t.Fatal(err)
	}
	return id, gate
}

func TestFormCancel(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id, _ := h.slowForm()
	b := h.stranger()
	path := b.sendForm("/f/"+id, nil, nil).is(http.StatusSeeOther).header.Get("Location")
	b.get(path).is(http.StatusOK).has("Cancel", `data-events="`+path+`/events"`, "of 2 steps")
	b.post(path+"/cancel", nil).is(http.StatusSeeOther).see(path)
	b.ended(path).has("This was canceled.", "Again")
	b.post(path+"/cancel", nil).is(http.StatusSeeOther).see(path) // twice is no fault
}

func TestFormFailure(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.formOf(`{"schema":"sluice.flow/v1","name":"Ask","nodes":[{"id":"get","kind":"http_request","label":"Ask the vault","config":{"url":"http://127.0.0.1:1/private"}},{"id":"o","kind":"output","config":{"name":"o"}}],"edges":[{"from":"get.body","to":"o.value"}]}`)
	b := h.stranger()
	path := b.sendForm("/f/"+id, nil, nil).is(http.StatusSeeOther).header.Get("Location")
	b.ended(path).has("This did not work", "A service that this form relies on did not answer.", "Reference "+h.lastRun(id).ID).lacks("127.0.0.1:1", "private", "vault", "http_failed", "get")
}

func TestFormEvents(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id, gate := h.slowForm()
	b := h.stranger()
	path := b.sendForm("/f/"+id, nil, nil).is(http.StatusSeeOther).header.Get("Location")
	gate <- http.StatusOK
	a := b.get(path + "/events").is(http.StatusOK)
	if mime := a.header.Get("Content-Type"); mime != "text/event-stream" {
		t.Errorf("type %s", mime)
	}
	a.has("event: run\n", "event: over\n", "done")
	for line := range strings.Lines(a.body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok && !json.Valid([]byte(data)) {
			t.Errorf("not JSON: %s", data)
		}
	}
}
