package snippets

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/value"
)

// CallOf returns a call of a flow that can be sent unchanged. It has a value for every
// required input and for every optional one with an example. base is the public URL of the
// server.
func CallOf(base string, f *flow.Flow, inputs []contract.Input, outputs []document.Output) Call {
	c := Call{BaseURL: base, FlowID: string(f.ID), FlowName: f.Name, Outputs: outputs}
	for i := range inputs {
		if in := &inputs[i]; in.Required || in.HasExample {
			_, isURL := flow.RemoteFileOf(in.Example)
			c.Inputs = append(c.Inputs, Input{Name: in.Name, Value: sample(in), File: in.Type == flow.TypeFile && !isURL})
		}
	}
	return c
}

// sample returns the example of an input if it is valid, else the default, else a value
// made up from the type and the bounds.
func sample(in *contract.Input) any {
	if _, isURL := flow.RemoteFileOf(in.Example); in.Type == flow.TypeFile && !isURL {
		return fileName(in)
	}
	if in.HasExample && accepts(in, in.Example) {
		return in.Example
	}
	if in.HasDefault {
		return in.Default
	}
	if len(in.Enum) > 0 {
		return in.Enum[0]
	}
	switch in.Type {
	case flow.TypeNumber:
		return sampleNumber(in)
	case flow.TypeBoolean:
		return true
	case flow.TypeList:
		return sampleList(in)
	case flow.TypeMessages:
		return flow.UserMessage("Hello")
	case flow.TypeJSON:
		return map[string]any{"key": "value"}
	}
	return placeholderText(in)
}

// accepts reports whether a value is valid for an input. It runs the same check as the API,
// without conversion.
func accepts(in *contract.Input, v any) bool {
	alone := *in
	_, problems := contract.Check([]contract.Input{alone}, value.NewObject(value.Member{Name: in.Name, Value: v}), false)
	return len(problems) == 0
}

// sampleNumber returns 1, or the bound nearest to it.
func sampleNumber(in *contract.Input) any {
	n := 1.0
	if in.Min != nil {
		n = math.Max(n, *in.Min)
	}
	if in.Max != nil {
		n = math.Min(n, *in.Max)
	}
	return json.Number(strconv.FormatFloat(n, 'f', -1, 64))
}

// maxSampleSize is the maximum length of a made-up text or list. Readers must replace samples
// of inputs with a larger minimum.
const maxSampleSize = 4096

// bounds returns a valid number of characters or items for an input: otherwise, or the bound
// nearest to it. Bounds above maxSampleSize count as maxSampleSize.
func bounds(in *contract.Input, otherwise int) int {
	n := otherwise
	if in.Min != nil {
		n = max(n, int(math.Min(*in.Min, maxSampleSize)))
	}
	if in.Max != nil {
		n = min(n, int(math.Min(*in.Max, maxSampleSize)))
	}
	return n
}

// sampleList returns two texts or one file, or the nearest number within the bounds.
func sampleList(in *contract.Input) any {
	items := []any{}
	if in.TakesFiles() {
		for range bounds(in, 1) {
			items = append(items, "https://example.com/"+fileName(in))
		}
		return items
	}
	for range bounds(in, 2) {
		items = append(items, "item "+strconv.Itoa(len(items)+1))
	}
	return items
}

// placeholderText returns "Your " and the name of the input, cut or padded to its bounds. If
// the input has a pattern that rejects it, it returns a common text that matches.
func placeholderText(in *contract.Input) any {
	text := "Your " + strings.NewReplacer("_", " ", "-", " ").Replace(in.Name)
	switch n := bounds(in, len(text)); {
	case n < len(text):
		text = text[:n]
	case n > len(text):
		text += strings.Repeat(".", n-len(text))
	}
	if !accepts(in, text) {
		if plain := commonText(in); plain != "" {
			return plain
		}
	}
	return text
}

// commonText returns a common text that matches the pattern of an input, or "".
func commonText(in *contract.Input) string {
	for _, s := range []string{
		"ada@example.com", "https://example.com", "2026-01-31", "2026-01-31T12:00:00Z", "12:00", "en", "en-GB", "DE", "EUR", "+44 20 7946 0000", "#336699",
		"a", "A", "ab", "AB", "abc", "ABC", "example", "Example", "EXAMPLE", "0", "1", "12", "123", "1234", "12345", "A1", "A-1", "AB-123", "a-b", "1.0", "1.0.0", "00000000-0000-4000-8000-000000000000",
	} {
		if accepts(in, s) {
			return s
		}
	}
	return ""
}

// sampleFiles has file names by accepted media type or prefix of one.
var sampleFiles = []struct{ accept, name string }{
	{"image/*", "photo.jpg"}, {"image/jpeg", "photo.jpg"}, {"image/png", "picture.png"}, {"image/", "picture.png"}, {"audio/wav", "audio.wav"}, {"audio/", "audio.mp3"},
	{"video/", "video.mp4"}, {"application/pdf", "document.pdf"}, {"text/csv", "table.csv"}, {"text/html", "page.html"}, {"text/", "notes.txt"},
	{"application/json", "data.json"}, {"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "document.docx"}, {"application/", "document.pdf"},
}

// fileName returns the name of a sample file with a type that the input accepts.
func fileName(in *contract.Input) string {
	for _, a := range in.Accept {
		if strings.HasPrefix(a, ".") {
			return "file" + strings.ToLower(a)
		}
		for _, s := range sampleFiles {
			if strings.HasPrefix(strings.ToLower(a), s.accept) {
				return s.name
			}
		}
	}
	return "file.txt"
}
