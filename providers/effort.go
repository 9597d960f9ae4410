package providers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sluice/flow/pattern"
	"sluice/flow/value"
)

// Limits of the work for validating one answer. It depends on the schema and the answer
// together: a schema that refers to itself twice doubles the work with each level of the
// answer.
const (
	maxEffort  = 1_000_000 // schemas applied to values: about a second, and at most 200 MiB of error details
	maxPattern = 1000      // bytes
	maxProgram = 5000      // instructions of a pattern, with repetitions expanded
	// patternSteps is the number of pattern steps that cost as much as applying a schema.
	patternSteps = 20
	// maxPatterns bounds the work for compiling all patterns of a schema, in units of
	// about 1 µs.
	maxPatterns = 100_000
	// maxExponent is far beyond the range of floating point. Larger exponents would turn a
	// few bytes into numbers of a million digits.
	maxExponent = 1000
)

var (
	// errEffort and errHugeNumber end the validation of an answer that would cost too
	// much. A schema comes from a user and an answer from a model, so either may be built
	// to be slow.
	errEffort     = errors.New("checking takes too long")
	errHugeNumber = errors.New("it has a number with more than 1,000 digits before or behind its point")
)

// validationBudget is the remaining budget for validating one answer. The library does not support
// contexts, so checks report to it, and it aborts them by a panic that validate recovers.
type validationBudget struct {
	ctx      context.Context //nolint:containedctx // set while validate runs
	left     int
	patterns int // work spent on compiling patterns, of maxPatterns
}

// gaveUp is the panic value of an aborted check.
type gaveUp struct{ err error }

// validate validates a value within the limits. The error is the context's, errEffort or
// the library's.
func (e *validationBudget) validate(ctx context.Context, check *jsonschema.Schema, value any) (err error) {
	e.ctx, e.left = ctx, maxEffort
	defer func() {
		e.ctx = nil
		switch caught := recover().(type) {
		case nil:
		case gaveUp:
			err = caught.err
		default:
			panic(caught)
		}
	}()
	return check.Validate(value)
}

// spend subtracts steps from the budget and aborts the check by a panic when it is used up,
// because the library cannot be stopped otherwise.
func (e *validationBudget) spend(n int) {
	if e.left -= n; e.left < 0 {
		panic(gaveUp{errEffort})
	}
	if err := e.ctx.Err(); err != nil {
		panic(gaveUp{err})
	}
}

// watch makes every schema report its application through its format check, which is the
// first check of a value of the right type.
func (e *validationBudget) watch(s *jsonschema.Schema, seen map[*jsonschema.Schema]bool) {
	if seen[s] || s.Bool != nil {
		return
	}
	seen[s] = true
	all, most := 1, 1
	for _, part := range parts(s) {
		all += own(part)
		most = max(most, own(part))
		e.watch(part, seen)
	}
	format := s.Format
	s.Format = &jsonschema.Format{Name: "effort", Validate: func(v any) error {
		e.spend(all + most*size(v))
		if format == nil {
			return nil
		}
		return format.Validate(v)
	}}
	if format != nil {
		s.Format.Name = format.Name
	}
}

// own returns the cost of the comparisons that a schema makes before it reports.
func own(s *jsonschema.Schema) int {
	n := 1 + len(s.Required)
	if s.Enum != nil {
		n += len(s.Enum.Values)
	}
	return n
}

// size returns the number of direct children of a value.
func size(v any) int {
	switch v := v.(type) {
	case map[string]any:
		return len(v)
	case []any:
		return len(v)
	}
	return 0
}

// compiledPattern is a regular expression that reports its cost, which is proportional to its
// length times that of the text.
type compiledPattern struct {
	*pattern.Pattern
	source string
	effort *validationBudget
}

// String implements jsonschema.Regexp.
func (p *compiledPattern) String() string { return p.source }

// MatchString implements jsonschema.Regexp and spends effort.
func (p *compiledPattern) MatchString(text string) bool {
	p.effort.spend(1 + len(text)*p.Size/patternSteps)
	found, err := p.Match(pattern.NewBudget(p.effort.ctx, patternSteps*maxEffort), text)
	if err != nil {
		panic(gaveUp{errEffort})
	}
	return found
}

// compilePattern compiles a regular expression of a schema, within limits on its text and its
// program.
func (e *validationBudget) compilePattern(text string) (jsonschema.Regexp, error) {
	if len(text) > maxPattern {
		return nil, errors.New("the pattern is longer than 1,000 characters")
	}
	if e.patterns += pattern.Cost(text); e.patterns > maxPatterns {
		return nil, errors.New("the patterns of the schema together take too long to compile")
	}
	p, err := pattern.Compile(text)
	if _, invalid := errors.AsType[*syntax.Error](err); invalid {
		return nil, fmt.Errorf("the pattern cannot be read: %w", err)
	}
	switch {
	case errors.Is(err, pattern.ErrTooLarge) || err == nil && p.Size > maxProgram:
		return nil, errors.New("the pattern repeats too much")
	case err != nil:
		return nil, fmt.Errorf("the pattern %w", err)
	}
	e.patterns += p.Size
	return &compiledPattern{p, text, e}, nil
}

// bearable reports whether all numbers in a value are within maxExponent.
func bearable(v any) bool {
	switch v := v.(type) {
	case *value.Object, map[string]any:
		for _, item := range value.Members(v) {
			if !bearable(item) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !bearable(item) })
	case json.Number:
		_, exponent, ok := strings.Cut(strings.ToLower(string(v)), "e")
		n, err := strconv.Atoi(exponent)
		return !ok || err == nil && max(n, -n) <= maxExponent
	}
	return true
}
