package web

import "sluice/flow"

// Posted wraps the handler of a form: it reads the form first, so that the
// handler can use FormValue. Handlers of uploads call ReadForm instead.
func Posted[C interface{ ParseForm() error }](handle func(C) error) func(C) error {
	return func(c C) error {
		if err := c.ParseForm(); err != nil {
			return err
		}
		return handle(c)
	}
}

// With wraps a handler that needs a value from the path, such as a flow. If find fails,
// its error is the response.
func With[C, T any](find func(C) (T, error), handle func(C, T) error) func(C) error {
	return func(c C) error {
		found, err := find(c)
		if err != nil {
			return err
		}
		return handle(c, found)
	}
}

// OnFlow wraps a handler that needs the flow of the path.
func OnFlow[C interface{ FindFlow() (*flow.Flow, error) }](handle func(C, *flow.Flow) error) func(C) error {
	return With(C.FindFlow, handle)
}
