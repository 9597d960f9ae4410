package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"text/tabwriter"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/flow"
)

// Deliveries groups the commands for webhook deliveries.
type Deliveries struct {
	List   DeliveryList   `cmd:"" help:"List the webhook deliveries of a flow, newest first."`
	Resend DeliveryResend `cmd:"" help:"Send a delivery again."`
}

// DeliveryList lists deliveries of a flow.
type DeliveryList struct {
	Flow  string `arg:"" help:"Slug or ID of the flow."`
	Limit int    `default:"20" help:"Maximum number of deliveries, up to 100." placeholder:"N"`
	JSON  bool   `help:"Print the response of the API as JSON."`
}

// RunAPI prints one page of deliveries.
func (c DeliveryList) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	raw, err := api.Call(ctx, "GET", "/v1/flow/"+url.PathEscape(c.Flow)+"/deliveries?limit="+strconv.Itoa(c.Limit), nil)
	if flow.IsNotFound(err) {
		return fmt.Errorf("the server has no flow %s; 'sluice flow list' lists the flows", c.Flow)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return PrintRaw(s.Out, raw)
	}
	var page struct {
		Deliveries []struct {
			ID        string            `json:"delivery_id"`
			Status    string            `json:"status"`
			URL       string            `json:"url"`
			CreatedAt time.Time         `json:"created_at"`
			Attempts  []json.RawMessage `json:"attempts"`
		} `json:"deliveries"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return err
	}
	columns := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(columns, "DELIVERY\tSTATUS\tATTEMPTS\tCREATED\tURL")
	for _, d := range page.Deliveries {
		fmt.Fprintf(columns, "%s\t%s\t%d\t%s\t%s\n", d.ID, d.Status, len(d.Attempts), d.CreatedAt.Local().Format("2006-01-02 15:04:05"), d.URL)
	}
	return columns.Flush()
}

// DeliveryResend starts a new series of attempts for a delivery.
type DeliveryResend struct {
	ID string `arg:"" name:"delivery" help:"ID of the delivery."`
}

// RunAPI queues the delivery. Its message ID stays the same, so that receivers can
// deduplicate it.
func (c DeliveryResend) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	_, err := api.Call(ctx, "POST", "/v1/deliveries/"+url.PathEscape(c.ID)+"/redeliver", nil)
	if flow.IsNotFound(err) {
		return fmt.Errorf("there is no delivery %s; 'sluice delivery list FLOW' lists those of a flow", c.ID)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.Out, "Queued.")
	return err
}
