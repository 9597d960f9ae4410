package filelinks

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/value"
)

var (
	linkFile = flow.PrefixFile + strings.Repeat("a", 26)
	linkNow  = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	links    = &Signer{Base: "https://sluice.test", Key: []byte("secret of the test, 32 bytes....")}
)

// linkParts takes a link apart as a request would.
func linkParts(t *testing.T, link string) (id, expires, signature string) {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/v1/files/"), u.Query().Get("expires"), u.Query().Get("signature")
}

func TestFileLinks(t *testing.T) {
	t.Parallel()
	f := &flow.File{ID: linkFile, WorkspaceID: "ws"}
	id, expires, signature := linkParts(t, links.URL("ws", linkFile, linkNow.Add(time.Hour)))
	if id != linkFile {
		t.Errorf("the link leads to %s", id)
	}
	other := &Signer{Base: links.Base, Key: []byte("another")}
	for name, c := range map[string]struct {
		links              *Signer
		file               *flow.File
		expires, signature string
		now                time.Time
		want               bool
	}{
		"as it was made":                    {links, f, expires, signature, linkNow, true},
		"in its last second":                {links, f, expires, signature, linkNow.Add(time.Hour - time.Second), true},
		"once it has expired":               {links, f, expires, signature, linkNow.Add(time.Hour), false},
		"with a later time":                 {links, f, expires + "0", signature, linkNow, false},
		"with the time written differently": {links, f, "0" + expires, signature, linkNow, false},
		"with no time":                      {links, f, "", signature, linkNow, false},
		"with no signature":                 {links, f, expires, "", linkNow, false},
		"with another signature":            {links, f, expires, strings.Repeat("0", 64), linkNow, false},
		"of another file":                   {links, &flow.File{ID: flow.PrefixFile + strings.Repeat("b", 26), WorkspaceID: "ws"}, expires, signature, linkNow, false},
		"of another workspace":              {links, &flow.File{ID: linkFile, WorkspaceID: "ws_2"}, expires, signature, linkNow, false},
		"under another secret":              {other, f, expires, signature, linkNow, false},
		"where links are off":               {nil, f, expires, signature, linkNow, false},
	} {
		if got := c.links.Valid(c.file, c.expires, c.signature, c.now); got != c.want {
			t.Errorf("%s: valid is %v", name, got)
		}
	}
}

func TestFileLinksInValues(t *testing.T) {
	t.Parallel()
	file := map[string]any{"file": linkFile, "name": "cat.png", "url": "https://evil.example"}
	values := map[string]any{"file": linkFile, "deep": []any{map[string]any{"a": file}}, "report": map[string]any{"file": "report.pdf"}}
	before := string(flow.EncodeJSON(values))
	got := links.Values("ws", value.FromMap(values), linkNow)
	linked := got.Get("deep").([]any)[0].(map[string]any)["a"].(map[string]any)
	if linked["url"] != links.URL("ws", linkFile, linkNow) || linked["name"] != "cat.png" {
		t.Errorf("the file became %v", linked)
	}
	if got.Get("file") != linkFile || got.Get("url") != nil {
		t.Error("an input that is called file was taken for a file value")
	}
	if string(flow.EncodeJSON(values)) != before {
		t.Error("the values themselves were changed")
	}
	plain := value.FromMap(map[string]any{"a": []any{"x"}, "report": map[string]any{"file": "report.pdf"}})
	if same := links.Values("ws", plain, linkNow); same != plain {
		t.Error("values without files were copied")
	}
	off := (*Signer)(nil).Values("ws", value.FromMap(map[string]any{"f": file}), linkNow).Get("f").(map[string]any)
	if _, has := off["url"]; has {
		t.Error("a caller's URL is sent as if it were Sluice's")
	}
}

func TestDeliveryMessage(t *testing.T) {
	t.Parallel()
	value := `{"file":"` + linkFile + `","mime":"image/png","name":"cat.png","size":3}`
	message := func(node, body string, at time.Time) string {
		return string(links.Message(&flow.Delivery{WorkspaceID: "ws", Node: node, Body: []byte(body), CreatedAt: linkNow}, at))
	}
	withURL := func(expires time.Time) string {
		return strings.Replace(value, `"size":3`, `"size":3,"url":"`+links.URL("ws", linkFile, expires)+`"`, 1)
	}
	week := linkNow.Add(7 * 24 * time.Hour)
	t.Run("of a node", func(t *testing.T) {
		t.Parallel()
		body, want := `{"n":1e400,"picture":`+value+`}`, `{"n":1e400,"picture":`+withURL(week)+`}`
		for _, at := range []time.Time{linkNow, linkNow.Add(84 * time.Hour)} {
			if got := message("hook", body, at); got != want {
				t.Errorf("at %s it is %s, wanted %s", at, got, want)
			}
		}
		later := linkNow.Add(30 * 24 * time.Hour)
		if got, want := message("hook", body, later), `{"n":1e400,"picture":`+withURL(linkNow.Add(35*24*time.Hour))+`}`; got != want {
			t.Errorf("sent again a month later it is %s, wanted %s", got, want)
		}
	})
	t.Run("of a run", func(t *testing.T) {
		t.Parallel()
		body := `{"type":"run.succeeded","data":{"inputs":{"a":` + value + `},"metadata":{"a":` + value + `},"outputs":{"b":` + value + `}}}`
		var got, want any
		_ = json.Unmarshal([]byte(message("", body, linkNow)), &got)
		_ = json.Unmarshal([]byte(`{"type":"run.succeeded","data":{"inputs":{"a":`+withURL(week)+`},"metadata":{"a":`+value+`},"outputs":{"b":`+withURL(week)+`}}}`), &want)
		if got == nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, wanted %v", got, want)
		}
	})
	t.Run("as it is on disk", func(t *testing.T) {
		t.Parallel()
		for _, body := range []string{``, `{}`, `{"b": 1, "a": 2}`, `{"a": {"file": "report.pdf"}}`, `[` + value + `]`, `{"file":"file_`} {
			if got := message("hook", body, linkNow); got != body {
				t.Errorf("%s became %s", body, got)
			}
		}
	})
}
