package webtest

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/forms"
)

// FormOf publishes a document and turns on its public form with the given settings.
func (h *Env) FormOf(document string, set ...func(*forms.Form)) (id string) {
	h.T.Helper()
	id = h.Flow(document)
	h.openForm(id, set...)
	return id
}

// openForm publishes a flow and turns on its public form.
func (h *Env) openForm(id string, set ...func(*forms.Form)) {
	h.T.Helper()
	h.Publish(id)
	f := forms.New(flow.DefaultWorkspace, flow.FlowID(id))
	f.On = true
	for _, s := range set {
		s(f)
	}
	if err := h.Store.SaveForm(context.Background(), f); err != nil {
		h.T.Fatal(err)
	}
}

// FormFile is an uploaded file of a form.
type FormFile struct {
	Name, MIME string
	Content    []byte
}

// SendForm sends a form as multipart/form-data, with the files last, as browsers do.
func (b *Browser) SendForm(path string, texts map[string]string, files map[string]FormFile) *Answer {
	b.T.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, text := range texts {
		if err := w.WriteField(name, text); err != nil {
			b.T.Fatal(err)
		}
	}
	for name, f := range files {
		part, err := w.CreatePart(map[string][]string{"Content-Disposition": {fmt.Sprintf(`form-data; name=%q; filename=%q`, name, f.Name)}, "Content-Type": {f.MIME}})
		if err == nil {
			_, err = part.Write(f.Content)
		}
		if err != nil {
			b.T.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.T.Fatal(err)
	}
	return b.Send("POST", path, w.FormDataContentType(), &body)
}

// Ended reloads the page of a result until the run has ended, like a browser without
// scripts.
func (b *Browser) Ended(path string) *Answer {
	b.T.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		a := b.Get(path).Is(http.StatusOK)
		if !strings.Contains(a.Body, "data-events") {
			return a
		}
		if !strings.Contains(a.Body, `<noscript><meta http-equiv="refresh" content="2"></noscript>`) {
			b.T.Fatalf("the page does not reload itself: %s", a.Body)
		}
	}
	b.T.Fatal("the run did not end")
	return nil
}

// SlowForm turns on the form of a flow whose run lasts until the test sends an HTTP status
// to the gate.
func (h *Env) SlowForm() (id string, gate chan<- int) {
	h.T.Helper()
	id, gate = h.SlowFlow()
	h.openForm(id)
	return id, gate
}
