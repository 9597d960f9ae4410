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
// key until it expires, and checks them. Nil makes none.
type Signer struct {
	Base string // scheme and host that the URLs begin with
	Key  []byte // secret that they are signed with
}

// How long the links of a webhook hold: long enough for every attempt of the
// first series, which takes less than four days, to send the same bytes.
const (
	deliveryLinks = 7 * 24 * time.Hour
	leastLinks    = 24 * time.Hour // what is left of it when a delivery is sent again later
)

// URL is where the file can be fetched until expires.
func (l *Signer) URL(ws flow.WorkspaceID, id string, expires time.Time) string {
	at := strconv.FormatInt(expires.Unix(), 10)
	return l.Base + "/v1/files/" + id + "?expires=" + at + "&signature=" + l.sign(ws, id, at)
}

// Valid reports whether expires and signature, as they stand in a URL, belong to
// the file and hold still. The workspace is part of what is signed: a run can
// name a file of another workspace, but not lead to it.
func (l *Signer) Valid(f *flow.File, expires, signature string, now time.Time) bool {
	at, err := strconv.ParseInt(expires, 10, 64)
	if l == nil || err != nil || now.Unix() >= at {
		return false
	}
	return hmac.Equal([]byte(signature), []byte(l.sign(f.WorkspaceID, f.ID, expires)))
}

// sign writes hex and not base64, in which the beginning of a key may appear
// by chance, and URLs that hold keys are refused.
func (l *Signer) sign(ws flow.WorkspaceID, id, expires string) string {
	mac := hmac.New(sha256.New, l.Key)
	mac.Write([]byte(string(ws+"|") + id + "|" + expires))
	return hex.EncodeToString(mac.Sum(nil))
}

// Values returns values by name with a url in every file value inside them. A
// url that somebody wrote there before is replaced. What holds no file is not
// copied.
func (l *Signer) Values(ws flow.WorkspaceID, values map[string]any, expires time.Time) map[string]any {
	var copied map[string]any
	for name, v := range values {
		linked, changed := flow.RewriteFiles(v, func(id string, file map[string]any) map[string]any { return l.link(ws, id, file, expires) })
		if !changed {
			continue
		}
		if copied == nil {
			copied = maps.Clone(values)
		}
		copied[name] = linked
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

// Message is the body of a delivery as it is sent at a time: what is on disk,
// with links to its files.
func (l *Signer) Message(d *flow.Delivery, at time.Time) []byte {
	expires := d.CreatedAt.Add(deliveryLinks)
	for expires.Sub(at) < leastLinks {
		expires = expires.Add(deliveryLinks)
	}
	return l.Body(d, expires)
}

// Body is the body of a delivery with links that hold until expires. Of the run
// object, inputs and outputs have files; metadata is the caller's own and given
// back as it came.
func (l *Signer) Body(d *flow.Delivery, expires time.Time) []byte {
	if l == nil || !bytes.Contains(d.Body, []byte(`"file":"`+flow.PrefixFile)) {
		return d.Body
	}
	v, err := flow.DecodeJSON(d.Body)
	body, ok := v.(map[string]any)
	if err != nil || !ok {
		return d.Body
	}
	if d.Node != "" {
		return flow.EncodeJSON(l.Values(d.WorkspaceID, body, expires))
	}
	run, _ := body["data"].(map[string]any)
	for _, part := range []string{"inputs", "outputs"} {
		if values, ok := run[part].(map[string]any); ok {
			run[part] = l.Values(d.WorkspaceID, values, expires)
		}
	}
	return flow.EncodeJSON(body)
}
