package expression

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"cel.dev/cel-go/common"

	"sluice/flow"
	"sluice/flow/wording"
	"sluice/nodes/errtext"
)

// patternError is the reason why a regular expression cannot be used, as a
// clause without a full stop.
type patternError string

// Error returns the clause.
func (e patternError) Error() string { return string(e) }

// syntaxError converts the compiler's first message to an error; later messages
// often result from the first.
func syntaxError(source string, issues []*common.Error) error {
	if hint := hintFor(source); hint != "" {
		return flow.Errorf(flow.CodeExpressionFailed, "%s", hint)
	}
	first := issues[0]
	at := ""
	if line, column := first.Location.Line(), first.Location.Column(); line > 1 {
		at = fmt.Sprintf(" at line %d, column %d", line, column+1)
	} else if line == 1 {
		at = fmt.Sprintf(" at column %d", column+1)
	}
	why := translate(syntaxMessages, first.Message)
	if why == "" {
		return flow.Errorf(flow.CodeExpressionFailed, "Syntax error%s. Check the spelling, quotes and brackets there.", at)
	}
	return flow.Errorf(flow.CodeExpressionFailed, "Syntax error%s: %s.", at, why)
}

// habit is a spelling from another language, with the correct one.
type habit struct {
	pattern *regexp.Regexp
	correct string // with $1 and so on for the groups of the pattern
}

// habits are the spellings that people try first. The first group of a pattern is the word at fault.
var habits = []habit{
	{regexp.MustCompile(`(?P<path>[A-Za-z_][\w.]*)\s+(?P<word>contains|startsWith|endsWith|matches)\s*\(?\s*(?P<value>"[^"]*"|'[^']*')`), "$path.$word($value)"},
	{regexp.MustCompile(`(?P<path>[A-Za-z_][\w.]*)\s+(?P<word>is not|is)\s+(?P<value>"[^"]*"|'[^']*'|-?[\d.]+|true|false|null)`), ""},
	{regexp.MustCompile(`(?P<path>[A-Za-z_][\w.]*)\s*(?P<word>===?|<>|=)\s*(?P<value>"[^"]*"|'[^']*'|-?[\d.]+|true|false|null)`), ""},
	{regexp.MustCompile(`(?i)\b(?P<word>and|or)\b`), ""},
}

// spellings are the operators for words and signs of other languages.
var spellings = map[string]string{"is": "==", "is not": "!=", "=": "==", "===": "==", "<>": "!="}

// hintFor returns what to write instead of a spelling from another language, or "".
func hintFor(source string) string {
	bare := quoted.ReplaceAllString(source, `""`) // words inside of texts are no mistake
	for _, h := range habits {
		if !h.pattern.MatchString(bare) {
			continue
		}
		m := h.pattern.FindStringSubmatchIndex(source)
		if m == nil {
			continue
		}
		part := func(name string) string { return string(h.pattern.ExpandString(nil, "${"+name+"}", source, m)) }
		word := part("word")
		try := string(h.pattern.ExpandString(nil, h.correct, source, m))
		switch lower := strings.ToLower(word); {
		case word == "==":
			continue
		case lower == "and":
			try = "&&"
		case lower == "or":
			try = "||"
		case try == "":
			try = part("path") + " " + spellings[word] + " " + part("value")
		}
		return fmt.Sprintf("Syntax error at %q. Try %s.", word, try)
	}
	return ""
}

// quoted matches texts in an expression.
var quoted = regexp.MustCompile(`"[^"]*"|'[^']*'`)

// evalError converts an evaluation error to an error that explains how
// to change the expression.
func evalError(err error, value any) error {
	message := err.Error()
	if errors.Is(err, errTooCostly) || strings.Contains(message, "limit exceeded") {
		return flow.Errorf(flow.CodeExpressionFailed,
			"The expression exceeds the limit of CPU time. Make it simpler or give it a smaller value.")
	}
	if e, ok := errors.AsType[patternError](err); ok {
		return flow.Errorf(flow.CodeExpressionFailed, "The expression could not be computed: %s.", string(e))
	}
	why := translate(evalMessages, message)
	switch {
	case why == "":
		return flow.Errorf(flow.CodeExpressionFailed,
			"The expression could not be computed for this value, which is %s. Check that it fits the value, for example with has(value.name).", errtext.Type(value))
	case strings.HasPrefix(message, "no such"):
		err := flow.Errorf(flow.CodeExpressionFailed, "The expression does not fit the value, which is %s: %s.", errtext.Type(value), why)
		if strings.HasPrefix(message, "no such key") {
			return missingName{err}
		}
		return err
	}
	return flow.Errorf(flow.CodeExpressionFailed, "The expression could not be computed: %s.", why)
}

// missingName is the error for a name that an object does not have.
type missingName struct{ error }

// Unwrap returns the flow.Error.
func (m missingName) Unwrap() error { return m.error }

// IsMissingName reports whether an evaluation failed because an object does not have a name.
func IsMissingName(err error) bool {
	_, ok := errors.AsType[missingName](err)
	return ok
}

// translation translates one of CEL's messages. $1 and $2 in words are replaced by
// groups of the pattern, $type1 and $type2 by the names of the types in them.
type translation struct {
	pattern *regexp.Regexp
	words   string
}

// when returns a translation. Its pattern is anchored at the start of the message.
func when(pattern, words string) translation {
	return translation{regexp.MustCompile(`(?s)^` + pattern), words}
}

// translate translates a message of CEL, or returns "" for an unknown one.
// Untranslated messages are never shown, because they use Go and protobuf
// terms.
func translate(known []translation, message string) string {
	message = strings.TrimPrefix(message, "Syntax error: ")
	for _, k := range known {
		m := k.pattern.FindStringSubmatch(message)
		if m == nil {
			continue
		}
		out := k.words
		for i, group := range m[1:] {
			if group == "<EOF>" {
				out = strings.ReplaceAll(out, fmt.Sprintf("'$%d'", i+1), "the end")
			}
			if strings.Contains(out, fmt.Sprintf("$type%d", i+1)) {
				out = strings.ReplaceAll(out, fmt.Sprintf("$type%d", i+1), typeNames(group))
			}
			out = strings.ReplaceAll(out, fmt.Sprintf("$%d", i+1), wording.Truncate(wording.OneLine(group), 60))
		}
		return out
	}
	return ""
}

// syntaxMessages translates messages of the parser and the type checker. The
// first match wins, so special cases come before general ones.
var syntaxMessages = []translation{
	when(`token recognition error at: '(=[^=].*|=)'`, "not understood: '$1'; two equals signs compare"),
	when(`token recognition error at: '(.+)'`, "not understood: '$1'"),
	when(`(?:mismatched|extraneous) input '(.+?)'(?: expecting .*)?$`, "unexpected '$1'"),
	when(`missing '(.+?)' at '(.+?)'$`, "missing '$1' at '$2'"),
	when(`no viable alternative at input '(.+)'$`, "it breaks off after '$1', or something is missing there"),
	when(`undeclared reference to '([^']*)'`, "'$1' is not known; what arrives at the node is called value, and text is written in quotes"),
	when(`found no matching overload for '_?@?_?(?:\[_?\]|\[)[^']*' applied to '\(?([^']*?)\)?'$`, "[ ] does not fit $type1"),
	when(`found no matching overload for '[_@]*([^']+?)_?' applied to '([^'.(]*)\.\(\)'$`, "$1() does not fit $type2"),
	when(`found no matching overload for '[_@]*([^']+?)_?' applied to '(?:[^'.(]*\.)?\(?([^']*?)\)?'$`, "$1 does not fit $type2"),
	when(`expression of type '([^']*)' cannot be range`, "all(), exists(), map() and filter() need a list or an object, not $type1"),
	when(`type '([^']*)' does not support field selection`, "$type1 has no fields"),
	when(`expected type '([^']*)' but found '([^']*)'`, "wanted $type1, got $type2"),
	when(`undefined field '([^']*)'`, "there is no field '$1'"),
	when(`reserved identifier: (\S+)`, "'$1' is a reserved word"),
	when(`'([^']*)' is not a (?:message )?type`, "'$1' is not a type"),
	when(`invalid (?:int|uint|double) literal`, "this is not a number, or it is too large"),
	when(`(?:unable to unescape|invalid .*escape|unescape)`, `the text has an invalid escape; write a backslash as \\`),
	when(`argument (?:is not an identifier|must be a simple name)`, "the first argument must be a name, as in value.all(item, item > 0)"),
	when(`iteration variable overwrites`, "this name cannot be used; choose another"),
	when(`invalid argument to has\(\)`, "has() needs a field, as in has(value.name)"),
	when(`expression (?:recursion limit|node count|count exceeds)|max recursion depth`, "it is nested too deeply or has too many parts"),
	when(`expression code point size`, fmt.Sprintf("it has more than %d characters", maxLength)),
	when(`unsupported syntax '([^']*)'`, "'$1' is not supported"),
}

// evalMessages translates messages of the evaluation.
var evalMessages = []translation{
	when(`no such key: (.*)$`, "no such key: $1; where a name may be missing, ask has(value.name) first"),
	when(`no such (?:field|attribute)`, "a field is missing; where a name may be missing, ask has(value.name) first"),
	when(`no such overload`, "its parts do not fit each other; text is written in quotes, and double(value) fits a number with decimals"),
	when(`(?:division|modulus) by zero`, "division by zero"),
	when(`.*overflow|.*range error`, "a number or time is too large"),
	when(`index '?(-?\d+)'? out of range in list size '(\d+)'`, "there is no item $1 in a list of $2, whose first item is 0"),
	when(`(?:index out of (?:bounds|range)|invalid_argument: index).*?(-?\d+)`, "there is no item $1 in the list, whose first item is 0"),
	when(`unsupported index`, "an item of a list is named by a whole number; the first is 0"),
	when(`(?:unsupported )?type conversion error from '?([^' ]*)'? to '?([^' ]*)'?`, "$type1 cannot be made $type2"),
	when(`NaN values cannot be ordered`, "a value that is not a number cannot be compared"),
	when(`(?:invalid|unsupported).*timestamp`, "a date and time is written as in 2026-01-31T12:00:00Z"),
	when(`unknown time zone|timezone|strconv\.\w+: parsing`, "the time zone is not known; write one such as Europe/Berlin or +02:00"),
	when(`insert failed: key|Failed with repeated key`, "a key occurs twice in an object"),
	when(`invalid UTF-8`, "the bytes are not text"),
}

// typeNames translates a list of CEL types such as (string, list(int)).
func typeNames(list string) string {
	depth, start := 0, 0
	var words []string
	add := func(name string) {
		if name = strings.TrimSpace(name); name != "" {
			words = append(words, typeName(name))
		}
	}
	for i, r := range list {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			add(list[start:i])
			start = i + 1
		}
	}
	add(list[start:])
	if len(words) == 0 {
		return "this"
	}
	return strings.Join(words, " and ")
}

// typeName translates a CEL type.
func typeName(name string) string {
	name, _, _ = strings.Cut(name, "(")
	switch strings.ToLower(name) {
	case "int", "uint", "double":
		return "a number"
	case "string":
		return "text"
	case "bool":
		return "true or false"
	case "bytes":
		return "bytes"
	case "list":
		return "a list"
	case "map":
		return "an object"
	case "null", "null_type":
		return "null"
	case "timestamp", "google.protobuf.timestamp":
		return "a time"
	case "duration", "google.protobuf.duration":
		return "a duration"
	case "type":
		return "a type"
	}
	return "another value"
}
