package console_test

import (
	"bytes"
	"context"
	"mime/multipart"
	"net/http"
	"net/url"
	"path/filepath"
	"sluice/flow"
	"sluice/handlers/webtest"
)

// onlyKey is the one key of the default workspace.
func onlyKey(h *webtest.Env) *flow.Key {
	h.T.Helper()
	list, err := h.Store.ListKeys(context.Background(), flow.DefaultWorkspace)
	if err != nil || len(list) != 1 {
		h.T.Fatalf("%d keys, %v", len(list), err)
	}
	return &list[0]
}

// databaseFiles returns all files of the database, including the write-ahead log.
func databaseFiles(h *webtest.Env) (files []string) {
	h.T.Helper()
	var seq int
	var name, file string
	if err := h.Store.SQLite().QueryRow("PRAGMA database_list").Scan(&seq, &name, &file); err != nil {
		h.T.Fatal(err)
	}
	files, err := filepath.Glob(file + "*")
	if err != nil || len(files) == 0 {
		h.T.Fatalf("no database at %q: %v", file, err)
	}
	return files
}

// foreignFlow returns a flow of a workspace in which no user of the test is a member.
func foreignFlow(h *webtest.Env) flow.FlowID {
	h.T.Helper()
	ctx := context.Background()
	if err := h.Store.CreateWorkspace(ctx, flow.Workspace{ID: "foreign", Name: "Foreign"}); err != nil {
		h.T.Fatal(err)
	}
	f, err := h.Library.Import(ctx, "foreign", "", []byte(webtest.PublishGreeting))
	if err != nil {
		h.T.Fatal(err)
	}
	return f.ID
}

func publishIn(h *webtest.Env, ws flow.WorkspaceID, id flow.FlowID) {
	h.T.Helper()
	if _, _, err := h.Library.Publish(context.Background(), ws, id, "cli"); err != nil {
		h.T.Fatal(err)
	}
}

// upload sends the import form as a browser does.
func upload(b *webtest.Browser, name, content, text string) *webtest.Answer {
	b.T.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if name != "" {
		part, err := w.CreateFormFile("file", name)
		if err != nil {
			b.T.Fatal(err)
		}
		_, _ = part.Write([]byte(content))
	}
	_ = w.WriteField("text", text)
	_ = w.Close()
	return b.Send(http.MethodPost, "/flows/import", w.FormDataContentType(), &body)
}

// makeKey creates a key with the form and returns its secret.
func makeKey(b *webtest.Browser, change ...string) string {
	b.T.Helper()
	form := url.Values{"name": {"Website"}, "scope": {"run", "read"}, "reach": {"all"}, "expires": {"90"}, "rpm": {"600"}, "runs_per_day": {"1000"}, "usd_per_day": {"0.5"}}
	for i := 0; i+1 < len(change); i += 2 {
		form.Set(change[i], change[i+1])
	}
	return b.Post("/keys", form).Is(http.StatusOK).NewKey()
}
