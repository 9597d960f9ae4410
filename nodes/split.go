package nodes

import (
	"context"
	"regexp"
	"strings"
	"unicode"

	"sluice/flow"
)

// Options of the field "by".
const (
	splitSeparator  = "separator"
	splitLines      = "lines"
	splitParagraphs = "paragraphs"
	splitCharacters = "characters"
	splitTokens     = "tokens"
)

// charactersPerToken is the average length of a token in European languages.
const charactersPerToken = 4

// maxChunk bounds the size of a chunk, in characters or tokens.
const maxChunk = 10_000_000

// maxParts bounds the number of parts before empty ones are dropped. Each takes 16 bytes.
const maxParts = 1_000_000

// maxItemPorts is the maximum number of ports for single items.
const maxItemPorts = 50

// The split kind splits a text into a list.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "split", Title: "Split", Group: groupText, Icon: "scissors",
		Summary: "Cuts a text into a list.",
		Doc: "Splits by a separator, into lines or paragraphs, or into chunks for models that take only so much at once. Chunks end between " +
			"words where possible, and each repeats the end of the previous one according to *Overlap*. A token counts as " +
			"4 characters; models count slightly differently.\n\n" +
			"*Ports for items* adds the ports `item_1`, `item_2` …, one for each item; a port without an item has no value.",
		Fields: []flow.Field{
			{Name: "text", Title: "Text", Type: flow.FieldArea, Template: true, Required: true, Help: "The text to split."},
			{Name: "by", Title: "Split by", Type: flow.FieldSelect, Typed: true, Default: splitLines,
				Options: []string{splitLines, splitParagraphs, splitSeparator, splitCharacters, splitTokens}, Help: "Where to cut."},
			{Name: "trim", Title: "Trim items", Type: flow.FieldBoolean, Typed: true, More: true, Default: true, Help: "Removes white space around each item."},
			{Name: "keep_empty", Title: "Keep empty items", Type: flow.FieldBoolean, Typed: true, More: true, Default: false, Help: "Keeps items without text."},
			{Name: "ports", Title: "Ports for items", Type: flow.FieldInteger, Typed: true, More: true, Default: flow.Number(0), Min: new(float64), Max: ptr(float64(maxItemPorts)),
				Help: "How many items get their own port."},
		},
		DynamicSchema: splitSchema,
		Outputs: []flow.Port{
			{Name: "items", Title: "Items", Type: flow.TypeList, Items: flow.TypeText, Help: "The parts, in order."},
			{Name: "count", Title: "Count", Type: flow.TypeNumber, Help: "Number of items."},
		},
		Example: flow.Example{
			Config:  map[string]any{"text": "red, green,, blue", "by": splitSeparator, "separator": ","},
			Outputs: map[string]any{"items": []any{"red", "green", "blue"}, "count": flow.Number(3)},
		},
		Check: checkSplit,
		Run:   split,
	}
})

// splitSchema declares the fields for the chosen option of "by", and the ports for items.
func splitSchema(n *flow.Node) flow.DynamicSchema {
	var shape flow.DynamicSchema
	switch n.Config["by"] {
	case splitSeparator:
		shape.Fields = []flow.Field{{Name: "separator", Title: "Separator", Type: flow.FieldText, Default: ",", Help: `The text between items. Write \n for a line break and \t for a tab.`}}
	case splitCharacters, splitTokens:
		shape.Fields = []flow.Field{
			{Name: "size", Title: "Size", Type: flow.FieldInteger, Default: flow.Number(1000), Min: ptr(1.0), Max: ptr(maxChunk), Help: "Maximum size of a chunk."},
			{Name: "overlap", Title: "Overlap", Type: flow.FieldInteger, Default: flow.Number(0), Min: new(float64), Max: ptr(maxChunk), Help: "How much of a chunk the next one repeats."},
		}
	}
	ports, _ := flow.Float(n.Config["ports"])
	for i := range min(int(ports), maxItemPorts) {
		number := flow.Text(flow.Number(i + 1))
		shape.Outputs = append(shape.Outputs, flow.Port{Name: "item_" + number, Title: "Item " + number, Type: flow.TypeText, Optional: true, Help: "One item."})
	}
	return shape
}

// checkSplit rejects an overlap as large as the chunk: the next chunk would begin where the
// previous one did.
func checkSplit(n *flow.Node) []flow.Problem {
	size, sized := flow.Float(n.Config["size"])
	overlap, _ := flow.Float(n.Config["overlap"])
	if sized && overlap >= size {
		return []flow.Problem{{Pointer: flow.Pointer("overlap"), Code: "invalid", Detail: "must be smaller than the size of a chunk"}}
	}
	return nil
}

// split splits a text and drops empty items unless the node keeps them. More than
// maxListItems items are an error. The first items are also output on their own ports.
func split(_ context.Context, in *flow.In) (flow.Out, error) {
	parts, err := splitText(in)
	if err != nil {
		return flow.Out{}, err
	}
	items := make([]any, 0, len(parts))
	for _, part := range parts {
		if in.Config["trim"] == true {
			part = strings.TrimSpace(part)
		}
		if part != "" || in.Config["keep_empty"] == true {
			items = append(items, part)
		}
	}
	if len(items) > maxListItems {
		return flow.Out{}, errTooManyItems()
	}
	outputs := map[string]any{"items": items, "count": flow.Number(len(items))}
	for i := range min(in.Int("ports"), maxItemPorts, len(items)) {
		outputs["item_"+flow.Text(flow.Number(i+1))] = items[i]
	}
	return flow.Out{Outputs: outputs}, nil
}

var (
	// lineEnds converts CRLF and CR to LF. blankLines matches the separator of paragraphs.
	// separatorSigns resolves escapes, so that users can type a line break or a tab in a
	// one-line field.
	lineEnds       = strings.NewReplacer("\r\n", "\n", "\r", "\n")
	blankLines     = regexp.MustCompile(`\n[ \t]*\n\s*`)
	separatorSigns = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`)
)

// splitText splits at blank lines, at a separator, after a number of characters or tokens,
// or by default at line breaks. Tokens are estimated as charactersPerToken each.
func splitText(in *flow.In) ([]string, error) {
	text := in.Text("text")
	switch in.Text("by") {
	case splitParagraphs:
		return atMost(blankLines.Split(lineEnds.Replace(text), maxListItems+1), maxListItems)
	case splitSeparator:
		separator := separatorSigns.Replace(in.Text("separator"))
		if separator == "" {
			return nil, flow.Errorf(flow.CodeInputInvalid, "Separator is empty. Enter one, or split by characters.")
		}
		return atMost(strings.SplitN(text, separator, maxParts+1), maxParts)
	case splitCharacters, splitTokens:
		size, err := wholeNumber(in, "size", 1, maxChunk)
		if err != nil {
			return nil, err
		}
		overlap, err := wholeNumber(in, "overlap", 0, maxChunk)
		if err != nil {
			return nil, err
		}
		if overlap >= size {
			return nil, flow.Errorf(flow.CodeInputInvalid, "Size must be larger than the overlap. Got %d and %d.", size, overlap)
		}
		if in.Text("by") == splitTokens {
			size, overlap = size*charactersPerToken, overlap*charactersPerToken
		}
		return chunks(text, size, overlap)
	}
	return atMost(strings.SplitN(lineEnds.Replace(text), "\n", maxParts+1), maxParts)
}

// atMost returns parts, or an error if there are more than limit.
func atMost(parts []string, limit int) ([]string, error) {
	if len(parts) > limit {
		return nil, errTooManyItems()
	}
	return parts, nil
}

// chunks cuts a text into parts of at most size characters.
func chunks(text string, size, overlap int) ([]string, error) {
	runes := []rune(text)
	var parts []string
	total := 0
	for start, end := 0, 0; end < len(runes); {
		end = chunkEnd(runes, start, end, size)
		part := string(runes[start:end])
		if total += len(part); total > flow.MaxTextBytes {
			return nil, errTooMuchText()
		}
		if parts = append(parts, part); len(parts) > maxListItems {
			return nil, errTooManyItems()
		}
		start = chunkStart(runes, start, end, overlap)
	}
	return parts, nil
}

// chunkEnd returns the end of the chunk that begins at start: after the last white space in its
// second half, so that words stay intact, but beyond the end of the previous chunk.
func chunkEnd(runes []rune, start, before, size int) int {
	end := min(start+size, len(runes))
	if end == len(runes) || unicode.IsSpace(runes[end]) {
		return end
	}
	for at := end; at > max(start+size/2, before); at-- {
		if unicode.IsSpace(runes[at-1]) {
			return at
		}
	}
	return end
}

// chunkStart returns the start of the chunk that follows the one from start to end: overlap
// characters before its end, or the first word after that.
func chunkStart(runes []rune, start, end, overlap int) int {
	next := max(end-overlap, start+1)
	for at := next; at <= end; at++ {
		if unicode.IsSpace(runes[at-1]) || at == end && at < len(runes) && unicode.IsSpace(runes[at]) {
			return at
		}
	}
	return next
}
