package pages

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
)

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
			flow.CodeQuotaExceeded:  {http.StatusPaymentRequired, "its storage is full"},
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
