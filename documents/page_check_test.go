package documents

import (
	"strings"
	"testing"

	"sluice/e2e/need"
)

// TestRead_explains_empty_pages reads pages on which a person sees something that is not in their HTML.
func TestRead_explains_empty_pages(t *testing.T) {
	t.Parallel()
	need.Time(t)
	long := "<p>" + strings.Repeat("A long text about deliveries. ", 40) + "</p>"
	for _, c := range []struct{ name, content, want string }{
		{"no content", "", "sent no content"},
		{"only white space", " \n ", "no text"},
		{"scripts", `<html><head><title>App</title></head><body><div id="root"></div><script src="/app.js"></script></body></html>`, "scripts build the page"},
		{"a request for scripts", `<html><body><noscript>You need to enable JavaScript to run this app.</noscript><div id="app"></div><script>x()</script></body></html>`, "scripts build the page"},
		{"a placeholder", `<html><body><div id="root">Loading…</div><script src="/app.js"></script></body></html>`, "until scripts have built it"},
		{"a meta refresh", `<html><head><meta http-equiv="refresh" content="0; URL='/new'"></head><body>Redirecting to <a href="/new">the page</a></body></html>`, "https://example.com/new"},
		{"a meta refresh without a body", `<meta http-equiv=Refresh content="0;url=https://other.example/x">`, "https://other.example/x"},
		{"pictures", `<html><body><img src="scan.png"></body></html>`, "only pictures"},
		{"frames", `<html><frameset><frame src="main.html"></frameset></html>`, "main.html"},
		{"no text at all", `<html><body></body></html>`, "no text"},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			t.Parallel()
			_, err := readIn(t.Context(), Request{WebPage: true, URL: "https://example.com/old", MIME: "text/html"}, c.content)
			has(t, refusal(t, err), c.want)
			if c.content == "" || strings.TrimSpace(c.content) == "" {
				return
			}
			_, err = readIn(t.Context(), Request{Name: "a.html", URL: "https://example.com/old"}, c.content)
			has(t, refusal(t, err), c.want)
		})
	}
	for _, c := range []struct{ name, content, warning string }{
		{"a long page that leaves", `<meta http-equiv="refresh" content="1;url=/new">` + long, "leave this page"},
		{"a page that mostly scripts fill", `<p>© Example Ltd</p><div id="root"></div><script src="a.js"></script>`, "most of it may be missing"},
		{"a page that updates itself", `<meta http-equiv="refresh" content="5"><p>Scores: 1–0</p>`, ""},
		{"a page that updates itself by its URL", `<meta http-equiv="refresh" content="5;url=/old"><p>Scores: 1–0</p>`, ""},
		{"a refresh for browsers without scripts", `<noscript><meta http-equiv="refresh" content="0;url=/plain"></noscript><p>The text of this page.</p>`, ""},
		{"a page about JavaScript", long + `<p>JavaScript is a language.</p><script>x()</script>`, ""},
	} {
		t.Run("reads "+c.name, func(t *testing.T) {
			t.Parallel()
			got, err := readIn(t.Context(), Request{WebPage: true, URL: "https://example.com/old", MIME: "text/html; charset=utf-8"}, c.content)
			if err != nil {
				t.Fatal(err)
			}
			if got.Text == "" || (c.warning == "") != (len(got.Warnings) == 0) || !strings.Contains(strings.Join(got.Warnings, " "), c.warning) {
				t.Errorf("got %q, warnings %q", got.Text, got.Warnings)
			}
		})
	}
}

// TestRead_explains_empty_documents reads documents without text.
func TestRead_explains_empty_documents(t *testing.T) {
	t.Parallel()
	need.Time(t)
	for name, content := range map[string]string{
		"only pictures":        zipped(t, "mimetype", "application/vnd.oasis.opendocument.text", "content.xml", `<office:text><text:p><draw:frame><draw:image/></draw:frame></text:p></office:text>`),
		"no text in its cells": sheetOf(t, "<sheetData/>"),
		"no text, only pictures": zipped(t, "ppt/presentation.xml", `<p:presentation xmlns:r="r"><p:sldIdLst><p:sldId r:id="a"/></p:sldIdLst></p:presentation>`,
			"ppt/_rels/presentation.xml.rels", `<Relationships><Relationship Id="a" Target="slides/slide1.xml"/></Relationships>`,
			"ppt/slides/slide1.xml", `<p:sld><p:pic/></p:sld>`),
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			t.Parallel()
			_, err := readIn(t.Context(), Request{}, content)
			has(t, refusal(t, err), name)
		})
	}
	t.Run("mentions an empty text", func(t *testing.T) {
		t.Parallel()
		for _, c := range [][2]string{{"", "The file is empty."}, {"\xef\xbb\xbf \n", "The file has no text, only white space."}} {
			got, err := readIn(t.Context(), Request{Name: "a.txt"}, c[0])
			same(t, "warnings", []any{err, got.Warnings}, []any{nil, []string{c[1]}})
		}
	})
}

// TestSlides_keep_more_than_plain_text reads what slides hold beside plain text.
func TestSlides_keep_more_than_plain_text(t *testing.T) {
	t.Parallel()
	need.Time(t)
	deck := func(slide string) string {
		return zipped(t, "ppt/presentation.xml", `<p:presentation xmlns:r="r"><p:sldIdLst><p:sldId r:id="a"/><p:sldId r:id="b"/></p:sldIdLst></p:presentation>`,
			"ppt/_rels/presentation.xml.rels", `<Relationships><Relationship Id="a" Target="slides/slide1.xml"/><Relationship Id="b" Target="slides/slide2.xml"/></Relationships>`,
			"ppt/slides/_rels/slide1.xml.rels", `<Relationships><Relationship Id="l" Type="http://x/hyperlink" Target="https://example.com" TargetMode="External"/></Relationships>`,
			"ppt/slides/slide1.xml", `<p:sld xmlns:a="a" xmlns:r="r" xmlns:m="m"><a:p>`+slide+`</a:p></p:sld>`, "ppt/slides/slide2.xml", `<p:sld><p:pic/></p:sld>`)
	}
	for name, c := range map[string][2]string{
		"raised digits": {`<a:r><a:t>10</a:t></a:r><a:r><a:rPr baseline="30000"/><a:t>6</a:t></a:r>`, "10⁶"},
		"links":         {`<a:r><a:rPr><a:hlinkClick r:id="l"/></a:rPr><a:t>site</a:t></a:r>`, "site (https://example.com)"},
		"numbers":       {`<a:pPr><a:buAutoNum type="arabicPeriod" startAt="3"/></a:pPr><a:r><a:t>x</a:t></a:r></a:p><a:p><a:pPr lvl="1"><a:buAutoNum type="alphaLcParenR"/></a:pPr><a:r><a:t>y</a:t></a:r></a:p><a:p><a:pPr><a:buAutoNum type="arabicPeriod" startAt="3"/></a:pPr><a:r><a:t>z</a:t></a:r>`, "3. x\na) y\n4. z"},
		"equations":     {`<m:oMath><m:sSup><m:e><m:r><m:t>10</m:t></m:r></m:e><m:sup><m:r><m:t>6</m:t></m:r></m:sup></m:sSup></m:oMath>`, "10^6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readIn(t.Context(), Request{}, deck(c[0]))
			if err != nil {
				t.Fatal(err)
			}
			same(t, "text", got.Text, c[1]+"\n\n[Slide 2 has no text, only pictures.]")
		})
	}
}
