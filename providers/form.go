package providers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// maxSchema is in bytes of JSON; providers refuse far smaller ones.
const maxSchema = 64 << 10

// form is a JSON Schema made ready to ask and to check by.
type form struct {
	schema map[string]any
	text   string // as JSON
	object bool   // it describes an object, as providers' own ways demand
	strict map[string]any
	check  *jsonschema.Schema
}

// noLoader keeps a schema from naming files and addresses to be read.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s, and other documents are not read", url)
}

// newForm reads a schema; an empty one asks for nothing and gives nil.
func newForm(schema map[string]any) (*form, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, badRequest("The schema of the answer cannot be written as JSON.")
	}
	if len(data) > maxSchema {
		return nil, badRequest("The schema of the answer is larger than %d KiB.", maxSchema>>10)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, badRequest("The schema of the answer cannot be read.")
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource("schema:answer", doc); err != nil {
		return nil, badRequest("The schema of the answer cannot be read.")
	}
	check, err := compiler.Compile("schema:answer")
	if err != nil {
		return nil, badRequest("The schema of the answer is not a JSON Schema: %s", sentenceEnd(schemaProblem(err)))
	}
	f := &form{schema: schema, text: string(data), object: schema["type"] == "object", check: check}
	f.strict, _ = strictSchema(schema)
	return f, nil
}

// schemaProblem says where a schema is wrong, without the library's own frame.
func schemaProblem(err error) string {
	if e, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if inner, ok := errors.AsType[*jsonschema.ValidationError](e.Err); ok {
			return problems(inner)
		}
	}
	if e, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return clean(e.Err.Error())
	}
	return clean(err.Error())
}

// prompt tells a model the schema in words.
func (f *form) prompt() string {
	return "Answer with one JSON value that is valid by this JSON Schema, and with nothing else: no explanation, no code fence.\n\n" + f.text
}

var (
	fence    = regexp.MustCompile("(?s)```[a-zA-Z]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```")
	thinking = regexp.MustCompile(`(?s)^\s*<think>.*?</think>`)
)

// read parses an answer and checks it. wrong is empty when all is well, else it
// says what is wrong and where.
func (f *form) read(text string) (value any, wrong string) {
	value, err := parse(text)
	if err != nil {
		return nil, "it is not JSON"
	}
	if err := f.check.Validate(value); err != nil {
		if e, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
			return nil, problems(e)
		}
		return nil, clean(err.Error())
	}
	return value, ""
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

var english = message.NewPrinter(language.English)

// problems names the first three things that are wrong, each with its place.
func problems(e *jsonschema.ValidationError) string {
	var out []string
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) > 0 {
			for _, cause := range e.Causes {
				walk(cause)
			}
			return
		}
		place := "at the top"
		if len(e.InstanceLocation) > 0 {
			place = "at /" + strings.Join(e.InstanceLocation, "/")
		}
		out = append(out, place+": "+clean(e.ErrorKind.LocalizedString(english)))
	}
	walk(e)
	return strings.Join(out[:min(len(out), 3)], "; ")
}
