package documents

import (
	"errors"
	"strings"
	"testing"

	"sluice/e2e/need"
)

// TestWebPageHostile is about pages that are made to take long or deep: each
// must end in a text or an error, within the computing that it is given.
func TestWebPageHostile(t *testing.T) {
	t.Parallel()
	need.Time(t)
	for name, page := range map[string]string{
		"deep elements":    strings.Repeat("<div>", 200_000) + "text",
		"deep formatting":  strings.Repeat("<b><i><a>", 50_000) + "text",
		"deep tables":      strings.Repeat("<table><tr><td>", 20_000) + "text",
		"deep lists":       strings.Repeat("<ul><li>", 20_000) + "text",
		"many attributes":  "<p " + strings.Repeat("a ", 200_000) + ">text",
		"many elements":    strings.Repeat("<p>text</p>", 100_000),
		"no end of quotes": strings.Repeat("<blockquote>", 20_000) + "text",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readIn(t.Context(), Request{CPU: 3, WebPage: true, MIME: "text/html", URL: "https://example.com/"}, page)
			if _, ok := errors.AsType[*Error](err); err != nil && !ok {
				t.Errorf("got %v", err)
			}
			if err == nil && !strings.Contains(got.Text, "text") {
				t.Errorf("lost the text: %.200q", got.Text)
			}
		})
	}
}

// TestNestedHTML checks that HTML which the parser rejects is rejected with a
// message that says what to do.
func TestNestedHTML(t *testing.T) {
	t.Parallel()
	data := []byte("<html><body>" + strings.Repeat("<div>", 600) + "x")
	for what, req := range map[string]Request{"page": {WebPage: true, MIME: "text/html"}, "document": {MIME: "text/html"}} {
		_, err := (&reading{Request: req, data: data}).read()
		if got := refusal(t, err); !strings.HasPrefix(got, "The HTML of the "+what+" is nested too deeply: the limit is 512 elements inside one another. ") || strings.Contains(got, "html:") {
			t.Errorf("%s: %q", what, got)
		}
	}
}
