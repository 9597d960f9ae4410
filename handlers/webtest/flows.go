package webtest

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"strings"

	"sluice/flow"
)

// Made is the ID of the flow that an answer leads to.
func (a *Answer) Made() string {
	a.t.Helper()
	id := strings.TrimPrefix(a.Header.Get("Location")+a.Header.Get("HX-Redirect"), "/flows/")
	if !flow.ValidID(flow.PrefixFlow, id) {
		a.t.Fatalf("status %d leads to %q: %s", a.Status, id, a.Body)
	}
	return id
}

// Upload sends the import form as a browser does.
func (b *Browser) Upload(name, content, text string) *Answer {
	b.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if name != "" {
		part, err := w.CreateFormFile("file", name)
		if err != nil {
			b.t.Fatal(err)
		}
		_, _ = part.Write([]byte(content))
	}
	_ = w.WriteField("text", text)
	_ = w.Close()
	return b.Send(http.MethodPost, "/flows/import", w.FormDataContentType(), &body)
}
