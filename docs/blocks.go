package docs

// BlockType is the type of a Block.
type BlockType string

// The supported types of blocks; a page with any other Markdown is rejected.
const (
	Paragraph BlockType = "paragraph"
	Heading   BlockType = "heading"
	Code      BlockType = "code"
	// Codes is the same sample in several languages, shown as tabs.
	Codes BlockType = "codes"
	List  BlockType = "list"
	Table BlockType = "table"
	// Note is a quote that begins with [!NOTE], [!TIP] and so on.
	Note BlockType = "note"
	// Endpoint is a paragraph that contains only a method and a path.
	Endpoint BlockType = "endpoint"
	// Picture is a paragraph that contains only an image.
	Picture BlockType = "picture"
)

// Block is a block element of a page, such as a paragraph or a table.
type Block struct {
	Type BlockType
	// Spans are the text of a paragraph or heading.
	Spans []Span
	// ID is the anchor of a heading; Level is 2 or more.
	ID    string
	Level int
	// Language and Code are a sample; Tokens is the same text with highlighting.
	Language, Code string
	Tokens         []Token
	// Blocks are the samples of Codes, or the content of a Note.
	Blocks []Block
	// Tone of a Note: note, tip, important, warning or caution.
	Tone string
	// Items are the items of a list.
	Items   [][]Block
	Ordered bool
	// Head and Rows are the cells of a table.
	Head []Cell
	Rows [][]Cell
	// Method and Address are the method and path of an Endpoint.
	Method, Address string
	// Source is the URL path of a Picture, Alt its text for readers who do not
	// see it, Width and Height its size in CSS pixels.
	Source, Alt   string
	Width, Height int
}

// Text returns the text of the block without formatting.
func (b Block) Text() string { return plain(b.Spans) }

// Cell is one cell of a table.
type Cell []Span

// SpanType is the type of a Span.
type SpanType string

// The kinds of spans.
const (
	Plain    SpanType = "plain"
	Mono     SpanType = "mono"
	Strong   SpanType = "strong"
	Emphasis SpanType = "emphasis"
	Link     SpanType = "link"
)

// Span is an inline element of a block.
type Span struct {
	Type SpanType
	Text string // of Plain and Mono
	// Href is the target of a Link: a path on this server, an anchor, or a URL.
	Href string
	// ID is the anchor of a Link that an index has in place of a section.
	ID    string
	Spans []Span // of the others
}

// Token is a highlighted piece of code; Class is empty for plain text.
type Token struct{ Class, Text string }

// plain returns the text of spans and of the spans nested in them, without formatting
// and without the targets of links.
func plain(spans []Span) string {
	s := ""
	for _, span := range spans {
		s += span.Text + plain(span.Spans)
	}
	return s
}
