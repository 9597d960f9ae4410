package documents

import (
	"net/url"
	"regexp"
	"sluice/flow/wording"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

const (
	// shortPage is the length of a text, in bytes, below which a page may be only a step to another one or a
	// placeholder.
	shortPage = 500
	// maxRefreshDelay is the delay, in seconds, up to which a meta refresh counts as a redirect. Longer ones
	// update a page that people read.
	maxRefreshDelay = 10
)

// placeholder finds the texts that pages show until their scripts have run.
var placeholder = regexp.MustCompile(`(?i)javascript|\bloading\b|\bplease wait\b|\bjust a moment\b|\bredirecting\b`)

// checkPage refuses a page that has no text of its own, because scripts build it in the browser, because it only leads to
// another page, or because it consists of pictures or frames. What a person sees there is not in the HTML, and an empty
// text would look like success. Pages with some text get a warning.
func checkPage(doc *html.Node, at *url.URL, address string, out *Document) error {
	facts := pageFacts{}
	facts.read(doc)
	text := strings.Join(strings.Fields(facts.text.String()), " ")
	if to := facts.redirect(at, address); to != "" {
		if len(text) < shortPage {
			return refuse("The page only leads to another one, %s, by a meta refresh, which is not followed. Use that URL.", wording.Truncate(to, 300))
		}
		out.warn("Browsers leave this page at once for %s (meta refresh). The text is that of the page before.", wording.Truncate(to, 300))
	}
	switch {
	case text != "" && len(text) < shortPage/2 && facts.scripts > 0 && placeholder.MatchString(text):
		return refuse("The page shows only %q until scripts have built it in the browser. Scripts are not run. Use an API of the site with an HTTP request node, or another page.", wording.Truncate(text, 200))
	case text != "" && len(text) < shortPage && facts.scripts > 0 && facts.emptyRoot:
		out.warn("Scripts build this page in the browser, so most of it may be missing: scripts are not run.")
	case text != "":
	case len(facts.frames) > 0:
		return refuse("The page has no text, only frames: %s. Use the URL of a frame.", wording.Truncate(strings.Join(facts.frames, ", "), 300))
	case facts.scripts > 0:
		return refuse("The HTML of the page has no text: scripts build the page in the browser, and scripts are not run. Use an API of the site with an HTTP request node, or another page.")
	case facts.pictures > 0:
		return refuse("The page has no text, only pictures. Use a file node and a model with vision for them.")
	default:
		return refuse("The page has no text.")
	}
	return nil
}

// pageFacts is what checkPage needs to know about a page.
type pageFacts struct {
	text              strings.Builder // as far as needed, without scripts and the title
	scripts, pictures int
	frames            []string
	refresh           string
	emptyRoot         bool // it has the empty element that a script fills
}

// read walks through the elements.
func (f *pageFacts) read(n *html.Node) {
	if n.Type == html.TextNode && f.text.Len() < 4*shortPage {
		f.text.WriteString(n.Data + " ")
	}
	if n.Type == html.ElementNode {
		switch n.Data {
		case "script":
			f.scripts++
			return
		case "style", "noscript", "template", "title":
			return
		case "img", "svg", "picture", "canvas", "video", "object", "embed":
			f.pictures++
			if alt := attribute(n, "alt"); alt != "" {
				f.text.WriteString(alt + " ")
			}
		case "iframe", "frame":
			if src := attribute(n, "src"); src != "" && len(f.frames) < 5 {
				f.frames = append(f.frames, src)
			}
			return
		case "meta":
			if strings.EqualFold(attribute(n, "http-equiv"), "refresh") && f.refresh == "" {
				f.refresh = attribute(n, "content")
			}
		case "div", "main":
			switch attribute(n, "id") {
			case "root", "app", "__next", "__nuxt", "svelte", "react-root":
				f.emptyRoot = f.emptyRoot || n.FirstChild == nil
			}
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		f.read(c)
	}
}

// redirect returns the URL to which a meta refresh such as "0; url=/new" leads, or "" if there is no such element, or it only
// updates the page.
func (f *pageFacts) redirect(at *url.URL, address string) string {
	delay, rest, found := strings.Cut(strings.Replace(f.refresh, ",", ";", 1), ";")
	seconds, err := strconv.ParseFloat(strings.TrimSpace(delay), 64)
	rest = strings.TrimSpace(rest)
	if !found || err != nil || seconds > maxRefreshDelay {
		return ""
	}
	if len(rest) > 3 && strings.EqualFold(rest[:3], "url") {
		rest = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(rest[3:]), "="))
	}
	to := absolute(strings.Trim(rest, `'" `), at)
	before, _, _ := strings.Cut(address, "#")
	after, _, _ := strings.Cut(to, "#")
	if to == "" || before == after && before != "" {
		return ""
	}
	return to
}
