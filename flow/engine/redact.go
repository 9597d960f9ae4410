package engine

import (
	"errors"

	"sluice/flow"
	"sluice/flow/redaction"
)

// redactOut removes the secrets that the step has received from its result, because an
// external service may have echoed them.
func redactOut(o flow.Out, secrets *redaction.Redactor) flow.Out {
	if secrets.Empty() {
		return o
	}
	o.Log = secrets.Text(o.Log)
	if o.Outputs != nil {
		o.Outputs, _ = secrets.Value(o.Outputs).(map[string]any)
	}
	return o
}

// redactError removes the secrets that the step has received from an error, because providers
// quote parts of a request in their messages.
func redactError(err error, secrets *redaction.Redactor) error {
	if err == nil || secrets.Empty() {
		return err
	}
	if e, ok := errors.AsType[*flow.Error](err); ok {
		own := *e
		own.Message = secrets.Text(e.Message)
		return &own
	}
	if text := secrets.Text(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}
