package expression

import (
	"context"

	"sluice/flow"
)

// Holds evaluates a condition over the arguments of a call. Those whose names cannot be variables are left out.
func Holds(condition string, arguments map[string]any) (bool, error) {
	variables := map[string]any{}
	for name, v := range arguments {
		if isVariable(name) {
			variables[name] = v
		}
	}
	result, err := Evaluate(context.Background(), condition, variables)
	if err != nil {
		return false, err
	}
	is, isBoolean := result.(bool)
	if !isBoolean {
		return false, flow.Errorf(flow.CodeExpressionFailed, "The condition is neither true nor false.")
	}
	return is, nil
}

// CheckCondition returns an error for a condition that cannot be evaluated over arguments of the given names.
func CheckCondition(condition string, names []string) error {
	var variables []string
	for _, name := range names {
		if isVariable(name) {
			variables = append(variables, name)
		}
	}
	e, err := Compile(condition, variables...)
	if err == nil {
		err = e.CheckBoolean()
	}
	return err
}
