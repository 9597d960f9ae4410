package providers

import (
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sluice/flow/value"
)

var (
	// fence matches a Markdown code block. Many models write one even if the prompt forbids it.
	fence = regexp.MustCompile("(?s)```[a-zA-Z]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```")

	errNoJSON      = errors.New("it is not JSON")
	errSeveralJSON = errors.New("it has several JSON values, and one is wanted")
)

// The tags around the reasoning that some models write before the answer. Some servers drop the
// first tag, because it is a part of the prompt.
const (
	thinkingBegins = "<think>"
	thinkingEnds   = "</think>"
)

// Limits of the search for an object in prose: how many opening braces are tried as its start,
// and how often the text may be read in total.
const (
	maxBraces = 100
	maxReads  = 8
)

// parse decodes the JSON in an answer, even if the model wrote its reasoning or other text before
// it, or wrapped it in a code block. Text with several values is refused: none of them is
// certainly the answer.
func parse(text string) (any, error) {
	text = strings.TrimSpace(text)
	if v, err := decodeJSON(text); err == nil {
		return v, nil
	}
	if end := strings.LastIndex(text, thinkingEnds); end >= 0 {
		text = strings.TrimSpace(text[end+len(thinkingEnds):])
	} else if strings.HasPrefix(text, thinkingBegins) {
		return nil, errNoJSON // only reasoning
	}
	if v, err := decodeJSON(text); err == nil {
		return v, nil
	}
	var found []string
	for _, block := range fence.FindAllStringSubmatch(text, -1) {
		if json.Valid([]byte(block[1])) {
			found = append(found, block[1])
		}
	}
	if len(found) == 0 {
		found = objectsIn(text)
	}
	switch len(found) {
	case 0:
		return nil, errNoJSON
	case 1:
		return decodeJSON(found[0])
	}
	return nil, errSeveralJSON
}

// decodeJSON decodes one JSON value of a model.
func decodeJSON(text string) (any, error) {
	if text == "" {
		return nil, errNoJSON
	}
	return value.DecodeReceived([]byte(text))
}

// parseArguments decodes the arguments of a call, which may be in a code block. Unlike parse it does
// not search for an object: in truncated arguments it would find an inner one.
func parseArguments(text string) (any, error) {
	text = strings.TrimSpace(text)
	if block := fence.FindStringSubmatch(text); block != nil && block[0] == text {
		text = block[1]
	}
	v, err := value.Decode([]byte(text))
	if e, ok := errors.AsType[*value.SyntaxError](err); ok && e.Code == "duplicate_name" {
		return nil, err
	} else if err == nil {
		return v, nil
	}
	if v, err = decodeJSON(text); err != nil {
		return nil, errNoJSON
	}
	return v, nil
}

// objectsIn returns the JSON objects in prose that are not inside others.
func objectsIn(text string) (list []string) {
	left := maxReads * len(text)
	for range maxBraces {
		start := strings.IndexByte(text, '{')
		if start < 0 || left < 0 {
			break
		}
		text = text[start:]
		end := objectEnd(text)
		if left -= cmp.Or(end, len(text)); end > 0 && json.Valid([]byte(text[:end])) {
			list, text = append(list, text[:end]), text[end:]
		} else {
			text = text[1:]
		}
	}
	if strings.IndexByte(text, '{') >= 0 {
		return nil // too much to tell
	}
	return list
}

// objectEnd returns the position after the brace that closes the one at the start of a text, or
// 0. It skips strings.
func objectEnd(text string) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// dropNulls removes the null members of objects at the places where an answer does not match its
// schema, and reports whether there were any. Strict mode requires all properties, so a model
// writes null for one that is optional; see nullableCopy. Whether a property was required is
// left to the next validation.
func dropNulls(answer any, failure *jsonschema.ValidationError) (dropped bool) {
	if len(failure.Causes) > 0 {
		for _, cause := range failure.Causes {
			dropped = dropNulls(answer, cause) || dropped
		}
		return dropped
	}
	place := failure.InstanceLocation
	if len(place) == 0 {
		return false
	}
	for _, name := range place[:len(place)-1] {
		answer = child(answer, name)
	}
	object, _ := answer.(*value.Object)
	last := place[len(place)-1]
	if v, has := object.Lookup(last); !has || v != nil {
		return false
	}
	object.Delete(last) // the answer was decoded here, so it may be changed
	return true
}

// child returns a member of an object or an item of an array by its name in an instance
// location, or nil.
func child(parent any, name string) any {
	switch parent := parent.(type) {
	case *value.Object:
		return parent.Get(name)
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i < len(parent) {
			return parent[i]
		}
	}
	return nil
}
