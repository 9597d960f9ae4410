package providers

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// form is a JSON Schema made ready to ask and to check by, one answer at a time.
type form struct {
	schema map[string]any
	text   string // as JSON
	object bool   // it describes an object, as providers' own ways demand
	strict map[string]any
	check  *jsonschema.Schema
	effort effort
}

// prompt tells a model the schema in words.
func (f *form) prompt() string {
	return "Answer with one JSON value that is valid by this JSON Schema, and with nothing else: no explanation, no code fence.\n\n" + f.text
}

var (
	// fence matches JSON in a Markdown code block, and thinking the reasoning that some
	// models write before the answer. Many models add them even if the prompt forbids it.
	fence    = regexp.MustCompile("(?s)```[a-zA-Z]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```")
	thinking = regexp.MustCompile(`(?s)^\s*<think>.*?</think>`)
)

// read parses an answer and checks it. wrong is empty when all is well, else it
// says what is wrong and where. The error says that it cannot be known: it is
// errEffort or the context's.
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

// parse reads the JSON of an answer, also when the model put it into a fence or
// thought aloud before it, as many do against their orders.
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
