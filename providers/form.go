package providers

import (
	"cmp"
	"context"
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sluice/flow/value"
)

// form is a JSON Schema prepared for requesting and validating answers. It is not safe for
// concurrent use.
type form struct {
	schema *value.Object
	text   string // as JSON
	object bool   // describes an object, which the schema modes of providers require
	strict *value.Object
	check  *jsonschema.Schema
	effort validationBudget
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
	return f.accept(ctx, answer)
}

// accept validates a decoded answer; see read.
func (f *form) accept(ctx context.Context, answer any) (_ any, wrong string, err error) {
	if !bearable(answer) {
		return nil, errHugeNumber.Error(), nil
	}
	for range maxNullRounds {
		err = f.effort.validate(ctx, f.check, value.Plain(answer))
		if err == nil {
			return answer, "", nil
		}
		failure, invalid := errors.AsType[*jsonschema.ValidationError](err)
		if !invalid {
			return nil, "", err
		}
		wrong = cmp.Or(wrong, problems(failure)) // of the answer as it came
		if !dropNulls(answer, failure) {
			break
		}
	}
	return nil, wrong, nil
}
