package docs

// BlockKind says what a block is.
type BlockKind string

// The kinds of blocks; what else Markdown has is refused.
const (
	Paragraph BlockKind = "paragraph"
	Heading   BlockKind = "heading"
	Code      BlockKind = "code"
	// Codes is the same in several languages, of which a reader wants one.
	Codes BlockKind = "codes"
	List  BlockKind = "list"
	Table BlockKind = "table"
	// Note is a quote that begins with [!NOTE] or the like.
	Note BlockKind = "note"
	// Endpoint is a paragraph of nothing but a method and a path.
	Endpoint BlockKind = "endpoint"
)

// Block is a piece of a page that stands for itself.
type Block struct {
	Kind BlockKind
	// Spans are the text of a paragraph or heading.
	Spans []Span
	// ID is the anchor of a heading, and Level its rank, from 2.
	ID    string
	Level int
	// Language and Code are a sample, Tokens the same text in coloured pieces.
	Language, Code string
	Tokens         []Token
	// Blocks are the samples of Codes, or the content of a Note.
	Blocks []Block
	// Tone of a note: note, tip, important, warning or caution.
	Tone string
	// Items are those of a list.
	Items   [][]Block
	Ordered bool
	// Head and Rows are the cells of a table.
	Head []Cell
	Rows [][]Cell
	// Method and Address are those of an endpoint.
	Method, Address string
}

// Text is what the block says, without its form.
func (b Block) Text() string { return plain(b.Spans) }

// Cell is one cell of a table.
type Cell []Span

// SpanKind says what a piece of text is.
type SpanKind string

// The kinds of spans.
const (
	Plain    SpanKind = "plain"
	Mono     SpanKind = "mono"
	Strong   SpanKind = "strong"
	Emphasis SpanKind = "emphasis"
	Link     SpanKind = "link"
)

// Span is a piece of text within a block.
type Span struct {
	Kind SpanKind
	Text string // of Plain and Mono
	// Href is where a link leads: a path of this server, an anchor, or elsewhere.
	Href  string
	Spans []Span // of the others
}

// Token is a piece of code of one colour; Class is empty where it has none.
type Token struct{ Class, Text string }

func plain(spans []Span) string {
	s := ""
	for _, span := range spans {
		s += span.Text + plain(span.Spans)
	}
	return s
}
