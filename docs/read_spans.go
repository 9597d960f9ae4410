package docs

import (
	urlpath "path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// spans converts the inline nodes within a node and merges adjacent plain text, which
// the parser splits at characters that could start markup.
func (r *reader) spans(parent ast.Node) []Span {
	var list []Span
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		list = append(list, r.span(n)...)
	}
	return joined(list)
}

// span converts an inline node. A link to a file that the server does not serve becomes
// its text; unsupported nodes are faults.
func (r *reader) span(n ast.Node) []Span {
	switch n := n.(type) {
	case *ast.Text:
		return []Span{{Type: Plain, Text: r.text(n)}}
	case *ast.String:
		return []Span{{Type: Plain, Text: string(n.Value)}}
	case *ast.CodeSpan:
		return []Span{{Type: Mono, Text: r.mono(n)}}
	case *ast.Emphasis:
		kind := Emphasis
		if n.Level == 2 {
			kind = Strong
		}
		return []Span{{Type: kind, Spans: r.spans(n)}}
	case *ast.Link:
		to := string(n.Destination)
		if besideLink.MatchString(to) && !pageLink.MatchString(to) {
			return r.spans(n)
		}
		return []Span{{Type: Link, Href: r.href(to), ID: r.partID(to), Spans: r.spans(n)}}
	case *ast.AutoLink:
		url := string(n.URL(r.source))
		return []Span{{Type: Link, Href: r.href(url), Spans: []Span{{Type: Plain, Text: url}}}}
	}
	r.fault("a %s is not shown", n.Kind())
	return nil
}

// text returns the text of a node; a line break within a paragraph is a space.
func (r *reader) text(n *ast.Text) string {
	s := string(util.UnescapePunctuations(n.Segment.Value(r.source)))
	s = string(util.ResolveEntityNames(util.ResolveNumericReferences([]byte(s))))
	if n.SoftLineBreak() || n.HardLineBreak() {
		s += " "
	}
	return s
}

// mono returns the text of inline code, which may be broken over lines in the source.
func (r *reader) mono(n *ast.CodeSpan) string {
	var s strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			s.Write(t.Segment.Value(r.source))
		}
	}
	return strings.ReplaceAll(s.String(), "\n", " ")
}

var (
	pageLink   = regexp.MustCompile(`^((?:\.\./|` + strings.Join(splitPages, "/|") + `/)?[A-Za-z0-9_-]+)\.md(#[a-z0-9_-]+)?$`)
	anchorLink = regexp.MustCompile(`^#[a-z0-9_-]+$`)
	// besideLink matches links to files of the repository that the server does
	// not serve; only the link text is shown.
	besideLink   = regexp.MustCompile(`^(\.\./)?[a-z]+/[A-Za-z0-9_./-]+$`)
	externalLink = regexp.MustCompile(`^https?://`)
)

// href converts the target of a link in a file to a URL of the server.
func (r *reader) href(to string) string {
	if m := pageLink.FindStringSubmatch(to); m != nil {
		return path(urlpath.Join(urlpath.Dir(r.page), m[1])) + m[2]
	}
	if !anchorLink.MatchString(to) && !externalLink.MatchString(to) {
		r.fault("the page of the link %q does not exist; write name.md, #anchor or https://…", to)
	}
	return to
}

// partID returns the anchor of an index's link to one of its parts: the anchor that the section
// had when it was on the page. Other links have none.
func (r *reader) partID(to string) string {
	id, ok := strings.CutPrefix(strings.TrimSuffix(to, ".md"), r.page+"/")
	if !ok || !splits(r.page) || r.ids[id] > 0 {
		return ""
	}
	return r.anchor(id)
}
