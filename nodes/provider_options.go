package nodes

import (
	"math"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/wording"
)

// optionalNumber returns a number, or nil if the field is empty. Fields are validated again
// when a step runs, because values from edges have not been validated before.
func optionalNumber(in *flow.In, name string, low, high float64) (*float64, error) {
	value := in.Config[name]
	if value == nil {
		return nil, nil
	}
	f, ok := flow.Float(value)
	if !ok || !(f >= low && f <= high) {
		return nil, flow.Errorf(flow.CodeInputInvalid, "%q must be a number from %g to %g, got %s.", name, low, high, wording.Truncate(flow.Text(value), 40))
	}
	return &f, nil
}

// optionalCount returns a positive integer, or 0 if the field is empty.
func optionalCount(in *flow.In, name string) (int, error) {
	if in.Config[name] == nil {
		return 0, nil
	}
	return wholeNumber(in, name, 1, math.MaxInt32)
}

// optionalChoice returns one of the options, or "" if the field is empty.
func optionalChoice(in *flow.In, name string, options []string) (string, error) {
	value := strings.TrimSpace(in.Text(name))
	if value != "" && !slices.Contains(options, value) {
		return "", flow.Errorf(flow.CodeInputInvalid, "%q must be one of %s, got %s.", name, strings.Join(options, ", "), wording.Truncate(value, 40))
	}
	return value, nil
}

// requiredText returns a text that must not be blank.
func requiredText(in *flow.In, name string) (string, error) {
	text := in.Text(name)
	if strings.TrimSpace(text) == "" {
		return "", flow.Errorf(flow.CodeInputInvalid, "%q is empty.", name)
	}
	return text, nil
}

// blank reports whether a text is empty or only white space.
func blank(s string) bool { return strings.TrimSpace(s) == "" }
