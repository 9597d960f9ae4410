package forms_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/forms"
	"sluice/handlers"
	"sluice/handlers/web"
	"sluice/handlers/webtest"
)

func TestFormRefusesInputs(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.FormOf(everyInput, func(f *forms.Form) { f.PerMinute, f.MaxFile = 600, 1<<20 })
	b := h.Anonymous()
	for name, test := range map[string]struct {
		input, text string
		file        *webtest.FormFile
		says        string
	}{
		"a missing text":           {"question", "", nil, "Required."},
		"a short text":             {"question", "ab", nil, "This is too short: At least 3 characters."},
		"a long text":              {"short_name", "abcdefghijklmnopqrstuvwxyz", nil, "This is too long: At most 20 characters."},
		"a text of another form":   {"short_name", "ADA", nil, "This does not match the required format."},
		"words for a number":       {"pages", "three", nil, "Type a number, such as 3 or 0.5."},
		"a large number":           {"pages", "10", nil, "This is too large: 1 to 9."},
		"what is no choice":        {"tone", "shrill", nil, "Choose one of the options."},
		"no choice":                {"tone", "", nil, "Choose one."},
		"broken JSON":              {"extra", `{"a": `, nil, "This is not valid JSON: "},
		"a broken list":            {"labels", `["a"`, nil, "Type one item per line, or a list as JSON."},
		"a long list":              {"labels", "1\n2\n3\n4", nil, "This is too long: One item per line. At most 3 items."},
		"no file":                  {"photo", "", &webtest.FormFile{}, "Choose a file or paste a URL."},
		"a file of another kind":   {"photo", "", &webtest.FormFile{Name: "a.txt", MIME: "text/plain", Content: []byte("words")}, "This type of file is not accepted. Accepts images."},
		"a file that is too large": {"photo", "", &webtest.FormFile{Name: "a.png", MIME: "image/png", Content: append(bytes.Clone(pixel), make([]byte, 1<<20)...)}, "This file is too large. The limit is 1 MiB."},
		"a file of somebody else":  {"extra", `{"file":"file_01jd3v8m2kq4r5t6w7x8y9z0ab"}`, nil, "Choose the file again."},
	} {
		t.Run(name, func(t *testing.T) {
			texts, files := good(), map[string]webtest.FormFile{"in.photo": photo["in.photo"]}
			if test.file == nil {
				texts["in."+test.input] = test.text
			} else if files["in.photo"] = *test.file; test.file.Name == "" {
				delete(files, "in.photo")
			}
			a := b.SendForm("/f/"+id, texts, files).Is(http.StatusUnprocessableEntity)
			a.Has(test.says, `aria-`).Lacks("INTERNAL", "/v1/files", "me.png")
			if test.input != "question" {
				a.Has("How much &lt;b&gt;is&lt;/b&gt; it?")
			}
		})
	}
	if n := countRuns(h, id); n != 0 {
		t.Errorf("%d runs began", n)
	}
	t.Run("reports all problems together", func(t *testing.T) {
		a := b.SendForm("/f/"+id, map[string]string{"in.pages": "x", "in.extra": "[1"}, nil).Is(http.StatusUnprocessableEntity)
		a.Has("Required.", "Type a number", "This is not valid JSON", "Choose one.", "Choose a file or paste a URL.", `value="x"`)
	})
	t.Run("refuses an incomplete file", func(t *testing.T) {
		cut := "--cut\r\nContent-Disposition: form-data; name=\"in.photo\"; filename=\"me.png\"\r\n\r\nhalf of"
		b.Send("POST", "/f/"+id, "multipart/form-data; boundary=cut", strings.NewReader(cut)).Is(http.StatusUnprocessableEntity).Has("A file did not arrive whole. Choose it again")
	})
	t.Run("refuses what it would have to leave out", func(t *testing.T) {
		const mime = "multipart/form-data; boundary=b"
		part := func(header, content string) string {
			return "--b\r\nContent-Disposition: form-data; " + header + "\r\n\r\n" + content + "\r\n"
		}
		rest := part(`name="in.question"`, "How much is it?") + part(`name="in.pages"`, "3") + part(`name="in.tone"`, "calm") + part(`name="in.photo"; filename="me.png"`, string(pixel))
		for name, c := range map[string]struct{ more, says string }{
			"a text sent twice":          {part(`name="in.short_name"`, "ada") + part(`name="in.short_name"`, "bob"), "This was sent more than once. Send one value."},
			"a second file":              {part(`name="in.photo"; filename="b.png"`, string(pixel)), "This was sent more than once. Send one value."},
			"a file for a text":          {part(`name="in.short_name"; filename="a.txt"`, "ada"), "This takes no file."},
			"a file for a list":          {part(`name="in.labels"; filename="a.txt"`, "red"), "This takes no file."},
			"a value of an earlier form": {part(`name="in.comment"`, "important"), "This form has changed since you opened it."},
			"a URL of an earlier form":   {part(`name="url.in.scan"`, "https://example.com/a.png"), "This form has changed since you opened it."},
			"a file of an earlier form":  {part(`name="in.scan"; filename="a.png"`, string(pixel)), "The form could not be read. Reload the page and try again."},
			"another word for yes":       {part(`name="in.urgent"`, "no"), "Choose yes or no."},
			"a number for a yes or a no": {part(`name="in.urgent"`, "0"), "Choose yes or no."},
		} {
			t.Run(name, func(t *testing.T) {
				b.Send("POST", "/f/"+id, mime, strings.NewReader(rest+c.more+"--b--\r\n")).Is(http.StatusUnprocessableEntity).Has(c.says, "How much is it?")
			})
		}
		for _, c := range []struct{ name, more string }{{"JSON", `{"in.question": "x"}`}, {"no type", "in.question=x"}} {
			b.Send("POST", "/f/"+id, map[string]string{"JSON": "application/json"}[c.name], strings.NewReader(c.more)).Is(http.StatusUnsupportedMediaType).Has("Send the form as")
		}
		if n := countRuns(h, id); n != 0 {
			t.Errorf("%d runs began", n)
		}
	})
	t.Run("refuses a malformed form", func(t *testing.T) {
		const mime = "multipart/form-data; boundary=other"
		b.Send("POST", "/f/"+id, mime, strings.NewReader("xx")).Is(http.StatusUnprocessableEntity).Has("The form could not be read.")
		h.As(flow.MemberEditor).Send("POST", "/flows/"+id+"/run", mime, strings.NewReader("xx")).Is(http.StatusUnprocessableEntity).Has("The form could not be read.")
	})
	t.Run("erases the files of refused forms", func(t *testing.T) {
		kept, err := h.Store.FindForm(t.Context(), flow.FlowID(id))
		if err != nil || kept.Taken != 0 {
			t.Errorf("refused forms count: %+v, %v", kept, err)
		}
		var files int
		if err := h.Store.SQLite().QueryRow("SELECT count(*) FROM files WHERE erased_at = 0").Scan(&files); err != nil || files != 0 {
			t.Errorf("%d files are kept, %v", files, err)
		}
	})
}

// TestForm_takes_what_loses_nothing checks that an empty field of an earlier form is ignored, and that a box needs no value.
func TestForm_takes_what_loses_nothing(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.FormOf(everyInput)
	texts := good()
	texts["in.comment"], texts["in.urgent"] = " ", "on"
	h.Anonymous().SendForm("/f/"+id, texts, photo).Is(http.StatusSeeOther)
	if got := lastRun(h, id).Inputs.Get("urgent"); got != true {
		t.Errorf("a checked box is %v", got)
	}
}

func TestFormLimits(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour) // today, because the store compares sessions with its own clock
	h := webtest.Setup(t, func(c *handlers.Config) { c.Now = func() time.Time { return now } })
	b := h.Anonymous()
	submit := func(id, text string) *webtest.Answer {
		return b.SendForm("/f/"+id, map[string]string{"in.ticket": text}, nil)
	}
	t.Run("per address", func(t *testing.T) {
		id := h.FormOf(webtest.TicketRouting, func(f *forms.Form) { f.PerMinute = 2 })
		submit(id, "one").Is(http.StatusSeeOther)
		submit(id, "two").Is(http.StatusSeeOther)
		a := submit(id, "three & four").Is(http.StatusTooManyRequests).Has("You sent this form too often. Send it again in 30 seconds; what you typed is still here.", "three &amp; four")
		if a.Header.Get("Retry-After") != "30" {
			t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
		}
		now = now.Add(30 * time.Second)
		submit(id, "three").Is(http.StatusSeeOther)
	})
	t.Run("per day", func(t *testing.T) {
		id := h.FormOf(webtest.TicketRouting, func(f *forms.Form) { f.PerDay = 2 })
		submit(id, "one").Is(http.StatusSeeOther)
		submit(id, "").Is(http.StatusUnprocessableEntity) // does not count
		submit(id, "two").Is(http.StatusSeeOther)
		submit(id, "three").Is(http.StatusTooManyRequests).Has("This form has reached its limit for today.", "three")
		h.As(flow.MemberViewer).Get("/flows/" + id + "/form").Is(http.StatusOK).Has("The form reached its daily limit.")
		now = now.Add(12 * time.Hour)
		submit(id, "four").Is(http.StatusSeeOther)
	})
	t.Run("of the flow", func(t *testing.T) {
		id := h.FormOf(webtest.TicketRouting)
		for code, want := range map[flow.Code]struct {
			status int
			says   string
		}{
			flow.CodeBudgetExceeded: {http.StatusPaymentRequired, "The budget of this form is used up."},
			flow.CodeQuotaExceeded:  {http.StatusPaymentRequired, "its storage is full"},
			flow.CodeQueueFull:      {http.StatusTooManyRequests, "is busy"},
			flow.CodeStorageFull:    {http.StatusServiceUnavailable, "cannot accept anything right now"},
			flow.CodeDraining:       {http.StatusServiceUnavailable, "is temporarily unavailable"},
		} {
			real := h.Server.Forms.Runner
			h.Server.Forms.Runner = refusing{real, &flow.Error{Code: code, Message: "the key slu_1 may spend 5 USD"}}
			submit(id, "kept words").Is(want.status).Has(want.says, "kept words").Lacks("slu_1", "USD")
			h.Server.Forms.Runner = real
		}
		if f, err := h.Store.FindForm(t.Context(), flow.FlowID(id)); err != nil || f.Taken != 0 {
			t.Errorf("refused starts count: %+v, %v", f, err)
		}
	})
}

// TestForm_limits_concurrent_uploads checks that the number of open uploads per address is
// bounded.
func TestForm_limits_concurrent_uploads(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id, b, who := h.FormOf(webtest.TicketRouting), h.Anonymous(), "sending "+web.RateLimitKey("127.0.0.1")
	for range web.MaxStreams {
		h.Server.Site.Streams.Enter(who)
	}
	ticket := map[string]string{"in.ticket": "one"}
	b.SendForm("/f/"+id, ticket, nil).Is(http.StatusTooManyRequests).Has("Too many forms are being sent from your network")
	h.Server.Site.Streams.Leave(who)
	b.SendForm("/f/"+id, ticket, nil).Is(http.StatusSeeOther)
	b.SendForm("/f/"+id, ticket, nil).Is(http.StatusSeeOther) // it was counted out again
}

// An upload may take long while data keeps arriving. An upload that stalls or is too slow is
// refused, and so is a form that never ends.
func TestForm_accepts_slow_uploads(t *testing.T) {
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
			h := webtest.Setup(t)
			h.Server.Site.Patience = 300 * time.Millisecond
			id := h.FormOf(`{"schema": "sluice.flow/v1", "name": "Keep", "nodes": [
				{"id": "in", "kind": "input", "config": {"name": "photo", "type": "file"}}, {"id": "out", "kind": "output", "config": {"name": "out"}}],
				"edges": [{"from": "in.value", "to": "out.value"}]}`)
			c, err := net.Dial("tcp", h.Http.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			fmt.Fprintf(c, "POST /f/%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: multipart/form-data; boundary=x\r\nTransfer-Encoding: chunked\r\n\r\n", id)
			submit := func(piece string) bool {
				_, err := fmt.Fprintf(c, "%x\r\n%s\r\n", len(piece), piece)
				return err == nil
			}
			submit(head)
			tick := time.NewTicker(15 * time.Millisecond) // in all longer than the patience
			defer tick.Stop()
			for range test.count {
				if <-tick.C; !submit(test.piece) {
					break
				}
			}
			if test.end != "" {
				submit(test.end)
				_, _ = io.WriteString(c, "0\r\n\r\n")
			}
			got, _ := io.ReadAll(c)
			if !strings.Contains(string(got), test.want) {
				t.Errorf("the answer is %.300q\n%s", got, h.Log)
			}
		})
	}
}

// refusing is a runner that refuses to start runs.
type refusing struct {
	web.Runner
	err error
}

func (r refusing) StartRun(context.Context, flow.Start) (flow.Started, error) {
	return flow.Started{}, r.err
}
