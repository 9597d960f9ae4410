package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Bounds of the work for one text. Goldmark looks for the end of each link, emphasis, code or
// tag in the rest of its paragraph, and for each line in each block that contains it, so its
// time grows with the square of a paragraph, and with lines times depth.
const (
	maxDepth = 32 // blocks inside each other: quotes, lists and their items
	// maxInline and maxAllInline bound signs times bytes of one paragraph, heading or cell, and
	// of all of them. One unit takes up to 3 ns.
	maxInline    = 40_000_000
	maxAllInline = 100_000_000
	maxCells     = 30_000 // of all tables; rows are filled up to the number of columns
	maxEscapes   = 500    // escaped pipes in all tables: each is compared with each
	maxRefLines  = 1000   // lines of a paragraph in which links are defined
)

// boundedParser returns goldmark's parser with tables and strikethrough, within the bounds.
func boundedParser() parser.Parser {
	var blocks, inlines, paragraphs []util.PrioritizedValue
	for _, v := range parser.DefaultBlockParsers() {
		if v.Value == parser.NewListParser() || v.Value == parser.NewBlockquoteParser() { // list items follow their list
			v.Value = boundedBlock{v.Value.(parser.BlockParser)}
		}
		blocks = append(blocks, v)
	}
	for _, v := range append(parser.DefaultInlineParsers(), util.Prioritized(extension.NewStrikethroughParser(), 500)) {
		inlines = append(inlines, util.Prioritized(boundedInline{v.Value.(parser.InlineParser)}, v.Priority))
	}
	for _, v := range parser.DefaultParagraphTransformers() {
		paragraphs = append(paragraphs, util.Prioritized(boundedReferences{v.Value.(parser.ParagraphTransformer)}, v.Priority))
	}
	paragraphs = append(paragraphs, util.Prioritized(boundedTable{extension.NewTableParagraphTransformer()}, 200))
	return parser.NewParser(parser.WithBlockParsers(blocks...), parser.WithInlineParsers(inlines...),
		parser.WithParagraphTransformers(paragraphs...), parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)))
}

// boundedBlock opens quotes and lists up to maxDepth. Deeper markers are text.
type boundedBlock struct{ parser.BlockParser }

// Open implements parser.BlockParser.
func (b boundedBlock) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		depth++
	}
	if depth > maxDepth {
		return nil, parser.NoChildren
	}
	return b.BlockParser.Open(parent, reader, pc)
}

// boundedInline finds inline syntax in blocks that are not too costly. The signs of others are
// text.
type boundedInline struct{ parser.InlineParser }

// Parse implements parser.InlineParser.
func (b boundedInline) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if !workOf(pc).admits(parent, block.Source()) {
		return nil
	}
	return b.InlineParser.Parse(parent, block, pc)
}

// CloseBlock implements parser.CloseBlocker.
func (b boundedInline) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if closer, ok := b.InlineParser.(parser.CloseBlocker); ok {
		closer.CloseBlock(parent, block, pc)
	}
}

// work is the remaining budget of one text.
type work struct {
	inline, cells, escapes int
	block                  ast.Node // the last one that was judged
	admitted               bool     // whether inline syntax in it is parsed
}

var workKey = parser.NewContextKey()

// workOf returns the budget of the text that is being parsed.
func workOf(pc parser.Context) *work {
	return pc.ComputeIfAbsent(workKey, func() any { return &work{inline: maxAllInline, cells: maxCells, escapes: maxEscapes} }).(*work)
}

// admits reports whether the budget covers the inline syntax of a block, and takes its cost.
func (w *work) admits(block ast.Node, source []byte) bool {
	if w.block == block {
		return w.admitted
	}
	signs, size := 0, 0
	lines := block.Lines()
	for i := range lines.Len() {
		segment := lines.At(i)
		line := segment.Value(source)
		size += len(line)
		for _, c := range line {
			if bytes.IndexByte(inlineSigns, c) >= 0 {
				signs++
			}
		}
	}
	cost := signs * size
	w.block, w.admitted = block, cost <= maxInline && cost <= w.inline
	if w.admitted {
		w.inline -= cost
	}
	return w.admitted
}

// inlineSigns begin or end inline syntax.
var inlineSigns = []byte("*_~`[]()<>!:&\\\"'")

// boundedReferences finds definitions of links in paragraphs of up to maxRefLines: each one
// moves all lines behind it.
type boundedReferences struct{ parser.ParagraphTransformer }

// Transform implements parser.ParagraphTransformer.
func (b boundedReferences) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	if node.Lines().Len() <= maxRefLines {
		b.ParagraphTransformer.Transform(node, reader, pc)
	}
}

// boundedTable makes tables while the text has few cells.
type boundedTable struct{ parser.ParagraphTransformer }

// Transform implements parser.ParagraphTransformer.
func (b boundedTable) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines, columns, escapes := node.Lines(), 0, 0
	for i := range lines.Len() {
		segment := lines.At(i)
		line := segment.Value(reader.Source())
		columns = max(columns, bytes.Count(line, []byte("|"))+1)
		escapes += bytes.Count(line, []byte(`\|`))
	}
	w := workOf(pc)
	if columns == 1 || columns*lines.Len() > w.cells || escapes > w.escapes {
		return
	}
	w.cells, w.escapes = w.cells-columns*lines.Len(), w.escapes-escapes
	b.ParagraphTransformer.Transform(node, reader, pc)
}
