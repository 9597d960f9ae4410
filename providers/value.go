package providers

import (
	"context"
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sluice/flow/value"
)

// CheckValue returns what is wrong with a value by a JSON Schema, and "" if it is valid. The error says what is wrong with the schema, or
// that validation takes too much work.
func CheckValue(ctx context.Context, schema, v any) (wrong string, err error) {
	f, err := newForm(schema)
	if f == nil || err != nil {
		return "", err
	}
	if !bearable(v) {
		return errHugeNumber.Error(), nil
	}
	err = f.effort.validate(ctx, f.check, value.Plain(v))
	if failure, invalid := errors.AsType[*jsonschema.ValidationError](err); invalid {
		return problems(failure), nil
	}
	return "", err
}
