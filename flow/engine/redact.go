package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/flow"
	"sluice/flow/redaction"
)

// loadSecrets adds the secrets that the run, or another run of its tree, may have used elsewhere:
// in earlier steps, before a restart, in a caller or in a child run. A service can return them in
// any later step. With once, those that an earlier call found are enough: reading them again for each
// recorded step took a third of the time of a test.
func (c *execution) loadSecrets(ctx context.Context, once bool) error {
	if c.UsedSecrets == nil {
		return nil
	}
	c.loading.Lock()
	defer c.loading.Unlock()
	if c.loaded || once && c.loadedOnce {
		return nil
	}
	list, more, err := c.UsedSecrets(ctx, &c.plan.run)
	if err != nil {
		return fmt.Errorf("read the secrets that %s may have used: %w", c.plan.run.ID, err)
	}
	c.secrets.AddAll(list)
	c.loaded, c.loadedOnce = !more, true
	return nil
}

// redactOut removes the secrets that the run has used from its result, because an
// external service may have echoed them.
func redactOut(o flow.Out, secrets *redaction.Redactor) flow.Out {
	if secrets.Empty() {
		return o
	}
	o.Log = secrets.Text(o.Log)
	if o.Outputs != nil {
		o.Outputs, _ = flow.AsMap(secrets.Value(o.Outputs))
	}
	return o
}

// redactError removes the secrets that the run has used from an error, because providers
// quote parts of a request in their messages.
func redactError(err error, secrets *redaction.Redactor) error {
	if err == nil || secrets.Empty() {
		return err
	}
	if e, ok := errors.AsType[*flow.Error](err); ok {
		own := *e
		own.Message = secrets.Text(e.Message)
		own.Fields = slices.Clone(e.Fields)
		for i := range own.Fields {
			own.Fields[i].Detail = secrets.Text(own.Fields[i].Detail)
		}
		return &own
	}
	if text := secrets.Text(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}
