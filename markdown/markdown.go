// Package markdown renders Markdown of models and callers as HTML that is safe to show, within
// bounds of time. It owns the dialect, what a link may lead to, and the bounds (bounds.go); it
// knows nothing about pages.
package markdown

import (
	"bytes"
	"html"
	"regexp"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// MaxText is the maximum size of a text that is rendered, in bytes. A longer one is shown as
// plain text.
const MaxText = 256 << 10

var (
	untrustedParser = boundedParser()
	// untrusted renders texts in which nothing can run or load anything: HTML is shown as text,
	// images become links, and URLs such as javascript: are dropped.
	untrusted = func() renderer.Renderer {
		r := goldmark.DefaultRenderer()
		r.AddOptions(renderer.WithNodeRenderers(util.Prioritized(harmless{}, 100),
			util.Prioritized(extension.NewTableHTMLRenderer(), 500), util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500)))
		return r
	}()
)

// signs matches syntax that plain text rarely contains.
var signs = regexp.MustCompile("(?m)^#{1,6} \\S|^```|^\\|.+\\|\\s*$|\\*\\*\\S[^*]*\\*\\*|^\\s*[-*] \\S.*\\n\\s*[-*] \\S|^1[.)] \\S|\\]\\(https?://")

// Is reports whether a text looks like Markdown and is short enough to be rendered.
func Is(text string) bool { return len(text) <= MaxText && signs.MatchString(text) }

// HTML renders a text as HTML. It takes at most about half a second of CPU time: parts that would
// take longer appear as they were typed.
func HTML(source string) string {
	if len(source) > MaxText {
		return "<pre>" + html.EscapeString(source) + "</pre>\n"
	}
	data := []byte(source)
	var b bytes.Buffer
	document := untrustedParser.Parse(text.NewReader(data), parser.WithContext(parser.NewContext()))
	if err := untrusted.Render(&b, data, document); err != nil {
		return "<pre>" + html.EscapeString(source) + "</pre>\n"
	}
	return b.String()
}

// harmless renders the nodes that would embed untrusted content: HTML and images.
type harmless struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (harmless) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindRawHTML, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString(html.EscapeString(string(n.(*ast.RawHTML).Segments.Value(source))))
		}
		return ast.WalkSkipChildren, nil
	})
	r.Register(ast.KindHTMLBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if block := n.(*ast.HTMLBlock); entering {
			text := string(block.Lines().Value(source))
			if block.HasClosure() {
				text += string(block.ClosureLine.Value(source))
			}
			_, _ = w.WriteString("<pre>" + html.EscapeString(text) + "</pre>")
		}
		return ast.WalkContinue, nil
	})
	r.Register(ast.KindImage, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		return link(w, n.(*ast.Image).Destination, entering)
	})
	r.Register(ast.KindLink, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		return link(w, n.(*ast.Link).Destination, entering)
	})
}

// link renders the start or end of an external link.
func link(w util.BufWriter, to []byte, entering bool) (ast.WalkStatus, error) {
	if !entering {
		_, _ = w.WriteString("</a>")
		return ast.WalkContinue, nil
	}
	address := string(util.URLEscape(to, true))
	if !webAddress.MatchString(address) {
		address = "#"
	}
	_, _ = w.WriteString(`<a href="` + html.EscapeString(address) + `" target="_blank" rel="noopener noreferrer nofollow">`)
	return ast.WalkContinue, nil
}

// webAddress matches the URLs that a link in Markdown may have. Any other scheme, such
// as javascript:, could run code, so such a link leads to "#" instead.
var webAddress = regexp.MustCompile(`(?i)^(https?://|mailto:)`)
