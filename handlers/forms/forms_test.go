package forms_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/forms"
	"sluice/flow/value"
	"sluice/handlers"
	"sluice/handlers/webtest"
)

// everyInput has one input of each type and returns all of them.
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

// pixel is a picture of one pixel.
var pixel = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82")

func good() map[string]string {
	return map[string]string{"in.question": "How much <b>is</b> it?", "in.short_name": "grace", "in.pages": "3", "in.urgent": "true", "in.tone": "calm", "in.extra": `{"a": [1, 2]}`, "in.labels": "red\nblue\n", "once": "1"}
}

var photo = map[string]webtest.FormFile{"in.photo": {Name: "me.png", MIME: "image/png", Content: pixel}}

func TestForm(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.FormOf(everyInput)
	b := h.Anonymous()

	t.Run("shows a field for each type", func(t *testing.T) {
		page := b.Get("/f/" + id).Is(http.StatusOK)
		page.Has("<h1>Order a report</h1>", "You get it at once.", "Your question", "What is it about? At least 3 characters.", `<textarea class="area large"`,
			`<input class="input large" type="text" value="ada"`, "At most 20 characters.", `type="number"`, `min="1"`, `max="9"`, `type="checkbox"`, `type="radio"`,
			"data-json", "One item per line. At most 3 items.", `type="file"`, `accept="image/*"`, "Accepts images. At most 25 MiB.", "Made with Sluice", `enctype="multipart/form-data"`)
		page.Lacks("INTERNAL", "Guess the budget", "canvas", "Sign in", "noindex")
		if got := page.Header.Get("X-Frame-Options") + "|" + page.Header.Get("Cache-Control") + "|" + page.Header.Get("Referrer-Policy"); got != "DENY|no-store|same-origin" {
			t.Errorf("headers %s", got)
		}
		if csp := page.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'; script-src 'self'") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("policy %s", csp)
		}
		if page.Header.Get("Set-Cookie") != "" {
			t.Errorf("a form without a password sets %s", page.Header.Get("Set-Cookie"))
		}
	})
	t.Run("runs without scripts", func(t *testing.T) {
		a := b.SendForm("/f/"+id, good(), photo).Is(http.StatusSeeOther)
		path := a.Header.Get("Location")
		if !regexp.MustCompile(`^/f/` + id + `/r/[0-9a-z]{26}\.[0-9a-z]+\.[0-9a-f]{64}$`).MatchString(path) {
			t.Fatalf("leads to %s", path)
		}
		page := b.Ended(path)
		page.Has("Done", "Summary", "How much &lt;b&gt;is&lt;/b&gt; it?", "red", "blue", "Run again", `href="/f/`+id+`?again=`)
		page.Lacks("INTERNAL", "Guess the budget", "in.question")
		if got := page.Header.Get("Referrer-Policy") + "|" + page.Header.Get("X-Robots-Tag") + "|" + page.Header.Get("Cache-Control"); got != "no-referrer|noindex, nofollow|no-store" {
			t.Errorf("headers %s", got)
		}
		link := regexp.MustCompile(`src="(/v1/files/[^"]+)"`).FindStringSubmatch(page.Body)
		if link == nil || !strings.Contains(link[1], "signature=") {
			t.Errorf("no signed link to the picture: %s", page.Body)
		}
		run := lastRun(h, id)
		if run.Trigger != flow.TriggerForm || run.Version != 1 || run.KeyID != "" || run.UserID != "" {
			t.Errorf("run %+v", run)
		}
		if got := fmt.Sprintln(run.Inputs.Get("pages"), run.Inputs.Get("urgent"), run.Inputs.Get("tone"), run.Inputs.Get("labels"), flow.Text(run.Inputs.Get("extra"))); got != "3 true calm [red blue] {\"a\":[1,2]}\n" {
			t.Errorf("inputs %s", got)
		}
		h.As(flow.MemberViewer).Get("/runs/"+string(run.ID)).Is(http.StatusOK).Has("Form", "How much")
	})
	t.Run("keeps the inputs and the file for another run", func(t *testing.T) {
		first := lastRun(h, id)
		path := "/f/" + id + "?again=" + h.Server.Forms.Seals().Ticket(flow.FlowID(id), first.ID, time.Now().Add(time.Hour))
		page := b.Get(path).Is(http.StatusOK).Has("How much &lt;b&gt;is&lt;/b&gt; it?", `value="grace"`, "red\nblue", "me.png", `name="last.in.photo"`)
		previousRun := regexp.MustCompile(`name="again" value="([^"]+)"`).FindStringSubmatch(page.Body)[1]
		texts := good()
		texts["again"], texts["once"] = previousRun, "2"
		texts["last.in.photo"], _ = flow.FileID(first.Inputs.Get("photo"))
		b.SendForm("/f/"+id, texts, nil).Is(http.StatusSeeOther)
		if run := lastRun(h, id); run.ID == first.ID || fmt.Sprint(run.Inputs.Get("photo")) != fmt.Sprint(first.Inputs.Get("photo")) {
			t.Errorf("run %+v", run.Inputs)
		}
		delete(texts, "again")
		texts["once"] = "3"
		b.SendForm("/f/"+id, texts, nil).Is(http.StatusUnprocessableEntity).Has("Choose the file again.")
	})
	t.Run("starts one run if submitted twice", func(t *testing.T) {
		texts := map[string]string{"once": "twice"}
		other := h.FormOf(webtest.TicketRouting)
		texts["in.ticket"] = "refund"
		a, c := b.SendForm("/f/"+other, texts, nil).Is(http.StatusSeeOther), b.SendForm("/f/"+other, texts, nil).Is(http.StatusSeeOther)
		if one, two := strings.Split(a.Header.Get("Location"), ".")[0], strings.Split(c.Header.Get("Location"), ".")[0]; one != two {
			t.Errorf("%s and %s", one, two)
		}
		if f, err := h.Store.FindForm(t.Context(), flow.FlowID(other)); err != nil || f.Taken != 1 {
			t.Errorf("counted %+v, %v", f, err)
		}
		texts["in.ticket"] = "other words"
		if d := b.SendForm("/f/"+other, texts, nil).Is(http.StatusSeeOther); strings.Split(d.Header.Get("Location"), ".")[0] == strings.Split(a.Header.Get("Location"), ".")[0] {
			t.Error("other inputs are another run")
		}
	})
}

// A form that is off, archived, unpublished or unknown gets the same page.
func TestForm_unavailable_is_not_found(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	off := h.FormOf(webtest.TicketRouting, func(f *forms.Form) { f.On = false })
	archived := h.FormOf(webtest.TicketRouting)
	if err := h.Store.ArchiveFlow(t.Context(), flow.DefaultWorkspace, flow.FlowID(archived)); err != nil {
		t.Fatal(err)
	}
	never := h.Flow(webtest.TicketRouting)
	draft := h.Flow(webtest.TicketRouting)
	form := forms.New(flow.DefaultWorkspace, flow.FlowID(draft))
	form.On, form.Origins = true, []string{"https://a.example"}
	if err := h.Store.SaveForm(t.Context(), form); err != nil {
		t.Fatal(err)
	}
	b := h.Anonymous()
	want := b.Get("/nothing/at/all").Is(http.StatusNotFound)
	for name, id := range map[string]string{"off": off, "archived": archived, "never set up": never, "not published": draft, "unknown": "flow_01jd3v8m2kq4r5t6w7x8y9z0ab", "malformed": "flow_1"} {
		for _, a := range []*webtest.Answer{
			b.Get("/f/" + id), b.Post("/f/"+id, url.Values{"in.ticket": {"a"}}), b.Post("/f/"+id+"/password", url.Values{"password": {"a"}}),
			b.Get("/f/" + id + "/r/x"), b.Get("/f/" + id + "/r/x/events"), b.Post("/f/"+id+"/r/x/cancel", nil),
		} {
			if a.Status != want.Status || a.Body != want.Body || a.Header.Get("X-Frame-Options") != "DENY" {
				t.Errorf("%s: status %d, %s", name, a.Status, a.Body)
			}
		}
	}
}

func TestFormTicket(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id, other := h.FormOf(webtest.TicketRouting), flow.FlowID(h.FormOf(webtest.TicketRouting))
	b := h.Anonymous()
	path := b.SendForm("/f/"+id, map[string]string{"in.ticket": "refund"}, nil).Is(http.StatusSeeOther).Header.Get("Location")
	b.Ended(path)
	run := lastRun(h, id)
	short, seals := strings.TrimPrefix(string(run.ID), flow.PrefixRun), h.Server.Forms.Seals()
	byKey, err := h.Runner.StartRun(t.Context(), flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: flow.FlowID(id), Trigger: flow.TriggerAPI, Given: value.FromMap(map[string]any{"ticket": "private"})})
	if err != nil {
		t.Fatal(err)
	}
	want := b.Get("/nothing").Body
	for name, ticket := range map[string]string{
		"the run alone":       short,
		"its whole ID":        string(run.ID),
		"tampered with":       strings.Replace(path[strings.LastIndex(path, "/")+1:], short, strings.TrimPrefix(string(byKey.Run.ID), flow.PrefixRun), 1),
		"expired":             seals.Ticket(flow.FlowID(id), run.ID, time.Now().Add(-time.Second)),
		"of another form":     seals.Ticket(other, run.ID, time.Now().Add(time.Hour)),
		"for a run of a key":  seals.Ticket(flow.FlowID(id), byKey.Run.ID, time.Now().Add(time.Hour)),
		"for a run that none": seals.Ticket(flow.FlowID(id), "run_01jd3v8m2kq4r5t6w7x8y9z0ab", time.Now().Add(time.Hour)),
	} {
		for _, a := range []*webtest.Answer{b.Get("/f/" + id + "/r/" + ticket), b.Get("/f/" + id + "/r/" + ticket + "/events"), b.Post("/f/"+id+"/r/"+ticket+"/cancel", nil)} {
			if a.Status != http.StatusNotFound || a.Body != want {
				t.Errorf("%s: status %d, %s", name, a.Status, a.Body)
			}
		}
	}
	b.Get(strings.Replace(path, id, string(other), 1)).Is(http.StatusNotFound)
	b.Get("/runs/" + string(run.ID)).Is(http.StatusSeeOther) // to the sign-in
	b.Get("/f/" + id + "?again=" + seals.Ticket(other, run.ID, time.Now().Add(time.Hour))).Is(http.StatusOK).Lacks("refund")
	b.Get("/f/" + id + "?again=" + seals.Ticket(flow.FlowID(id), byKey.Run.ID, time.Now().Add(time.Hour))).Is(http.StatusOK).Lacks("private")
	offForm(h, id)
	b.Get(path).Is(http.StatusNotFound)
}

func TestFormEmbedding(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t, func(c *handlers.Config) { c.PublicURL = "https://flows.example.com" })
	id := h.FormOf(webtest.TicketRouting, func(f *forms.Form) {
		f.Origins, f.PasswordHash = []string{"https://www.example.com", "https://*.partner.example"}, webtest.PasswordHash()
	})
	b := h.Anonymous()
	page := b.Get("/f/" + id).Is(http.StatusOK)
	if csp := page.Header.Get("Content-Security-Policy"); !strings.HasSuffix(csp, "frame-ancestors https://www.example.com https://*.partner.example") || page.Header.Get("X-Frame-Options") != "" {
		t.Errorf("policy %s, X-Frame-Options %q", csp, page.Header.Get("X-Frame-Options"))
	}
	a := b.Post("/f/"+id+"/password", url.Values{"password": {webtest.Password}}).Is(http.StatusSeeOther)
	if c := a.Header.Get("Set-Cookie"); !strings.HasPrefix(c, "__Secure-form=") || !strings.Contains(c, "SameSite=None") || !strings.Contains(c, "Partitioned") || !strings.Contains(c, "Secure") {
		t.Errorf("cookie %s", c)
	}
	other := h.FormOf(webtest.TicketRouting)
	if page := b.Get("/f/" + other).Is(http.StatusOK); page.Header.Get("X-Frame-Options") != "DENY" || !strings.HasSuffix(page.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Errorf("headers of a form that none may embed: %v", page.Header)
	}
}

// Pages of other sites cannot submit the form without its secret token.
func TestForm_refuses_cross_site_posts(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id, _ := h.SlowForm()
	post := func(path, site, origin string) int {
		r, _ := http.NewRequest("POST", h.Http.URL+path, strings.NewReader(""))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", origin)
		if site != "" {
			r.Header.Set("Sec-Fetch-Site", site)
		}
		resp, err := h.Anonymous().Client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := post("/f/"+id, "cross-site", "https://evil.example"); got != http.StatusForbidden || countRuns(h, id) != 0 {
		t.Errorf("a form of another site: %d", got)
	}
	if got := post("/f/"+id, "same-origin", h.Http.URL); got != http.StatusSeeOther {
		t.Errorf("a form inside a frame: %d", got)
	}
	ticket := h.Server.Forms.Seals().Ticket(flow.FlowID(id), lastRun(h, id).ID, time.Now().Add(time.Hour))
	if got := post("/f/"+id+"/r/"+ticket+"/cancel", "", "null"); got != http.StatusSeeOther {
		t.Errorf("cancel by a browser that says not where from: %d", got)
	}
}

func TestFormCancel(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id, _ := h.SlowForm()
	b := h.Anonymous()
	path := b.SendForm("/f/"+id, nil, nil).Is(http.StatusSeeOther).Header.Get("Location")
	b.Get(path).Is(http.StatusOK).Has("Cancel", `data-events="`+path+`/events"`, "of 2 steps")
	b.Post(path+"/cancel", nil).Is(http.StatusSeeOther).RedirectsTo(path)
	b.Ended(path).Has("The run was canceled.", "Run again")
	b.Post(path+"/cancel", nil).Is(http.StatusSeeOther).RedirectsTo(path) // twice is no fault
}

func TestFormFailure(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.FormOf(`{"schema":"sluice.flow/v1","name":"Ask","nodes":[{"id":"ask-vault","kind":"http_request","label":"Ask the vault","config":{"url":"http://127.0.0.1:1/private"}},{"id":"o","kind":"output","config":{"name":"o"}}],"edges":[{"from":"ask-vault.body","to":"o.value"}]}`)
	b := h.Anonymous()
	path := b.SendForm("/f/"+id, nil, nil).Is(http.StatusSeeOther).Header.Get("Location")
	b.Ended(path).Has("Failed", "A service that this form uses did not respond.", "Reference "+string(lastRun(h, id).ID)).Lacks("127.0.0.1:1", "private", "vault", "http_failed")
}

func TestFormEvents(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id, gate := h.SlowForm()
	b := h.Anonymous()
	path := b.SendForm("/f/"+id, nil, nil).Is(http.StatusSeeOther).Header.Get("Location")
	gate <- http.StatusOK
	a := b.Get(path + "/events").Is(http.StatusOK)
	if mime := a.Header.Get("Content-Type"); mime != "text/event-stream" {
		t.Errorf("type %s", mime)
	}
	a.Has("event: run\n", "event: over\n", "done")
	for line := range strings.Lines(a.Body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok && !json.Valid([]byte(data)) {
			t.Errorf("not JSON: %s", data)
		}
	}
}
