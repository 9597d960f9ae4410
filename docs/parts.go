package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// splitPages lists the pages whose sections of level three are pages of their own, one level
// below: /docs/nodes/chat. What remains is their index.
var splitPages = []string{"nodes"}

// part is the Markdown of a section that is a page of its own.
type part struct {
	name  string // of the page: nodes/chat
	group string // the heading of level two above it
	text  string
}

// partHeading matches the heading of a part, such as "### `chat`".
var partHeading = regexp.MustCompile("^### `([a-z0-9_]+)`$")

// splitPage cuts a page into its index and its parts. A part starts with its title, a colon and
// its lede: "Chat: sends a prompt …".
func splitPage(name, text string) (index string, parts []part, err error) {
	var rest strings.Builder
	to, group, fenced := &rest, "", false
	var bodies []*strings.Builder
	for line := range strings.Lines(text) {
		bare := strings.TrimRight(line, "\n")
		if strings.HasPrefix(bare, "```") {
			fenced = !fenced
		}
		if title, ok := strings.CutPrefix(bare, "## "); ok && !fenced {
			group, to = title, &rest
		}
		if m := partHeading.FindStringSubmatch(bare); m != nil && !fenced {
			to = &strings.Builder{}
			bodies = append(bodies, to)
			parts = append(parts, part{name: name + "/" + m[1], group: group})
			continue
		}
		to.WriteString(line)
	}
	for i, body := range bodies {
		title, text, ok := strings.Cut(strings.TrimLeft(body.String(), "\n"), ": ")
		if !ok || text == "" || strings.Contains(title, "\n") {
			return "", nil, fmt.Errorf("the section %s does not start with its title and a colon", parts[i].name)
		}
		parts[i].text = "# " + title + "\n\n" + strings.ToUpper(text[:1]) + text[1:]
	}
	return rest.String(), parts, nil
}

// relink rewrites the links of a page's Markdown that lead to sections with pages of their own, and
// those of a part, which is one directory deeper. is reports whether a page is a part.
func relink(page, text string, is func(name string) bool) string {
	up := ""
	if strings.Contains(page, "/") {
		up = "../"
	}
	return markdownLink.ReplaceAllStringFunc(text, func(link string) string {
		m := markdownLink.FindStringSubmatch(link)
		of, anchor := m[1], strings.TrimPrefix(m[2], "#")
		if of == "" {
			of, _, _ = strings.Cut(page, "/")
		}
		switch name := of + "/" + anchor; {
		case is(name) && up != "":
			return "](" + anchor + ".md)"
		case is(name):
			return "](" + name + ".md)"
		case m[1] == "" && up == "":
			return link
		}
		return "](" + up + of + ".md" + m[2] + ")"
	})
}

// markdownLink matches the target of a link to a page or to an anchor of the page.
var markdownLink = regexp.MustCompile(`\]\((?:([A-Za-z0-9_-]+)\.md)?(#[a-z0-9_-]+)?\)`)

// splits reports whether the sections of a page are pages of their own.
func splits(name string) bool { return slices.Contains(splitPages, name) }
