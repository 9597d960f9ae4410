package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/flow"
	"sluice/handlers/admin"
	"sluice/providers"
	"sluice/providers/prices"
)

// priceCmd groups the commands for prices. If a provider reports no cost, the cost of a call
// is computed from these prices or else from the price list. Budgets in dollars and the
// Usage page count it.
type priceCmd struct {
	Set    priceSetCmd    `cmd:"" help:"Set the price of a model. It applies if the provider reports no cost, and overrides the price list."`
	List   priceListCmd   `cmd:"" help:"List prices, and the source and date of the price list."`
	Remove priceRemoveCmd `cmd:"" help:"Remove a price."`
}

// priceSetCmd sets parts of a model's price and keeps the others. Past runs keep the
// cost that was recorded when they ran.
type priceSetCmd struct {
	Model string    `arg:"" help:"provider/model, such as openai/gpt-x or replicate/owner/name."`
	Body  bodyFlags `body:"SetPrice" names:"model=-"`
}

// RunAPI sets a price for future runs. The server keeps the parts without a flag. The cost of past
// runs does not change.
func (c priceSetCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	if _, _, ok := providers.ParseModel(c.Model); !ok {
		return usageError(fmt.Sprintf("%q is not a model; write provider/model", c.Model))
	}
	body, err := c.Body.values()
	if err != nil {
		return err
	}
	if len(body) == 0 {
		return usageError("there is no price to set; give --input, --output, --second or --call")
	}
	body["model"] = c.Model
	if _, err := api.Call(ctx, "PATCH", "/v1/prices", body); err != nil {
		return c.Body.explain(err)
	}
	_, err = fmt.Fprintf(s.Out, "The price of %s is set.\n", c.Model)
	return err
}

// priceListCmd lists the prices of the workspace, and searches the price list.
type priceListCmd struct {
	Query string `arg:"" optional:"" help:"Also list models of the price list whose name contains this."`
	JSON  bool   `help:"Print as JSON."`
}

// RunAPI lists the prices of the workspace and the matching prices of the price list, in dollars. JSON
// has them as strings, because numbers could lose digits. Without a query it adds the source of the
// price list, which applies to all other models.
func (c priceListCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	found, err := fetch[admin.Prices](ctx, api, "GET", "/v1/prices?"+url.Values{"query": {c.Query}}.Encode(), nil)
	if err != nil {
		return err
	}
	err = printList(s.Out, c.JSON, found.Prices, "MODEL\tINPUT/M\tOUTPUT/M\tSECOND\tCALL\tSOURCE", func(p *admin.Price) string {
		source := p.Source
		if p.Date != nil {
			source += ", " + *p.Date
		}
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", p.Model, p.Input, p.Output, p.Second, p.Call, source)
	})
	if err == nil && !c.JSON && c.Query == "" {
		_, err = fmt.Fprintf(s.Out, "\nOther models: %s of %s, %d models. 'sluice price list NAME' searches them.\n", found.List.Source, found.List.Date, found.List.Models)
	}
	return err
}

// priceBook returns the prices of workspaces in a store and those of the price list.
func (c *Config) priceBook(store flow.PriceStore, now func() time.Time) (*prices.Book, error) {
	list := prices.Shipped()
	if c.Prices != "" {
		own, err := prices.Load(c.Prices)
		if err != nil {
			return nil, fmt.Errorf("SLUICE_PRICES: %w", err)
		}
		list = own
	}
	return &prices.Book{Store: store, List: list, Now: now}, nil
}

// priceRemoveCmd removes a price. The price list then applies to later runs of the model.
type priceRemoveCmd struct {
	Model string `arg:"" help:"provider/model."`
}

// RunAPI removes a price of the workspace. The price list then applies again.
func (c priceRemoveCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	if _, err := api.Call(ctx, "DELETE", "/v1/prices?"+url.Values{"model": {c.Model}}.Encode(), nil); err != nil {
		return notFound(err, fmt.Sprintf("there is no price for %s; 'sluice price list' lists them", c.Model))
	}
	_, err := fmt.Fprintf(s.Out, "The price of %s is removed.\n", c.Model)
	return err
}
