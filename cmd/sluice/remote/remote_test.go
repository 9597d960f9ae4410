package remote

import (
	"strings"
	"testing"

	"sluice/flow"
)

// TestBaseURL checks which addresses a key may be sent to.
func TestBaseURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://sluice.example.com":   "https://sluice.example.com",
		"https://sluice.example.com/":  "https://sluice.example.com",
		" https://[2001:db8::1]:8443 ": "https://[2001:db8::1]:8443",
		"http://127.0.0.1:8080":        "http://127.0.0.1:8080",
		"http://[::1]:8080":            "http://[::1]:8080",
		"http://localhost:8080":        "http://localhost:8080",
		"http://sluice.example.com":    "", // anyone on the way could read the key
		"http://localhost.example.com": "",
		"http://10.0.0.1":              "",
		"https://user:pw@example.com":  "",
		"https://example.com/sluice":   "",
		"ftp://example.com":            "",
		"example.com":                  "",
		"":                             "",
	} {
		if got, err := baseURL(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// TestLocate checks that a pointer into a request is replaced with a line of a file.
func TestLocate(t *testing.T) {
	t.Parallel()
	file := &source{path: "a.flow.json", data: []byte("{\n  \"name\": \"A\",\n  \"nodes\": [\n    {\"id\": \"a\"},\n    {\n      \"a/b\": 1,\n      \"config\": {}\n    }\n  ]\n}\n")}
	for pointer, want := range map[string]string{
		"":                "a.flow.json:1: wrong",
		"/name":           "a.flow.json:2: name: wrong",
		"/nodes/0":        "a.flow.json:4: nodes/0: wrong",
		"/nodes/1/a~1b":   "a.flow.json:6: nodes/1/a~1b: wrong",
		"/nodes/1/kind":   "a.flow.json:5: nodes/1/kind: wrong", // missing: the line of its node
		"/nodes/1/config": "a.flow.json:7: nodes/1/config: wrong",
	} {
		got := locate([]*source{file}, []flow.Problem{{Pointer: "/documents/0" + pointer, Detail: "wrong"}})
		if strings.Join(got, "") != want {
			t.Errorf("%s: %q, wanted %q", pointer, got, want)
		}
	}
	for _, pointer := range []string{"/source", "/documents/1/name", "/documents/x"} { // of no file
		if got := locate([]*source{file}, []flow.Problem{{Pointer: pointer, Detail: "wrong"}}); got[0] != pointer+": wrong" {
			t.Errorf("%s: %q", pointer, got)
		}
	}
}

// TestSameFlow checks that additions by the server are ignored and edits are differences.
func TestSameFlow(t *testing.T) {
	t.Parallel()
	document := func(slug, position, template string) []byte {
		return []byte(`{"schema": "sluice.flow/v1", "name": "A", ` + slug + `"nodes": [{"id": "a", "kind": "template", ` + position + `"config": {"template": "` + template + `"}}], "edges": []}`)
	}
	const slug, here, there = `"slug": "a", `, `"position": {"x": 1, "y": 2}, `, `"position": {"x": 3, "y": 4}, `
	for _, c := range []struct {
		name        string
		file, draft []byte
		want        bool
	}{
		{"slug and position were added", document("", "", "Hi"), document(slug, here, "Hi"), true},
		{"equal", document(slug, here, "Hi"), document(slug, here, "Hi"), true},
		{"the text changed", document("", "", "Hi"), document(slug, here, "Ho"), false},
		{"the node moved", document("", here, "Hi"), document(slug, there, "Hi"), false},
		{"the slug changed", document(`"slug": "b", `, here, "Hi"), document(slug, here, "Hi"), false},
		{"the file is broken", []byte("{"), document(slug, here, "Hi"), false},
	} {
		if got := sameFlow(c.file, c.draft); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestKeepSchema checks that $schema survives formatting and pulls.
func TestKeepSchema(t *testing.T) {
	t.Parallel()
	file := `{"name": "A", "$schema": "https://sluice.example/v1/schema/flow.json", "schema": "sluice.flow/v1", "nodes": []}`
	data, problems := (&source{data: []byte(file)}).canonical()
	want := "{\n  \"$schema\": \"https://sluice.example/v1/schema/flow.json\",\n  \"schema\": \"sluice.flow/v1\",\n  \"name\": \"A\",\n  \"nodes\": [],\n  \"edges\": []\n}\n"
	if len(problems) > 0 || string(data) != want {
		t.Errorf("formatted to %s, %v", data, problems)
	}
	if again, _ := (&source{data: data}).canonical(); string(again) != want {
		t.Errorf("formatted again to %s", again)
	}
	if !sameFlow(data, []byte(strings.Replace(want, "  \"$schema\": \"https://sluice.example/v1/schema/flow.json\",\n", "", 1))) {
		t.Error("the hint counts as a difference")
	}
	if _, problems := (&source{data: []byte(`{"$schema": 1, "schema": "sluice.flow/v1", "name": "A", "nodes": []}`)}).canonical(); len(problems) != 1 {
		t.Errorf("a hint that is no text has the problems %v", problems)
	}
}
