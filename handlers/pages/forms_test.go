package pages

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
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

func TestFormRefusesInputs(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.formOf(everyInput, func(f *flow.Form) { f.PerMinute, f.MaxFile = 600, 1<<20 })
	b := h.stranger()
	for name, test := range map[string]struct {
		input, text string
		file        *formFile
		says        string
	}{
		"a missing text":           {"question", "", nil, "This is needed."},
		"a short text":             {"question", "ab", nil, "This is too short: At least 3 characters."},
		"a long text":              {"short_name", "abcdefghijklmnopqrstuvwxyz", nil, "This is too long: At most 20 characters."},
		"a text of another form":   {"short_name", "ADA", nil, "This does not have the form that is asked for."},
		"words for a number":       {"pages", "three", nil, "Type a number, such as 3 or 0.5."},
		"a large number":           {"pages", "10", nil, "This is too large: 1 to 9."},
		"what is no choice":        {"tone", "shrill", nil, "Choose one of those that are offered."},
		"no choice":                {"tone", "", nil, "Choose one."},
		"broken JSON":              {"extra", `{"a": `, nil, "This is not valid JSON: "},
		"a broken list":            {"labels", `["a"`, nil, "Type one item a line, or a list in JSON."},
		"a long list":              {"labels", "1\n2\n3\n4", nil, "This is too much: One item a line. At most 3 items."},
		"no file":                  {"photo", "", &formFile{}, "Choose a file."},
		"a file of another kind":   {"photo", "", &formFile{"a.txt", "text/plain", []byte("words")}, "This kind of file is not taken here. Takes pictures."},
		"a file that is too large": {"photo", "", &formFile{"a.png", "image/png", append(bytes.Clone(pixel), make([]byte, 1<<20)...)}, "This file is too large. It may have at most 1 MiB."},
		"a file of somebody else":  {"extra", `{"file":"file_01jd3v8m2kq4r5t6w7x8y9z0ab"}`, nil, "Choose the file again."},
	} {
		t.Run(name, func(t *testing.T) {
			texts, files := good(), map[string]formFile{"in.photo": photo["in.photo"]}
			if test.file == nil {
				texts["in."+test.input] = test.text
			} else if files["in.photo"] = *test.file; test.file.name == "" {
				delete(files, "in.photo")
			}
			a := b.sendForm("/f/"+id, texts, files).is(http.StatusUnprocessableEntity)
			a.has(test.says, `aria-`).lacks("INTERNAL", "/v1/files", "me.png")
			if test.input != "question" {
				a.has("How much &lt;b&gt;is&lt;/b&gt; it?")
			}
		})
	}
	if n := h.countRuns(id); n != 0 {
		t.Errorf("%d runs began", n)
	}
	t.Run("all at once", func(t *testing.T) {
		a := b.sendForm("/f/"+id, map[string]string{"in.pages": "x", "in.extra": "[1"}, nil).is(http.StatusUnprocessableEntity)
		a.has("This is needed.", "Type a number", "This is not valid JSON", "Choose one.", "Choose a file.", `value="x"`)
	})
	t.Run("a file that breaks off", func(t *testing.T) {
		cut := "--cut\r\nContent-Disposition: form-data; name=\"in.photo\"; filename=\"me.png\"\r\n\r\nhalf of"
		b.send("POST", "/f/"+id, "multipart/form-data; boundary=cut", strings.NewReader(cut)).is(http.StatusUnprocessableEntity).has("A file did not arrive whole. Choose it again")
	})
	t.Run("what is no form inside", func(t *testing.T) {
		const mime = "multipart/form-data; boundary=other"
		b.send("POST", "/f/"+id, mime, strings.NewReader("xx")).is(http.StatusUnprocessableEntity).has("The form could not be read.")
		h.as(flow.MemberEditor).send("POST", "/flows/"+id+"/run", mime, strings.NewReader("xx")).is(http.StatusUnprocessableEntity).has("The form could not be read.")
	})
	t.Run("and keeps none of their files", func(t *testing.T) {
		kept, err := h.store.FindForm(t.Context(), id)
		if err != nil || kept.Taken != 0 {
			t.Errorf("refused forms count: %+v, %v", kept, err)
		}
		var files int
		if err := h.store.SQLite().QueryRow("SELECT count(*) FROM files WHERE erased_at = 0").Scan(&files); err != nil || files != 0 {
			t.Errorf("%d files are kept, %v", files, err)
		}
	})
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

func (h *house) offForm(id string) {
	h.t.Helper()
	if err := h.store.SaveForm(context.Background(), flow.NewForm(flow.DefaultWorkspace, id)); err != nil {
		h.t.Fatal(err)
	}
}

func TestFormPassword(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.formOf(ticketRouting, func(f *flow.Form) { f.PasswordHash = passwordHash() })
	b := h.stranger()
	b.get("/f/"+id).is(http.StatusOK).has("Open the form", "noindex").lacks("Route a support ticket", "ticket")
	b.sendForm("/f/"+id, map[string]string{"in.ticket": "refund"}, nil).is(http.StatusForbidden).has("Open the form")
	b.post("/f/"+id+"/password", url.Values{"password": {"wrong"}}).is(http.StatusUnprocessableEntity).has("This is not the password.")
	a := b.post("/f/"+id+"/password", url.Values{"password": {password}}).is(http.StatusSeeOther)
	a.see("/f/" + id)
	if c := a.header.Get("Set-Cookie"); !strings.Contains(c, "Path=/f/"+id) || !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Lax") || !strings.Contains(c, "Max-Age=43200") {
		t.Errorf("cookie %s", c)
	}
	b.get("/f/" + id).is(http.StatusOK).has("Route a support ticket")
	path := b.sendForm("/f/"+id, map[string]string{"in.ticket": "refund"}, nil).is(http.StatusSeeOther).header.Get("Location")
	b.ended(path)

	t.Run("is asked for results too", func(t *testing.T) {
		c := h.stranger()
		c.get(path).is(http.StatusOK).has("Open the form", `name="ticket"`).lacks("refund")
		if a := c.get(path+"/events").is(http.StatusForbidden).has("asks for a password").lacks("refund", "Route a support ticket"); a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("headers %v", a.header)
		}
		b.get(path + "/events").is(http.StatusOK).has("event: over")
		ticket := path[strings.LastIndex(path, "/")+1:]
		c.post("/f/"+id+"/password", url.Values{"password": {password}, "ticket": {ticket}}).is(http.StatusSeeOther).see(path)
		c.get(path).is(http.StatusOK).has("refund")
	})
	t.Run("ends passes when it changes", func(t *testing.T) {
		f, err := h.store.FindForm(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		before := f.PasswordHash
		f.PasswordHash = nobodysHash
		if err := h.store.SaveForm(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		b.get("/f/" + id).is(http.StatusOK).has("Open the form")
		f.PasswordHash = before
		if err := h.store.SaveForm(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("slows guessing down", func(t *testing.T) {
		c := h.stranger()
		for range freeByAccount + 1 {
			c.post("/f/"+id+"/password", url.Values{"password": {"wrong"}}).is(http.StatusUnprocessableEntity)
		}
		a := c.post("/f/"+id+"/password", url.Values{"password": {password}}).is(http.StatusTooManyRequests).has("Too many tries.")
		if a.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		b.get("/f/" + id).is(http.StatusOK).has("Route a support ticket") // who has a pass is not slowed down
	})
}

func TestFormLimits(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	h := setup(t, func(c *Config) { c.Now = func() time.Time { return now } })
	b := h.stranger()
	send := func(id, text string) *answer {
		return b.sendForm("/f/"+id, map[string]string{"in.ticket": text}, nil)
	}
	t.Run("of an address", func(t *testing.T) {
		id := h.formOf(ticketRouting, func(f *flow.Form) { f.PerMinute = 2 })
		send(id, "one").is(http.StatusSeeOther)
		send(id, "two").is(http.StatusSeeOther)
		a := send(id, "three & four").is(http.StatusTooManyRequests).has("This was sent too often in a short time. Send it again in 30 seconds; what you typed is still here.", "three &amp; four")
		if a.header.Get("Retry-After") != "30" {
			t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
		}
		now = now.Add(30 * time.Second)
		send(id, "three").is(http.StatusSeeOther)
	})
	t.Run("of the day", func(t *testing.T) {
		id := h.formOf(ticketRouting, func(f *flow.Form) { f.PerDay = 2 })
		send(id, "one").is(http.StatusSeeOther)
		send(id, "").is(http.StatusUnprocessableEntity) // does not count
		send(id, "two").is(http.StatusSeeOther)
		send(id, "three").is(http.StatusTooManyRequests).has("This form has answered all that it may for today.", "three")
		h.as(flow.MemberViewer).get("/flows/" + id + "/form").is(http.StatusOK).has("The form has started all runs that it may today.")
		now = now.Add(12 * time.Hour)
		send(id, "four").is(http.StatusSeeOther)
	})
	t.Run("of the flow", func(t *testing.T) {
		id := h.formOf(ticketRouting)
		for code, want := range map[flow.Code]struct {
			status int
			says   string
		}{
			flow.CodeBudgetExceeded: {http.StatusPaymentRequired, "The budget of this form is used up."},
			flow.CodeQueueFull:      {http.StatusTooManyRequests, "in great demand"},
			flow.CodeStorageFull:    {http.StatusServiceUnavailable, "can take nothing right now"},
			flow.CodeDraining:       {http.StatusServiceUnavailable, "pauses for a moment"},
		} {
			real := h.server.Runner
			h.server.Runner = refusing{real, &flow.Error{Code: code, Message: "the key slu_1 may spend 5 USD"}}
			send(id, "kept words").is(want.status).has(want.says, "kept words").lacks("slu_1", "USD")
			h.server.Runner = real
		}
		if f, err := h.store.FindForm(t.Context(), id); err != nil || f.Taken != 0 {
			t.Errorf("refused starts count: %+v, %v", f, err)
		}
	})
}

// refusing is a runner that starts nothing.
// TestFormSending: one address cannot hold more than so many connections by
// sending files slowly.
func TestFormSending(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id, b, who := h.formOf(ticketRouting), h.stranger(), "sending "+network("127.0.0.1")
	for range mostStreams {
		h.server.streams.enter(who)
	}
	ticket := map[string]string{"in.ticket": "one"}
	b.sendForm("/f/"+id, ticket, nil).is(http.StatusTooManyRequests).has("Too many forms are being sent from your network")
	h.server.streams.leave(who)
	b.sendForm("/f/"+id, ticket, nil).is(http.StatusSeeOther)
	b.sendForm("/f/"+id, ticket, nil).is(http.StatusSeeOther) // it was counted out again
}

// A file may take long as long as it keeps coming. What stops, or hardly moves,
// is refused, and so is a form that never ends.
func TestFormSlowly(t *testing.T) {
	t.Parallel()
	const head = "--x\r\nContent-Disposition: form-data; name=\"in.photo\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\n"
	for name, test := range map[string]struct {
		piece, end string
		count      int
		want       string
	}{
		"steady":       {strings.Repeat("a", 4096), "\r\n--x--\r\n", 30, "HTTP/1.1 303"},
		"drop by drop": {"a", "\r\n--x--\r\n", 300, "did not arrive whole"},
		"stopping":     {"a", "", 1, "did not arrive whole"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t)
			h.server.patience = 300 * time.Millisecond
			id := h.formOf(`{"schema": "sluice.flow/v1", "name": "Keep", "nodes": [
				{"id": "in", "kind": "input", "config": {"name": "photo", "type": "file"}}, {"id": "out", "kind": "output", "config": {"name": "out"}}],
				"edges": [{"from": "in.value", "to": "out.value"}]}`)
			c, err := net.Dial("tcp", h.http.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			fmt.Fprintf(c, "POST /f/%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: multipart/form-data; boundary=x\r\nTransfer-Encoding: chunked\r\n\r\n", id)
			send := func(piece string) bool {
				_, err := fmt.Fprintf(c, "%x\r\n%s\r\n", len(piece), piece)
				return err == nil
			}
			send(head)
			tick := time.NewTicker(15 * time.Millisecond) // in all longer than the patience
			defer tick.Stop()
			for range test.count {
				if <-tick.C; !send(test.piece) {
					break
				}
			}
			if test.end != "" {
				send(test.end)
				_, _ = io.WriteString(c, "0\r\n\r\n")
			}
			got, _ := io.ReadAll(c)
			if !strings.Contains(string(got), test.want) {
				t.Errorf("the answer is %.300q\n%s", got, h.log)
			}
		})
	}
}

type refusing struct {
	Runner
	err error
}

func (r refusing) StartRun(context.Context, flow.Start) (flow.Started, error) {
	return flow.Started{}, r.err
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

func TestFormSettings(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.flow(ticketRouting)
	path := "/flows/" + id + "/form"
	b := h.as(flow.MemberEditor)
	base := func() url.Values { return url.Values{"per_minute": {"5"}, "per_day": {"50"}, "max_file": {"2"}} }
	b.get(path).is(http.StatusOK).has("Anyone with the address can use the form", `placeholder="Route a support ticket"`, `value="10"`, `value="500"`, `value="25"`)

	v := base()
	v.Set("on", "on")
	b.post(path, v).is(http.StatusSeeOther).see(path)
	b.get(path).has("The flow is not published.", h.http.URL+"/f/"+id)
	h.publish(id)
	v.Set("title", "Ask us <b>")
	v.Set("intro", "We answer\r\nat once.")
	v.Set("button", "Send")
	v.Set("password", "open sesame now")
	v.Set("origins", "https://www.Example.com/\n\nhttps://*.partner.example")
	v.Set("unlisted", "on")
	b.post(path, v).is(http.StatusSeeOther)
	b.get(path).has("One is set.", "&lt;iframe src=&#34;"+h.http.URL+"/f/"+id, "https://www.example.com\nhttps://*.partner.example", "With a password, embedding needs https.", "Open the form").lacks("open sesame", "argon2id")
	f, err := h.store.FindForm(t.Context(), id)
	if err != nil || f.PerMinute != 5 || f.PerDay != 50 || f.MaxFile != 2<<20 || f.Intro != "We answer\nat once." || !strings.HasPrefix(f.PasswordHash, "$argon2id$") {
		t.Fatalf("kept %+v, %v", f, err)
	}
	c := h.stranger()
	c.post("/f/"+id+"/password", url.Values{"password": {"open sesame now"}}).is(http.StatusSeeOther)
	c.get("/f/"+id).is(http.StatusOK).has("<h1>Ask us &lt;b&gt;</h1>", "We answer", ">Send<", "noindex")

	v.Del("password")
	b.post(path, v).is(http.StatusSeeOther)
	if again, _ := h.store.FindForm(t.Context(), id); again.PasswordHash != f.PasswordHash {
		t.Error("saving without a password changed it")
	}
	v.Set("no_password", "on")
	v.Del("on")
	b.post(path, v).is(http.StatusSeeOther)
	if f, _ = h.store.FindForm(t.Context(), id); f.PasswordHash != "" || f.On {
		t.Errorf("kept %+v", f)
	}
	h.as(flow.MemberOwner).get("/settings/audit").is(http.StatusOK).has("opened the form of", "closed the form of", "changed the form of", "title, introduction, button, password, embedding, search engines").lacks("open sesame")

	t.Run("refuses", func(t *testing.T) {
		for name, value := range map[string]string{
			"title": strings.Repeat("x", 121), "intro": strings.Repeat("x", 2001), "button": strings.Repeat("x", 41), "password": "short",
			"per_minute": "0", "per_day": "many", "max_file": "-1",
			"origins": "https://a.example; script-src *",
		} {
			v := base()
			v.Set("on", "on")
			v.Set(name, value)
			a := b.post(path, v).is(http.StatusUnprocessableEntity).has("Nothing was saved: 1 field to mend.", `aria-invalid="true"`)
			if name != "password" {
				a.has(strings.ReplaceAll(value, "\r\n", "\n"))
			}
		}
		if f, _ := h.store.FindForm(t.Context(), id); f.On {
			t.Error("a refused form was saved")
		}
	})
	t.Run("viewers see and cannot change", func(t *testing.T) {
		w := h.as(flow.MemberViewer)
		w.get(path).is(http.StatusOK).has("Editors and owners can change this.", "disabled").lacks(">Save<")
		w.post(path, base()).is(http.StatusForbidden)
	})
	t.Run("other workspaces find nothing", func(t *testing.T) {
		o := h.fresh("owner of another workspace")
		if a := o.get(path).is(http.StatusNotFound); a.body != o.get("/flows/flow_01jd3v8m2kq4r5t6w7x8y9z0ab/form").body {
			t.Error("it differs from what is nowhere")
		}
		o.post(path, base()).is(http.StatusNotFound)
	})
	t.Run("is in the builder's menu", func(t *testing.T) {
		b.get("/flows/" + id).has(`href="/flows/` + id + `/form"`)
	})
}

func TestReadOrigins(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://a.example": "https://a.example", "http://localhost:3000": "http://localhost:3000", "https://*.a.example/": "https://*.a.example", " HTTPS://A.example ": "https://a.example",
		"https://a.example\nhttps://a.example": "https://a.example",
		"*":                                    "!", "https://*": "!", "https://*.com": "!", "a.example": "!", "https://a.example/path": "!", "https://a.example 'self'": "!", "javascript:alert(1)": "!", "https://a.example;x": "!",
		"https://user@a.example": "!", "null": "!", "'none'": "!", "data:": "!", "https://a.example:99999999": "!",
	} {
		list, bad := readOrigins(text)
		got := strings.Join(list, " ")
		if bad != "" {
			got = "!"
		}
		if got != want {
			t.Errorf("%q: %s, want %s (%s)", text, got, want, bad)
		}
	}
}
