package components

import (
	"bytes"
	"context"
	"html"
	"io"
	"regexp"

	"github.com/a-h/templ"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// untrusted renders Markdown from models and callers. Nothing in it can run or load anything:
// HTML is shown as text, images become links, and goldmark drops URLs such as javascript:.
var untrusted = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(harmless{}, 100))))

// markdownSigns matches syntax that plain text rarely contains.
var markdownSigns = regexp.MustCompile("(?m)^#{1,6} \\S|^```|^\\|.+\\|\\s*$|\\*\\*\\S[^*]*\\*\\*|^\\s*[-*] \\S.*\\n\\s*[-*] \\S|^1[.)] \\S|\\]\\(https?://")

// IsMarkdown reports whether a text looks like Markdown.
func IsMarkdown(text string) bool { return markdownSigns.MatchString(text) }

// Markdown renders a text as Markdown.
func Markdown(text string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b bytes.Buffer
		if err := untrusted.Convert([]byte(text), &b); err != nil {
			return err
		}
		_, err := w.Write(b.Bytes())
		return err
	})
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
