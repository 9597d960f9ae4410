package snippets

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
)

// CallOf is a call of a flow that works as it stands: every required input has
// a value, and every other one whose author gave an example. base is the public
// address of the server.
func CallOf(base string, f *flow.Flow, inputs []contract.Input, outputs []document.Output) Call {
	c := Call{BaseURL: base, FlowID: f.ID, FlowName: f.Name, Outputs: outputs}
	for i := range inputs {
		if in := &inputs[i]; in.Required || in.HasExample {
			_, isURL := flow.RemoteFileOf(in.Example)
			c.Inputs = append(c.Inputs, Input{Name: in.Name, Value: sample(in), File: in.Type == flow.TypeFile && !isURL})
		}
	}
	return c
}

// sample is the example of an input if the input takes it, else its default,
// else a value that it should take.
func sample(in *contract.Input) any {
	if _, isURL := flow.RemoteFileOf(in.Example); in.Type == flow.TypeFile && !isURL {
		return fileName(in)
	}
	if in.HasExample && takes(in, in.Example) {
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
		return number(in)
	case flow.TypeBoolean:
		return true
	case flow.TypeList:
		return list(in)
	case flow.TypeMessages:
		return flow.UserMessage("Hello")
	case flow.TypeJSON:
		return map[string]any{"key": "value"}
	}
	return words(in)
}

// takes reports whether an input accepts a value, by the check that the API makes, without
// converting the value.
func takes(in *contract.Input, v any) bool {
	alone := *in
	_, problems := contract.Check([]contract.Input{alone}, map[string]any{in.Name: v}, false)
	return len(problems) == 0
}

// number is 1, or the bound nearest to it.
func number(in *contract.Input) any {
	n := 1.0
	if in.Min != nil {
		n = math.Max(n, *in.Min)
	}
	if in.Max != nil {
		n = math.Min(n, *in.Max)
	}
	return json.Number(strconv.FormatFloat(n, 'f', -1, 64))
}

// most is how long a made-up text or list may become; longer ones are the
// reader's to write.
const most = 4096

// bounds returns a number of characters or items that the input takes: otherwise, or the bound
// nearest to it, at most most.
func bounds(in *contract.Input, otherwise int) int {
	n := otherwise
	if in.Min != nil {
		n = max(n, int(math.Min(*in.Min, most)))
	}
	if in.Max != nil {
		n = min(n, int(math.Min(*in.Max, most)))
	}
	return n
}

// list makes an example of a list: two texts or one file, or as many as the bounds of the
// input demand.
func list(in *contract.Input) any {
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

// words is a text that says whose place it takes.
func words(in *contract.Input) any {
	text := "Your " + strings.NewReplacer("_", " ", "-", " ").Replace(in.Name)
	switch n := bounds(in, len(text)); {
	case n < len(text):
		text = text[:n]
	case n > len(text):
		text += strings.Repeat(".", n-len(text))
	}
	if !takes(in, text) {
		if plain := shaped(in); plain != "" {
			return plain
		}
	}
	return text
}

// shaped is a common text that a pattern takes, "" when none of these is.
func shaped(in *contract.Input) string {
	for _, s := range []string{
		"ada@example.com", "https://example.com", "2026-01-31", "2026-01-31T12:00:00Z", "12:00", "en", "en-GB", "DE", "EUR", "+44 20 7946 0000", "#336699",
		"a", "A", "ab", "AB", "abc", "ABC", "example", "Example", "EXAMPLE", "0", "1", "12", "123", "1234", "12345", "A1", "A-1", "AB-123", "a-b", "1.0", "1.0.0", "00000000-0000-4000-8000-000000000000",
	} {
		if takes(in, s) {
			return s
		}
	}
	return ""
}

// sampleFiles are names by what an input accepts.
var sampleFiles = []struct{ accept, name string }{
	{"image/*", "photo.jpg"}, {"image/jpeg", "photo.jpg"}, {"image/png", "picture.png"}, {"image/", "picture.png"}, {"audio/wav", "audio.wav"}, {"audio/", "audio.mp3"},
	{"video/", "video.mp4"}, {"application/pdf", "document.pdf"}, {"text/csv", "table.csv"}, {"text/html", "page.html"}, {"text/", "notes.txt"},
	{"application/json", "data.json"}, {"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "document.docx"}, {"application/", "document.pdf"},
}

// fileName is an example of a file's name that the input accepts.
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
