package flow

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// acceptable is a media type, whose second part may be *, or an ending of
// names.
var acceptable = regexp.MustCompile(`(?i)^([a-z]+/(\*|[a-z0-9.+_-]+)|\*/\*|\.[a-z0-9]{1,10})$`)

// Accepts reports whether the input takes the file.
func (in *Input) Accepts(f *File) bool {
	for _, a := range in.Accept {
		family, all := strings.CutSuffix(strings.ToLower(a), "*")
		switch {
		case a == "*/*", strings.HasPrefix(a, ".") && strings.EqualFold(a, path.Ext(f.Name)),
			all && strings.HasPrefix(f.MIME, family), strings.EqualFold(a, f.MIME):
			return true
		}
	}
	return len(in.Accept) == 0
}

// NotAccepted is the problem of a file that the input does not take.
func (in *Input) NotAccepted(f *File) Problem {
	return Problem{
		Pointer: Pointer(in.Name), Code: "not_allowed", Node: in.Node,
		Detail: fmt.Sprintf("%q accepts %s, got %q, which is %s", in.Name, InputNames(in.Accept), f.Name, f.MIME),
	}
}

// NoFile is the problem of a value that refers to a file which is not there,
// also because it is another's.
func (in *Input) NoFile(v any) Problem {
	name := "it refers to"
	if m, ok := v.(map[string]any); ok {
		name = fmt.Sprintf("%.64s", Text(m["file"]))
	}
	return Problem{
		Pointer: Pointer(in.Name), Code: "not_found", Node: in.Node,
		Detail: fmt.Sprintf("the file %s does not exist; upload it with POST /v1/files", name),
	}
}

// describeFile says in a JSON Schema what a file value is. What is accepted is
// a list, for which JSON Schema has no word; a single type is its
// contentMediaType.
func (in *Input) describeFile(s map[string]any) {
	id := map[string]any{"type": "string", "pattern": fileID.String()}
	s["properties"], s["required"] = map[string]any{"file": id}, []string{"file"}
	if len(in.Accept) > 0 {
		s["x-accept"] = in.Accept
	}
	if len(in.Accept) == 1 && !strings.ContainsAny(in.Accept[0], "*") && !strings.HasPrefix(in.Accept[0], ".") {
		s["contentMediaType"] = in.Accept[0]
	}
}

func (in *Input) acceptSentence() string {
	if len(in.Accept) == 0 {
		return ""
	}
	return "Accepts " + InputNames(in.Accept) + "."
}

// textsOf is what a list holds of texts.
func textsOf(v any) (texts []string) {
	list, _ := v.([]any)
	for _, item := range list {
		if s, ok := item.(string); ok {
			texts = append(texts, s)
		}
	}
	return texts
}
