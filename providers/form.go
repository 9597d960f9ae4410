package providers

import (
	"context"
	"errors"
	"sluice/flow/value"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// form is a JSON Schema prepared for requesting and validating answers. It is not safe for
// concurrent use.
type form struct {
	schema *value.Object
	text   string // as JSON
	object bool   // describes an object, which the schema modes of providers require
	strict *value.Object
	check  *jsonschema.Schema
	effort effort
}

// prompt returns instructions with the schema for a model without a schema mode.
func (f *form) prompt() string {
	return "Answer with one JSON value that is valid by this JSON Schema, and with nothing else: no explanation, no code fence.\n\n" + f.text
}

// maxNullRounds bounds how often an answer is validated again without some of its nulls.
const maxNullRounds = 5

// read parses and validates an answer. wrong describes the problem and its position; it is
// "" for a valid answer. Nulls of optional properties are dropped. If validation could not
// finish, the error is errEffort or the context's.
func (f *form) read(ctx context.Context, text string) (answer any, wrong string, err error) {
	answer, err = parse(text)
	if err != nil {
		return nil, err.Error(), nil
	}
	if !bearable(answer) {
		return nil, errHugeNumber.Error(), nil
	}
	for range maxNullRounds {
		err = f.effort.validate(ctx, f.check, value.Plain(answer))
		failure, invalid := errors.AsType[*jsonschema.ValidationError](err)
		if !invalid {
			break
		}
		if wrong == "" {
			wrong = problems(failure)
		}
		if !dropNulls(answer, failure) {
			return nil, wrong, nil
		}
	}
	switch _, invalid := errors.AsType[*jsonschema.ValidationError](err); {
	case invalid:
		return nil, wrong, nil
	case err != nil:
		return nil, "", err
	}
	return answer, "", nil
}
