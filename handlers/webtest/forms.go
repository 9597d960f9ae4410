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
)

// FormOf publishes a document and opens its form.
func (h *Env) FormOf(document string, set ...func(*flow.Form)) (id string) {
	h.T.Helper()
	id = h.Flow(document)
	h.Publish(id)
	f := flow.NewForm(flow.DefaultWorkspace, id)
	f.On = true
	for _, s := range set {
		s(f)
	}
	if err := h.Store.SaveForm(context.Background(), f); err != nil {
		h.T.Fatal(err)
	}
	return id
}

// FormFile is one of a form: name, MIME and content.
type FormFile struct {
	Name, MIME string
	Content    []byte
}

// SendForm sends a form as a browser does, files last.
func (b *Browser) SendForm(path string, texts map[string]string, files map[string]FormFile) *Answer {
	b.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, text := range texts {
		if err := w.WriteField(name, text); err != nil {
			b.t.Fatal(err)
		}
	}
	for name, f := range files {
		part, err := w.CreatePart(map[string][]string{"Content-Disposition": {fmt.Sprintf(`form-data; name=%q; filename=%q`, name, f.Name)}, "Content-Type": {f.MIME}})
		if err == nil {
			_, err = part.Write(f.Content)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.t.Fatal(err)
	}
	return b.Send("POST", path, w.FormDataContentType(), &body)
}

// Ended loads the page of a result, as a browser without scripts does again and
// again, until the run has ended.
func (b *Browser) Ended(path string) *Answer {
	b.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		a := b.Get(path).Is(http.StatusOK)
		if !strings.Contains(a.Body, "data-events") {
			return a
		}
		if !strings.Contains(a.Body, `<noscript><meta http-equiv="refresh" content="2"></noscript>`) {
			b.t.Fatalf("the page does not load itself anew: %s", a.Body)
		}
	}
	b.t.Fatal("the run did not end")
	return nil
}

// LastRun is the newest run of a flow.
func (h *Env) LastRun(flowID string) *flow.Run {
	h.T.Helper()
	list, err := h.Store.ListRuns(context.Background(), flow.RunFilter{WorkspaceID: flow.DefaultWorkspace, FlowID: flowID, Limit: 1})
	if err != nil || len(list) == 0 {
		h.T.Fatalf("no run of %s: %v", flowID, err)
	}
	return &list[0]
}

func (h *Env) CountRuns(flowID string) int {
	h.T.Helper()
	list, err := h.Store.ListRuns(context.Background(), flow.RunFilter{WorkspaceID: flow.DefaultWorkspace, FlowID: flowID, Limit: 50})
	if err != nil {
		h.T.Fatal(err)
	}
	return len(list)
}

// SlowForm is a form whose run goes on until the gate opens.
func (h *Env) SlowForm() (id string, gate chan<- int) {
	h.T.Helper()
	id, gate = h.Waiting()
	h.Publish(id)
	f := flow.NewForm(flow.DefaultWorkspace, id)
	f.On = true
	if err := h.Store.SaveForm(context.Background(), f); err != nil {
		h.T.Fatal(err)
	}
	return id, gate
}
