package hostedtest

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// file is a file that was uploaded as an input of predictions. The platform keeps it
// for a day.
type file struct {
	id, name, mime string
	content        []byte
	created        time.Time
}

// output is a file that a prediction made, to be fetched from the delivery host.
type output struct {
	mime    string
	content []byte
}

// Deliver puts a file where the outputs of models are, on a host of its own,
// and returns its address.
func (f *Fake) Deliver(name, mime string, content []byte) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := "/xezq/" + strconv.Itoa(len(f.outputs)) + "/" + name
	f.outputs[path] = output{mime, content}
	return f.delivery.url + path
}

// File is the content of an uploaded file, by the address its upload gave.
func (f *Fake) File(address string) (content []byte, name, mime string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id, found := strings.CutPrefix(address, f.URL+"/files/")
	if up := f.file(id); found && up != nil {
		return up.content, up.name, up.mime, true
	}
	return nil, "", "", false
}

// deliver serves the output files. The delivery host is not the API's, so a request
// that carries the secret counts as a leak; see Leaks.
func (f *Fake) deliver(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	if r.Header.Get("Authorization") != "" {
		f.leaks++
	}
	out, ok := f.outputs[r.URL.Path]
	f.mu.Unlock()
	if !ok {
		http.Error(w, "Not Found", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", out.mime)
	w.Header().Set("Content-Length", strconv.Itoa(len(out.content)))
	_, _ = w.Write(out.content) // the client may be gone
}

// file returns an upload by its ID, or nil. The lock is held.
func (f *Fake) file(id string) *file {
	for _, up := range f.files {
		if up.id == id {
			return up
		}
	}
	return nil
}

// wireFile returns an upload in the JSON of the platform's API.
func (f *Fake) wireFile(up *file) map[string]any {
	sum := sha256.Sum256(up.content)
	return map[string]any{
		"id": up.id, "name": up.name, "content_type": up.mime, "size": len(up.content), "metadata": map[string]any{},
		"checksums":  map[string]any{"sha256": hex.EncodeToString(sum[:])},
		"created_at": up.created.UTC().Format(time.RFC3339Nano), "expires_at": up.created.Add(24 * time.Hour).UTC().Format(time.RFC3339Nano),
		"urls": map[string]any{"get": f.URL + "/files/" + up.id},
	}
}

// createFile is POST /v1/files, a multipart form with the file as "content". Its other
// parts are ignored.
func (f *Fake) createFile(w http.ResponseWriter, r *http.Request) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" {
		refuse(w, http.StatusUnsupportedMediaType, "Unsupported media type", "Send multipart/form-data.")
		return
	}
	parts := multipart.NewReader(r.Body, params["boundary"])
	for {
		part, err := parts.NextPart()
		if err != nil {
			refuse(w, http.StatusBadRequest, "Bad request", "Missing content")
			return
		}
		content, err := io.ReadAll(part)
		if err != nil || part.FormName() != "content" {
			continue
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		up := &file{id: f.id(), name: part.FileName(), mime: part.Header.Get("Content-Type"), content: content, created: time.Now()}
		f.files = append(f.files, up)
		answer(w, http.StatusCreated, f.wireFile(up))
		return
	}
}

// showFile is GET /v1/files/{id}: the description of an upload, without its content.
func (f *Fake) showFile(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	up := f.file(r.PathValue("id"))
	if up == nil {
		notFound(w)
		return
	}
	answer(w, http.StatusOK, f.wireFile(up))
}

// listFiles is GET /v1/files: all uploads, oldest first, in pages.
func (f *Fake) listFiles(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []any{}
	for _, up := range f.files {
		all = append(all, f.wireFile(up))
	}
	f.page(w, r, all)
}

// deleteFile is DELETE /v1/files/{id}. Deleting a file twice is a 404, as on the
// platform.
func (f *Fake) deleteFile(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, up := range f.files {
		if up.id == r.PathValue("id") {
			f.files = append(f.files[:i:i], f.files[i+1:]...)
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	notFound(w)
}
