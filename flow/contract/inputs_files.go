package contract

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/media"
	"sluice/flow/value"
)

// acceptPattern matches a media type, whose subtype may be *, or a file extension.
var acceptPattern = regexp.MustCompile(`(?i)^([a-z]+/(\*|[a-z0-9.+_-]+)|\*/\*|\.[a-z0-9]{1,10})$`)

// Accepts reports whether the input takes the file.
func (in *Input) Accepts(f *flow.File) bool {
	accepted := in.AcceptedFiles()
	for _, a := range accepted {
		family, all := strings.CutSuffix(strings.ToLower(a), "*")
		switch {
		case a == "*/*", strings.HasPrefix(a, ".") && strings.EqualFold(a, path.Ext(f.Name)),
			all && strings.HasPrefix(f.MIME, family), strings.EqualFold(a, f.MIME):
			return true
		}
	}
	return len(accepted) == 0
}

// AcceptedFiles returns the media types and extensions of the files that the input
// accepts; empty means all.
func (in *Input) AcceptedFiles() []string {
	if len(in.Accept) == 0 && in.Type == flow.TypeMessages {
		return []string{"image/*"}
	}
	return in.Accept
}

// NotAccepted returns the problem of a file that the input does not accept.
func (in *Input) NotAccepted(f *flow.File) flow.Problem {
	return flow.Problem{
		Pointer: flow.Pointer(in.Name), Code: "not_allowed", Node: in.Node,
		Detail: fmt.Sprintf("%q accepts %s, got %q, which is %s", in.Name, flow.InputNames(in.AcceptedFiles()), f.Name, f.MIME),
	}
}

// NoFile returns the problem of a value that refers to a missing file. A file of another
// workspace is reported as missing too.
func (in *Input) NoFile(v any) flow.Problem {
	name := "it refers to"
	if value.IsObject(v) {
		name = fmt.Sprintf("%.64s", flow.Text(value.Get(v, "file")))
	}
	return flow.Problem{
		Pointer: flow.Pointer(in.Name), Code: "not_found", Node: in.Node,
		Detail: fmt.Sprintf("the file %s does not exist; upload it with POST /v1/files", name),
	}
}

// TakesFiles reports whether the values of the input are, or contain, files.
func (in *Input) TakesFiles() bool {
	return in.Type == flow.TypeFile || in.Items == flow.TypeFile || in.Type == flow.TypeMessages && in.Images
}

// MapFiles returns a copy of the input's value with every file in it replaced by the
// result of f: the value itself, the items of a list, or the images of a conversation. f
// also gets the index of the file among them. For other inputs it returns v, so that a URL
// in a text remains a text.
func (in *Input) MapFiles(v any, f func(place int, file any) any) any {
	list, isList := v.([]any)
	switch {
	case !in.TakesFiles(), in.Type == flow.TypeMessages && !isList:
		return v
	case in.Type == flow.TypeMessages:
		return mapPictures(list, f)
	case !isList:
		return f(0, v)
	}
	list = slices.Clone(list)
	for i := range list {
		list[i] = f(i, list[i])
	}
	return list
}

// RemoteFiles returns the files of a value that a step must fetch, by their index as in
// MapFiles.
func (in *Input) RemoteFiles(v any) map[int]flow.RemoteFile {
	var files map[int]flow.RemoteFile
	in.MapFiles(v, func(place int, item any) any {
		if f, ok := flow.RemoteFileOf(item); ok {
			if files == nil {
				files = map[int]flow.RemoteFile{}
			}
			files[place] = f
		}
		return item
	})
	return files
}

// ShownFiles returns a value of the input as it is shown and stored in records: with
// RemoteFile.Shown in place of URLs.
func (in *Input) ShownFiles(v any) any {
	return in.MapFiles(v, func(_ int, file any) any { return flow.ShownFile(file) })
}

// checkFiles returns the first problem of file values, without looking files up. It
// checks the type of a data URL's content. The type of a remote file is checked when it
// has been fetched.
func (in *Input) checkFiles(values []any) []flow.Problem {
	fail := func(code, format string, args ...any) []flow.Problem {
		return []flow.Problem{{Pointer: flow.Pointer(in.Name), Code: code, Detail: fmt.Sprintf(format, args...), Node: in.Node}}
	}
	for _, v := range values {
		remote, isRemote := flow.RemoteFileOf(v)
		_, isFile := flow.FileID(v)
		switch {
		case isFile:
		case isRemote && remote.IsData():
			content, mediaType, err := remote.Data()
			if err != nil {
				return fail("invalid_url", "%s", strings.TrimSuffix(flow.AsError(err).Message, "."))
			}
			f := &flow.File{MIME: media.Type(mediaType, content)}
			if f.Name = media.FileName(remote.Name, f.MIME); !in.Accepts(f) {
				return []flow.Problem{in.NotAccepted(f)}
			}
		case isRemote:
		case flow.TypeOf(v) == string(flow.TypeFile):
			return []flow.Problem{in.NoFile(v)}
		case flow.TypeOf(v) == string(flow.TypeText):
			code := "wrong_type"
			if strings.Contains(flow.Text(v), "://") {
				code = "invalid_url"
			}
			return fail(code, "wanted a URL that begins with https:// or data:, or a file such as {\"file\": \"file_…\"}")
		default:
			return fail("wrong_type", `wanted a file such as {"file": "file_…"}, as POST /v1/files gives it, or its URL, got %s`, flow.TypeOf(v))
		}
	}
	return nil
}

// describeFile adds the forms of a file value to a JSON Schema: a stored file, a URL, or an
// object with a URL. JSON Schema has no keyword for a list of accepted types, so that is
// x-accept; a single type is also the contentMediaType.
func (in *Input) describeFile(s map[string]any) {
	id := map[string]any{"type": "string", "pattern": flow.FileIDPattern}
	address := map[string]any{"type": "string", "format": "uri", "pattern": "^([hH][tT][tT][pP][sS]?|[dD][aA][tT][aA]):"}
	s["oneOf"] = []any{
		map[string]any{"type": "object", "properties": map[string]any{"file": id}, "required": []any{"file"}},
		address,
		map[string]any{"type": "object", "properties": map[string]any{"url": address, "name": map[string]any{"type": "string"}}, "required": []any{"url"}, "additionalProperties": false},
	}
	if len(in.Accept) > 0 {
		s["x-accept"] = in.Accept
	}
	if len(in.Accept) == 1 && !strings.ContainsAny(in.Accept[0], "*") && !strings.HasPrefix(in.Accept[0], ".") {
		s["contentMediaType"] = in.Accept[0]
	}
}

// acceptSentence lists the accepted file types for the description of an input. It is
// empty if the input accepts all.
func (in *Input) acceptSentence() string {
	if len(in.Accept) == 0 {
		return ""
	}
	return "Accepts " + flow.InputNames(in.Accept) + "."
}

// textsIn returns the texts in a list and skips everything else.
func textsIn(v any) (texts []string) {
	list, _ := v.([]any)
	for _, item := range list {
		if s, ok := item.(string); ok {
			texts = append(texts, s)
		}
	}
	return texts
}
