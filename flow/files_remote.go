package flow

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"mime"
	"strings"

	"sluice/flow/value"

	"github.com/oklog/ulid/v2"
)

// RemoteFile is a file value that a caller passed as a URL instead of uploading it: an http,
// https or data URL. A step turns it into a stored file; see In.FetchFile.
type RemoteFile struct {
	URL  string
	Name string // for the stored file; empty: the name from the server or the URL
}

// RemoteFileOf parses a value such as "https://example.com/cat.png",
// "data:image/png;base64,…" or {"url": "…", "name": "cat.png"}. ok is false for other values,
// such as a stored file or a text that is not a URL. It does not check whether the URL is
// valid or may be fetched.
func RemoteFileOf(v any) (f RemoteFile, ok bool) {
	switch v := v.(type) {
	case string:
		f.URL = strings.TrimSpace(v)
	case *Object, map[string]any:
		if value.Len(v) > 2 {
			return RemoteFile{}, false
		}
		for name, item := range value.Members(v) {
			text, isText := item.(string)
			switch {
			case name == "url" && isText:
				f.URL = strings.TrimSpace(text)
			case name == "name" && (isText || item == nil):
				f.Name = text
			default:
				return RemoteFile{}, false
			}
		}
	}
	scheme, _, found := strings.Cut(f.URL, ":")
	switch strings.ToLower(scheme) {
	case "http", "https", "data":
		return f, found
	}
	return RemoteFile{}, false
}

// IsData reports whether the URL holds the content itself.
func (f RemoteFile) IsData() bool { return len(f.URL) > 5 && strings.EqualFold(f.URL[:5], "data:") }

// Data decodes a data URL. It accepts only base64, which browsers and clients use for files.
// mediaType is empty if the URL has none.
func (f RemoteFile) Data() (content []byte, mediaType string, err error) {
	bad := Errorf(CodeInputInvalid, "The data URL is invalid. Use the form data:image/png;base64,….")
	if !f.IsData() {
		return nil, "", bad
	}
	head, data, found := strings.Cut(f.URL[len("data:"):], ",")
	head, isBase64 := strings.CutSuffix(head, ";base64")
	if !found || !isBase64 {
		return nil, "", bad
	}
	content, err = base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, "", bad
	}
	mediaType, _, _ = mime.ParseMediaType(head) // an empty or broken one is detected from the content
	return content, mediaType, nil
}

// Shown returns the URL for lists, steps and logs. It omits the query, which may be a signature
// that allows anyone to read the file, and shortens a data URL.
func (f RemoteFile) Shown() string {
	if f.IsData() {
		head, data, _ := strings.Cut(f.URL, ",")
		return fmt.Sprintf("%.80s,… (%s)", head, Size(int64(base64.StdEncoding.DecodedLen(len(data)))))
	}
	return hideQuery(ShownURL(f.URL))
}

// hideQuery replaces the query and the fragment of a URL by an ellipsis.
func hideQuery(address string) string {
	if i := strings.IndexAny(address, "?#"); i >= 0 && i < len(address)-1 {
		return address[:i+1] + "…"
	}
	return address
}

// ShownFile returns a file value as steps show it.
func ShownFile(v any) any {
	if f, ok := RemoteFileOf(v); ok {
		return f.Shown()
	}
	return v
}

// FetchedFileID derives the ID of a downloaded file from the execution key of the step and the
// place of the value in it. A step that runs again after a crash or a retry finds the stored
// file instead of downloading it again. The time in the ID is that of the run's ID.
func FetchedFileID(key, place string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "file\x00%s\x00%s", key, place))
	return derivedID(PrefixFile, key, sum[:])
}

// derivedID returns an ID made of a hash and the time in the run ID with which key begins.
func derivedID(prefix, key string, sum []byte) string {
	var id ulid.ULID
	copy(id[:], sum)
	runID, _, _ := strings.Cut(key, ":")
	if run, err := ulid.Parse(strings.TrimPrefix(runID, PrefixRun)); err == nil {
		_ = id.SetTime(run.Time())
	} else {
		_ = id.SetTime(0) // the run's ID has no time; a hash could be out of range
	}
	return prefix + strings.ToLower(id.String())
}
