package docs

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// markdown parses CommonMark with tables. Raw HTML is parsed too, but reader records it
// as a fault, except for comments.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table)).Parser()

// reader converts the syntax tree of one file to blocks.
type reader struct {
	page      string
	source    []byte
	highlight func(language, code string) []Token
	ids       map[string]int
	wrong     []error
}

// readPage parses a page, which must begin with a title and a paragraph. The error
// joinsTabs all faults, so that they can be fixed at once.
func readPage(name, source string, highlight func(string, string) []Token) (*Page, error) {
	r := &reader{page: name, source: []byte(source), highlight: highlight, ids: map[string]int{}}
	root := markdown.Parse(text.NewReader(r.source))
	blocks := r.blocks(root)
	if len(blocks) < 2 || blocks[0].Type != Heading || blocks[0].Level != 1 || blocks[1].Type != Paragraph {
		r.fault("begin with a title and a paragraph")
		return nil, errors.Join(r.wrong...)
	}
	p := &Page{Name: name, Title: blocks[0].Text(), Lede: blocks[1].Spans, Blocks: blocks[2:]}
	return p, errors.Join(r.wrong...)
}

// fault records a mistake in a page. Every page is read by a test, so none can ship
// with one.
func (r *reader) fault(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Errorf(format, args...))
}

// blocks converts the blocks within a node. Adjacent code blocks in different languages
// become one group of tabs.
func (r *reader) blocks(parent ast.Node) []Block {
	var list []Block
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		b, ok := r.block(n)
		if !ok {
			continue
		}
		if last := len(list) - 1; last >= 0 && joinsTabs(list[last], b) {
			list[last] = appendTab(list[last], b)
			continue
		}
		list = append(list, b)
	}
	return list
}

// block converts one block. It returns false for comments.
func (r *reader) block(n ast.Node) (Block, bool) {
	switch n := n.(type) {
	case *ast.Heading:
		return r.heading(n), true
	case *ast.Paragraph, *ast.TextBlock:
		if image, ok := n.FirstChild().(*ast.Image); ok && n.ChildCount() == 1 {
			return r.picture(image), true
		}
		return endpoint(Block{Type: Paragraph, Spans: r.spans(n)}), true
	case *ast.FencedCodeBlock:
		return r.code(string(n.Language(r.source)), n), true
	case *ast.List:
		return r.list(n), true
	case *tables.Table:
		return r.table(n), true
	case *ast.Blockquote:
		return r.note(n), true
	case *ast.HTMLBlock:
		if n.HTMLBlockType != ast.HTMLBlockType2 { // a comment
			r.fault("HTML is not shown: %.60q", r.lines(n))
		}
		return Block{}, false
	}
	r.fault("a %s is not shown", n.Kind())
	return Block{}, false
}

// heading converts a heading and gives it an anchor that is unique on its page. Links
// to it use the anchor, so a new title breaks them.
func (r *reader) heading(n *ast.Heading) Block {
	b := Block{Type: Heading, Level: n.Level, Spans: r.spans(n)}
	b.ID = r.anchor(b.Text())
	return b
}

// anchor returns the anchor of a heading, derived as code hosts do.
func (r *reader) anchor(title string) string {
	var id strings.Builder
	for _, c := range strings.ToLower(title) {
		switch {
		case c == ' ':
			id.WriteByte('-')
		case c == '-', c == '_', c >= '0' && c <= '9', c >= 'a' && c <= 'z':
			id.WriteRune(c)
		}
	}
	name := id.String()
	seen := r.ids[name]
	r.ids[name]++
	if seen > 0 {
		return fmt.Sprintf("%s-%d", name, seen)
	}
	return name
}

// code converts a code block. It is highlighted only if its language is stated.
func (r *reader) code(language string, n ast.Node) Block {
	b := Block{Type: Code, Language: language, Code: strings.TrimRight(r.lines(n), "\n")}
	if r.highlight != nil && language != "" {
		b.Tokens = r.highlight(language, b.Code)
	}
	return b
}

// lines returns the source lines of a block, without the indentation and markers of the
// blocks around it.
func (r *reader) lines(n ast.Node) string {
	var s strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		s.Write(line.Value(r.source))
	}
	return s.String()
}

// list converts a list. An item consists of blocks, so lists and code can be nested in
// it.
func (r *reader) list(n *ast.List) Block {
	b := Block{Type: List, Ordered: n.IsOrdered()}
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		b.Items = append(b.Items, r.blocks(item))
	}
	return b
}

// table converts a table. Its header row becomes Head; the alignment of columns is
// ignored.
func (r *reader) table(n *tables.Table) Block {
	b := Block{Type: Table}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []Cell
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, r.spans(cell))
		}
		if row.Kind() == tables.KindTableHeader {
			b.Head = cells
		} else {
			b.Rows = append(b.Rows, cells)
		}
	}
	return b
}

// noteMark matches the marker at the start of a note. GitHub renders the same syntax as
// an alert.
var noteMark = regexp.MustCompile(`^\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]\s*`)

// note converts a quote; its first word, such as [!WARNING], is the tone.
func (r *reader) note(n *ast.Blockquote) Block {
	b := Block{Type: Note, Tone: "note", Blocks: r.blocks(n)}
	if len(b.Blocks) == 0 || len(b.Blocks[0].Spans) == 0 {
		return b
	}
	// The marker is split into several spans, because [ might have started a link.
	spans := joined(b.Blocks[0].Spans)
	if m := noteMark.FindStringSubmatch(spans[0].Text); m != nil {
		b.Tone = strings.ToLower(m[1])
		spans[0].Text = spans[0].Text[len(m[0]):]
	}
	b.Blocks[0].Spans = spans
	return b
}

// joined merges adjacent spans of plain text.
func joined(spans []Span) []Span {
	var list []Span
	for _, s := range spans {
		if last := len(list) - 1; last >= 0 && s.Type == Plain && list[last].Type == Plain {
			list[last].Text += s.Text
			continue
		}
		list = append(list, s)
	}
	return list
}

// endpointForm matches inline code with a method and a path. A paragraph of nothing
// else is shown as an endpoint.
var endpointForm = regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE|HEAD) (/\S*)$`)

// endpoint converts a paragraph that contains only a method and a path to an
// Endpoint, and returns any other block unchanged.
func endpoint(b Block) Block {
	if len(b.Spans) != 1 || b.Spans[0].Type != Mono {
		return b
	}
	if m := endpointForm.FindStringSubmatch(b.Spans[0].Text); m != nil {
		b.Type, b.Method, b.Address = Endpoint, m[1], m[2]
	}
	return b
}

// tabbed lists the languages whose adjacent samples are shown as tabs.
var tabbed = []string{"sh", "python", "javascript", "typescript", "go", "php", "ruby", "java", "csharp"}

// joinsTabs reports whether the code block b belongs to one group of tabs with the block
// before it: a group, or a single block in another language.
func joinsTabs(a, b Block) bool {
	if b.Type != Code || !isTabbed(b.Language) {
		return false
	}
	return a.Type == Codes || a.Type == Code && isTabbed(a.Language) && a.Language != b.Language
}

// isTabbed reports whether samples in a language can be tabs. Output and configuration,
// such as json, always stand alone.
func isTabbed(language string) bool {
	for _, l := range tabbed {
		if l == language {
			return true
		}
	}
	return false
}

// appendTab appends b to the group a, or makes a group of the two blocks.
func appendTab(a, b Block) Block {
	if a.Type == Codes {
		a.Blocks = append(a.Blocks, b)
		return a
	}
	return Block{Type: Codes, Blocks: []Block{a, b}}
}
