package console

import (
	"fmt"
	"net/http"

	"sluice/flow"
	"sluice/handlers/web"
)

// showCURL is GET curl: the curl command, as plain text, that starts a run with the
// same inputs.
func (c *call) showCURL(run *flow.Run) error {
	if string(run.FlowID) != c.Param("flow") {
		return web.ErrNotFound
	}
	if run.Erased != "" {
		return flow.Errorf(run.Erased, "The inputs of this run were erased, so it cannot be sent again.")
	}
	text, err := c.s.curl(run)
	switch {
	case err != nil:
		return err
	case text == "":
		return flow.Errorf(flow.CodeBodyTooLarge, "The inputs of this run are too long for a command. Send them from a file.")
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	if err := c.String(http.StatusOK, text); err != nil {
		return fmt.Errorf("write the command of %s: %w", run.ID, err)
	}
	return nil
}
