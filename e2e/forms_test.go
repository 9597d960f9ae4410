package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// formServer returns a server whose chat model has an address, with a user who can share
// forms.
func formServer(t *testing.T, model string) *dashboard {
	t.Helper()
	d := &dashboard{server: newServer(t, "OPENAI_API_KEY="+canaries["secret of the environment"], "OPENAI_BASE_URL="+model)}
	d.person(ownerEmail, "owner")
	return d
}

// visit asks for a page as anybody would.
func (d *dashboard) visit(method, path string, v url.Values) *http.Response {
	d.t.Helper()
	r, err := http.NewRequest(method, d.base()+path, strings.NewReader(v.Encode()))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := plain.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func (d *dashboard) read(path string) string {
	d.t.Helper()
	text, err := io.ReadAll(d.visit(http.MethodGet, path, nil).Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}

// TestForm_reveals_no_secrets checks that a visitor of a form never sees the provider's key or
// the prompt, even if the model echoes both.
func TestForm_reveals_no_secrets(t *testing.T) {
	t.Parallel()
	echo := echoServer(t)
	const prompt = "canary-prompt-4c5d6e7f"
	chat := func(model string, at ...string) []byte {
		return documentOf("Ask", []object{input("n"), node("ask", "chat", object{"model": model, "system": prompt, "prompt": "{{n}}"}, object{"label": "canary-label"}), output("answer")}, append([]string{"n.value > ask.n"}, at...)...)
	}
	for name, c := range map[string]struct {
		base string
		doc  []byte
		end  string
	}{
		"an answer that is no output": {"/good/v1", chat("openai/m", "n.value > out_answer.value"), "Done"},
		"a failure":                   {"/bad/v1", chat("openai/m", "ask.text > out_answer.value"), "Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := formServer(t, echo.URL+c.base)
			id := d.publish(c.doc)
			d.openForm(id)
			path := d.visit(http.MethodPost, "/f/"+id, url.Values{"in.n": {"one"}}).Header.Get("Location")
			seen := d.read(path + "/events") // until the run has ended
			seen += d.read("/f/"+id) + d.read(path) + d.read("/f/"+id+"?again="+path[strings.LastIndex(path, "/")+1:])
			if !strings.Contains(seen, c.end) || !strings.Contains(seen, "event: over") {
				t.Fatalf("the run did not end as it should: %s", seen)
			}
			for what, secret := range map[string]string{"key": canaries["secret of the environment"], "prompt": prompt, "label": "canary-label", "address": echo.URL} {
				wantNowhere(t, what, secret, "what a visitor sees", seen)
			}
		})
	}
}

// TestFormStreams checks that a form shows text while the model is still generating it.
func TestFormStreams(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		say := func(text string) {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)
			_ = http.NewResponseController(w).Flush()
		}
		w.Header().Set("Content-Type", "text/event-stream")
		say("Once upon")
		select {
		case <-more:
		case <-r.Context().Done():
		}
		say(" a time")
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(model.Close)
	d := formServer(t, model.URL+"/v1")
	id := d.publish(documentOf("Tell", []object{input("n"), node("ask", "chat", object{"model": "openai/m", "prompt": "{{n}}"}), output("story")}, "n.value > ask.n", "ask.text > out_story.value"))
	d.openForm(id)
	path := d.visit(http.MethodPost, "/f/"+id, url.Values{"in.n": {"one"}}).Header.Get("Location")
	events := bufio.NewScanner(d.visit(http.MethodGet, path+"/events", nil).Body)
	var heard strings.Builder
	for told := false; events.Scan(); {
		heard.WriteString(events.Text() + "\n")
		if !told && strings.Contains(heard.String(), "Once upon") {
			told = true
			close(more)
		}
	}
	first := strings.Index(heard.String(), "event: text\ndata: ")
	if over := strings.Index(heard.String(), "event: over"); first < 0 || over < first || !strings.Contains(heard.String(), `"output":"story"`) {
		t.Fatalf("heard %s", heard.String())
	}
	if page := d.read(path); !strings.Contains(page, "Once upon a time") {
		t.Errorf("the page says %s", page)
	}
}

// TestForm_accepts_file_URLs gives a file of a form by its address, as a URL and as a data URL.
func TestForm_accepts_file_URLs(t *testing.T) {
	t.Parallel()
	picture := append([]byte("\x89PNG\r\n\x1a\n"), content(2, 1000)...)
	upstream, fetched, _, _ := fileServer(t, picture)
	d := formServer(t, upstream.URL)
	id := d.publish(filing())
	d.openForm(id)
	for i, address := range []string{upstream.URL + "/cat.png?signature=very-private", dataPixel} {
		path := d.visit(http.MethodPost, "/f/"+id, url.Values{"url.in.photo": {address}}).Header.Get("Location")
		seen := d.read(path + "/events") // until the run has ended
		if page := d.read(path); !strings.Contains(page, "Done") || strings.Contains(seen+page, "very-private") || fetched.Load() != 1 {
			t.Errorf("address %d, %d requests: %s", i, fetched.Load(), page)
		}
	}
	for _, address := range []string{"http://10.0.0.1/a.png", "https://ada:x@example.com/a.png", "ftp://example.com/a.png"} {
		resp := d.visit(http.MethodPost, "/f/"+id, url.Values{"url.in.photo": {address}})
		if page := string(must1(io.ReadAll(resp.Body))); resp.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(page, "This URL cannot be used.") {
			t.Errorf("%s: %s %s", address, resp.Status, page)
		}
	}
}
