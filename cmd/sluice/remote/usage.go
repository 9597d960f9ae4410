package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"text/tabwriter"

	"sluice/cmd/sluice/client"
)

// Usage sums up what the flows of a server used.
type Usage struct {
	By   string `default:"day" help:"Group by day, flow, key or model." placeholder:"GROUP"`
	From string `help:"First day, in UTC, such as 2026-01-31. Default: 29 days before the last." placeholder:"DAY"`
	To   string `help:"Last day, in UTC. Default: today." placeholder:"DAY"`
	JSON bool   `help:"Print the response of the API as JSON."`
}

// usageGroup has the fields of a sum that are printed.
type usageGroup struct {
	Day    string `json:"day"`
	FlowID string `json:"flow_id"`
	KeyID  string `json:"key_id"`
	Name   string `json:"name"`
	Model  string `json:"model"`
	Runs   *struct {
		Total  int64 `json:"total"`
		Failed int64 `json:"failed"`
	} `json:"runs"`
	Usage struct {
		InputTokens  int64 `json:"input_tokens"`
		OutputTokens int64 `json:"output_tokens"`
	} `json:"usage"`
	Cost struct {
		USD string `json:"usd"`
	} `json:"cost"`
}

// RunAPI prints a line for each group and one for the total. It omits days without usage.
func (c Usage) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	query := url.Values{"by": {c.By}}
	if c.From != "" {
		query.Set("from", c.From)
	}
	if c.To != "" {
		query.Set("to", c.To)
	}
	report, err := fetchUsage(ctx, api, query)
	if err != nil {
		return err
	}
	if c.JSON {
		raw, err := json.Marshal(report)
		if err != nil {
			return err
		}
		return PrintRaw(s.Out, raw)
	}
	var groups []usageGroup
	var total usageGroup
	if err := errors.Join(json.Unmarshal(report.Usage, &groups), json.Unmarshal(report.Total, &total)); err != nil {
		return err
	}
	columns := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(columns, "%s\tRUNS\tFAILED\tINPUT TOKENS\tOUTPUT TOKENS\tUSD\n", strings.ToUpper(c.By))
	for i := range groups {
		g := &groups[i]
		if g.Runs == nil || g.Runs.Total > 0 || g.Usage.InputTokens+g.Usage.OutputTokens > 0 || g.Cost.USD != "0.00" {
			g.print(columns, cmp.Or(g.Name, g.Day, g.FlowID, g.KeyID, g.Model, "(no key)"))
		}
	}
	total.print(columns, "Total")
	return columns.Flush()
}

// usageReport is a report of the API.
type usageReport struct {
	By         string          `json:"by"`
	From       string          `json:"from"`
	To         string          `json:"to"`
	Usage      json.RawMessage `json:"usage"`
	Total      json.RawMessage `json:"total"`
	NextCursor *string         `json:"next_cursor"`
}

// fetchUsage reads all pages of a report as one.
func fetchUsage(ctx context.Context, api *client.Client, query url.Values) (*usageReport, error) {
	var all usageReport
	list := []json.RawMessage{}
	for {
		raw, err := api.Call(ctx, "GET", "/v1/usage?"+query.Encode(), nil)
		if err != nil {
			return nil, err
		}
		var page usageReport
		var groups []json.RawMessage
		if err := errors.Join(json.Unmarshal(raw, &page), json.Unmarshal(page.Usage, &groups)); err != nil {
			return nil, err
		}
		if list = append(list, groups...); all.By == "" {
			all = page
		}
		if page.NextCursor == nil {
			break
		}
		query.Set("cursor", *page.NextCursor)
	}
	all.NextCursor = nil
	raw, err := json.Marshal(list)
	all.Usage = raw
	return &all, err
}

// print writes one line. Sums by model have no runs.
func (g *usageGroup) print(columns *tabwriter.Writer, name string) {
	runs, failed := "", ""
	if g.Runs != nil {
		runs, failed = fmt.Sprint(g.Runs.Total), fmt.Sprint(g.Runs.Failed)
	}
	fmt.Fprintf(columns, "%s\t%s\t%s\t%d\t%d\t%s\n", name, runs, failed, g.Usage.InputTokens, g.Usage.OutputTokens, g.Cost.USD)
}
