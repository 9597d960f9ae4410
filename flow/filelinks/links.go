package filelinks

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strconv"
	"time"

	"sluice/flow"
)

// Signer makes URLs that let their bearer download a file without a
// key until it expires, and verifies them. A nil Signer adds no URLs to values.
type Signer struct {
	Base string // scheme and host of the URLs
	Key  []byte // secret that signs them
}

// Lifetime of the links in a webhook. All scheduled attempts of a delivery end within four
// days, so each of them sends the same bytes.
const (
	linkLifetime    = 7 * 24 * time.Hour
	minLinkLifetime = 24 * time.Hour // minimum that is left at an attempt, such as a manual resend
)

// URL returns a link to the file that is valid until expires.
func (l *Signer) URL(ws flow.WorkspaceID, id string, expires time.Time) string {
	at := strconv.FormatInt(expires.Unix(), 10)
	return l.Base + "/v1/files/" + id + "?expires=" + at + "&signature=" + l.sign(ws, id, at)
}

// Valid reports whether expires and signature, the parameters of a URL, belong to the file
// and have not expired. The signature covers the workspace: a run can refer to a file of
// another workspace, but gets no valid link to it.
func (l *Signer) Valid(f *flow.File, expires, signature string, now time.Time) bool {
	at, err := strconv.ParseInt(expires, 10, 64)
	if l == nil || err != nil || now.Unix() >= at {
		return false
	}
	return hmac.Equal([]byte(signature), []byte(l.sign(f.WorkspaceID, f.ID, expires)))
}

// sign returns the signature in hexadecimal. Base64 could contain the prefix of an API key
// by chance, and URLs that contain keys are refused.
func (l *Signer) sign(ws flow.WorkspaceID, id, expires string) string {
	mac := hmac.New(sha256.New, l.Key)
	mac.Write([]byte(string(ws+"|") + id + "|" + expires))
	return hex.EncodeToString(mac.Sum(nil))
}

// Values returns values by name with a url in every file inside them. An existing url is
// replaced. Values without files are not copied.
func (l *Signer) Values(ws flow.WorkspaceID, values *flow.Object, expires time.Time) *flow.Object {
	var copied *flow.Object
	for name, v := range values.All() {
		linked, changed := flow.RewriteFiles(v, func(id string, file map[string]any) map[string]any { return l.link(ws, id, file, expires) })
		if !changed {
			continue
		}
		if copied == nil {
			copied = values.Clone()
		}
		copied.Set(name, linked)
	}
	if copied != nil {
		return copied
	}
	return values
}

func (l *Signer) link(ws flow.WorkspaceID, id string, file map[string]any, expires time.Time) map[string]any {
	file = maps.Clone(file)
	delete(file, "url")
	if l != nil {
		file["url"] = l.URL(ws, id, expires)
	}
	return file
}

// Message returns the body of a delivery for an attempt at a time: the stored body, with
// links to its files.
func (l *Signer) Message(d *flow.Delivery, at time.Time) []byte {
	expires := d.CreatedAt.Add(linkLifetime)
	for expires.Sub(at) < minLinkLifetime {
		expires = expires.Add(linkLifetime)
	}
	return l.Body(d, expires)
}

// Body returns the body of a delivery with links that are valid until expires. In a run
// object, it adds links to inputs and outputs. metadata belongs to the caller and is
// returned unchanged.
func (l *Signer) Body(d *flow.Delivery, expires time.Time) []byte {
	if l == nil || !bytes.Contains(d.Body, []byte(`"file":"`+flow.PrefixFile)) {
		return d.Body
	}
	v, err := flow.DecodeJSON(d.Body)
	body, ok := flow.AsObject(v)
	if err != nil || !ok {
		return d.Body
	}
	if d.Node != "" {
		return flow.EncodeJSON(l.linkAll(d.WorkspaceID, body, expires))
	}
	if run, ok := flow.AsObject(body.Get("data")); ok { // decoded here, so it may be changed
		for _, part := range []string{"inputs", "outputs"} {
			if values, ok := flow.AsObject(run.Get(part)); ok {
				run.Set(part, l.linkAll(d.WorkspaceID, values, expires))
			}
		}
	}
	return flow.EncodeJSON(body)
}

// linkAll is Values for an object.
func (l *Signer) linkAll(ws flow.WorkspaceID, values *flow.Object, expires time.Time) *flow.Object {
	linked, _ := values.Replace(func(_ string, v any) (any, error) {
		return flow.MapFiles(v, func(id string, file map[string]any) map[string]any { return l.link(ws, id, file, expires) }), nil
	})
	return linked
}
