package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/flow"
	"sluice/flow/wording"
)

// RunApprovals lists the approvals that a run waits for.
type RunApprovals struct {
	runRef
	JSON bool `help:"Print the response of the API as JSON."`
}

// approval is an approval request as the API lists it.
type approval struct {
	Path      string    `json:"path"`
	Title     string    `json:"title"`
	Status    string    `json:"status"`
	ExpiresAt time.Time `json:"expires_at"`
	Call      *struct {
		Effect      string
		Destination string
		Reason      string
		Bound       []struct {
			Name  string
			Value any
		}
	} `json:"call"`
	Values []struct {
		Name     string `json:"name"`
		Value    any    `json:"value"`
		Editable bool   `json:"editable"`
	} `json:"values"`
}

// approvals returns the approvals of a run, and the response as received.
func (r runRef) approvals(ctx context.Context, api *client.Client) ([]approval, []byte, error) {
	raw, err := api.Call(ctx, "GET", r.path()+"/approvals", nil)
	if err != nil {
		return nil, nil, r.notFound(err)
	}
	var page struct {
		Approvals []approval `json:"approvals"`
	}
	return page.Approvals, raw, json.Unmarshal(raw, &page)
}

// RunAPI prints the approvals with their values, which are marked if they may be edited.
func (c RunApprovals) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	if err := c.locate(ctx, api); err != nil {
		return err
	}
	list, raw, err := c.approvals(ctx, api)
	if err != nil {
		return err
	}
	if c.JSON {
		return PrintRaw(s.Out, raw)
	}
	columns := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(columns, "STEP\tSTATUS\tEXPIRES\tTITLE")
	for _, a := range list {
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\n", a.Path, a.Status, a.ExpiresAt.Local().Format("2006-01-02 15:04"), a.Title)
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	for _, a := range list {
		if c := a.Call; c != nil {
			fmt.Fprintf(s.Out, "  %s: %s %s\n", a.Path, c.Effect, c.Destination)
			if c.Reason != "" {
				fmt.Fprintf(s.Out, "  %s, the model says: %s\n", a.Path, wording.OneLine(flow.ShowInvisible(c.Reason)))
			}
			for _, v := range c.Bound {
				fmt.Fprintf(s.Out, "  %s.%s (set by the flow): %s\n", a.Path, v.Name, flow.ShowInvisible(flow.Text(v.Value)))
			}
		}
		for _, v := range a.Values {
			note := ""
			if v.Editable {
				note = " (editable)"
			}
			fmt.Fprintf(s.Out, "  %s.%s%s: %s\n", a.Path, v.Name, note, flow.ShowInvisible(flow.Text(v.Value)))
		}
	}
	return nil
}

// runAnswer has the arguments that RunApprove and RunReject share.
type runAnswer struct {
	runRef
	Step    string `arg:"" optional:"" help:"Step that asks, as 'sluice run approvals' lists it."`
	Comment string `help:"Shown with the answer." placeholder:"TEXT"`
}

// locate also accepts RUN STEP, without the flow.
func (c *runAnswer) locate(ctx context.Context, api *client.Client) error {
	if flow.ValidID(flow.PrefixRun, c.Flow) && c.Step == "" {
		c.ID, c.Step = "", c.ID
	}
	if c.Step == "" {
		return errors.New("name the step that asks; 'sluice run approvals RUN' lists the steps")
	}
	return c.runRef.locate(ctx, api)
}

// answer sends the decision with the edited values.
func (c runAnswer) answer(ctx context.Context, api *client.Client, s *Streams, decision flow.Outcome, values map[string]any, all bool) error {
	body := map[string]any{"decision": string(decision), "comment": c.Comment}
	if all {
		body["all"] = true
	}
	if len(values) > 0 {
		body["values"] = values
	}
	if _, err := api.Call(ctx, "POST", c.path()+"/approvals/"+url.PathEscape(c.Step), body); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.Out, "%s: %s.\n", c.Step, decision)
	return err
}

// RunApprove answers an approval with yes.
type RunApprove struct {
	runAnswer
	All bool     `help:"Also approve the other calls of the tool in this run."`
	Set []string `sep:"none" help:"Edit a value that is marked as editable. Repeat for several." placeholder:"NAME=VALUE"`
}

// RunAPI approves. Edited values are parsed by the type of the original value.
func (c RunApprove) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	if err := c.locate(ctx, api); err != nil {
		return err
	}
	values := map[string]any{}
	if len(c.Set) > 0 {
		list, _, err := c.approvals(ctx, api)
		if err != nil {
			return err
		}
		for _, pair := range c.Set {
			name, text, ok := strings.Cut(pair, "=")
			if !ok {
				return fmt.Errorf("--set %q is not NAME=VALUE", pair)
			}
			values[name] = text
			for _, a := range list {
				for _, v := range a.Values {
					if a.Path == c.Step && v.Name == name {
						values[name] = parseLike(v.Value, text)
					}
				}
			}
		}
	}
	return c.answer(ctx, api, s, flow.OutcomeApproved, values, c.All)
}

// parseLike parses the replacement of a value: a text if the original is one, otherwise JSON. If
// it is not valid JSON, it stays a text, and the server reports the expected type.
func parseLike(value any, text string) any {
	if _, isText := value.(string); isText {
		return text
	}
	parsed, err := flow.DecodeJSON([]byte(text))
	if err != nil {
		return text
	}
	return parsed
}

// RunReject answers an approval with no.
type RunReject struct{ runAnswer }

// RunAPI rejects.
func (c RunReject) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	if err := c.locate(ctx, api); err != nil {
		return err
	}
	return c.answer(ctx, api, s, flow.OutcomeRejected, nil, false)
}
