package providers

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// form is a JSON Schema prepared for requesting and validating answers. It is not safe for
// concurrent use.
type form struct {
	schema map[string]any
	text   string // as JSON
	object bool   // describes an object, which the schema modes of providers require
	strict map[string]any
	check  *jsonschema.Schema
	effort effort
}

// prompt returns instructions with the schema for a model without a schema mode.
func (f *form) prompt() string {
	return "Answer with one JSON value that is valid by this JSON Schema, and with nothing else: no explanation, no code fence.\n\n" + f.text
}

var (
	// fence matches JSON in a Markdown code block, and thinking the reasoning that some
	// models write before the answer. Many models add them even if the prompt forbids it.
	fence    = regexp.MustCompile("(?s)```[a-zA-Z]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```")
	thinking = regexp.MustCompile(`(?s)^\s*<think>.*?</think>`)
)

// read parses and validates an answer. wrong describes the problem and its position; it is
// "" for a valid answer. If validation could not finish, the error is errEffort or the
// context's.
func (f *form) read(ctx context.Context, text string) (value any, wrong string, err error) {
	value, err = parse(text)
	if err != nil {
		return nil, "it is not JSON", nil
	}
	if !bearable(value) {
		return nil, errHugeNumber.Error(), nil
	}
	err = f.effort.validate(ctx, f.check, value)
	if e, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return nil, problems(e), nil
	}
	if err != nil {
		return nil, "", err
	}
	return value, "", nil
}

// parse decodes the JSON in an answer, even if the model wrapped it in a code fence or
// wrote its reasoning before it.
func parse(text string) (any, error) {
	text = strings.TrimSpace(thinking.ReplaceAllString(text, ""))
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		return value, nil
	}
	if m := fence.FindStringSubmatch(text); m != nil {
		return jsonschema.UnmarshalJSON(strings.NewReader(m[1]))
	}
	return nil, err
}
