package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"text/tabwriter"

	"sluice/cmd/sluice/client"
	"sluice/flow"
)

// RunChildren lists the child runs of a run.
type RunChildren struct {
	runRef
	Status string `help:"Only items in this state, such as failed." placeholder:"STATUS"`
	Limit  int    `default:"20" help:"Maximum number of items, up to 100." placeholder:"N"`
	JSON   bool   `help:"Print the response of the API as JSON."`
}

// RunAPI prints the number of items of each step, and one page of items.
func (c RunChildren) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	if err := c.locate(ctx, api); err != nil {
		return err
	}
	query := url.Values{"limit": {strconv.Itoa(c.Limit)}}
	if c.Status != "" {
		query.Set("status", c.Status)
	}
	raw, err := api.Call(ctx, "GET", c.path()+"/children?"+query.Encode(), nil)
	if err != nil {
		return c.notFound(err)
	}
	if c.JSON {
		return PrintRaw(s.Out, raw)
	}
	var page struct {
		Steps []struct {
			Path                              string
			Total, Succeeded, Failed, Running int
		} `json:"steps"`
		Children []struct {
			Path   string      `json:"path"`
			Item   int         `json:"item"`
			RunID  string      `json:"run_id"`
			Status string      `json:"status"`
			Error  *flow.Error `json:"error"`
		} `json:"children"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return err
	}
	for _, step := range page.Steps {
		fmt.Fprintf(s.Out, "%s: %d of %d succeeded, %d failed, %d running\n", step.Path, step.Succeeded, step.Total, step.Failed, step.Running)
	}
	columns := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(columns, "STEP\tITEM\tRUN\tSTATUS\tERROR")
	for _, child := range page.Children {
		problem := ""
		if child.Error != nil {
			problem = child.Error.Message
		}
		fmt.Fprintf(columns, "%s\t%d\t%s\t%s\t%s\n", child.Path, child.Item, child.RunID, child.Status, problem)
	}
	return columns.Flush()
}
