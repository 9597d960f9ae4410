package nodes

import (
	"context"
	"errors"
	"unicode/utf8"

	"sluice/flow"
	"sluice/providers/builtin"
)

// builtinNote is part of the documentation of every kind that uses the built-in model, so
// that users do not expect a language model.
const builtinNote = "This uses the small built-in model: it needs no key and no network, selects and scores English text, and does not generate any. "

// modelText returns the text in a field, or an error if it exceeds the built-in
// model's limit.
func modelText(in *flow.In, name string) (string, error) {
	s := in.Text(name)
	if n := utf8.RuneCountInString(s); n > builtin.MaxText {
		return "", flow.Errorf(flow.CodeInputInvalid,
			"%q has %d characters; the built-in model reads at most %d. Shorten or split it.", name, n, builtin.MaxText)
	}
	return s, nil
}

// modelTexts is modelText for several fields.
func modelTexts(in *flow.In, names ...string) ([]string, error) {
	texts := make([]string, len(names))
	for i, name := range names {
		var err error
		if texts[i], err = modelText(in, name); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// modelError converts an error of the built-in model. Errors other than the
// context's and those of the input are internal.
func modelError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, builtin.ErrTooLong):
		return flow.Errorf(flow.CodeInputInvalid, "The texts are too long for the built-in model: the limit is %d characters in total. Shorten or split them.", builtin.MaxBatch)
	case errors.Is(err, builtin.ErrCount):
		return flow.Errorf(flow.CodeInputInvalid, "The number of results is out of range. Ask for at least one.")
	}
	return err
}
