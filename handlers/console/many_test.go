package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// maxPage is the size of a page with very many keys and flows behind it, in bytes.
const maxPage = 100 << 10

// keyLinks are the links of the list of keys.
var keyLinks = regexp.MustCompile(`<a class="row" href="/keys/(key_\w+)"`)

// TestPages_of_many_keys has 450 keys, most of them with budgets. Their list has pages, in both directions, and the
// pages of runs and usage stay small.
func TestPages_of_many_keys(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	const keys = 450
	for i := range keys {
		k := &flow.Key{WorkspaceID: flow.DefaultWorkspace, Name: fmt.Sprintf("A key with a rather long name, number %d", i), Hash: fmt.Sprint(i), RunsPerDay: int64(i)}
		if err := h.Store.CreateKey(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	b := h.As(flow.MemberViewer)
	for _, path := range []string{"/keys", "/runs", "/usage", "/usage?range=90"} {
		if n := len(b.Get(path).Is(http.StatusOK).Body); n > maxPage {
			t.Errorf("%s has %d bytes", path, n)
		}
	}
	b.Get("/usage").Has("399 more have used smaller shares")

	var seen []string
	pages := []string{"/keys"}
	for path := "/keys"; path != ""; {
		body := b.Get(path).Is(http.StatusOK).Body
		for _, link := range keyLinks.FindAllStringSubmatch(body, -1) {
			seen = append(seen, link[1])
		}
		if path = relOf(body, "next"); path != "" {
			pages = append(pages, path)
		}
	}
	if len(seen) != keys || len(pages) != 5 {
		t.Fatalf("%d pages have %d keys", len(pages), len(seen))
	}
	for i := 1; i < len(seen); i++ {
		if seen[i] >= seen[i-1] {
			t.Fatalf("%s comes after %s", seen[i], seen[i-1])
		}
	}
	last := b.Get(pages[4]).Body
	back := b.Get(relOf(last, "prev")).Is(http.StatusOK).Body
	if first := keyLinks.FindStringSubmatch(back)[1]; first != seen[300] {
		t.Errorf("the page before the last begins with %s, want %s", first, seen[300])
	}
	oldest := seen[keys-1]
	b.Get("/runs?key=" + oldest).Has(`value="` + oldest + `" selected`)
}

// relOf returns the address of the link to the next or previous page, or "".
func relOf(body, rel string) string {
	link := regexp.MustCompile(`rel="` + rel + `" href="([^"]+)"`).FindStringSubmatch(body)
	if link == nil {
		return ""
	}
	return strings.ReplaceAll(link[1], "&amp;", "&")
}
