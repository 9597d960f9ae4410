package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"sluice/db"
	"sluice/flow"
	"sluice/providers"
	"sluice/providers/prices"
)

// priceCmd groups the commands for prices. Providers that report no cost are charged
// by these, or else by the price list, which is what budgets in dollars and the Usage page count.
type priceCmd struct {
	Set    priceSetCmd    `cmd:"" help:"Set the price of a model. It applies if the provider reports no cost, and wins over the price list."`
	List   priceListCmd   `cmd:"" help:"List prices, and the source and date of the price list."`
	Remove priceRemoveCmd `cmd:"" help:"Remove a price."`
}

// priceSetCmd sets parts of a model's price and keeps the others. Past runs keep the
// cost that was recorded when they ran.
type priceSetCmd struct {
	Model  string   `arg:"" help:"provider/model, such as openai/gpt-x or replicate/owner/name."`
	Input  *float64 `help:"Dollars per million input tokens." placeholder:"USD"`
	Output *float64 `help:"Dollars per million output tokens." placeholder:"USD"`
	Second *float64 `help:"Dollars per second of compute, for hosted models." placeholder:"USD"`
	Call   *float64 `help:"Dollars per call." placeholder:"USD"`
}

// Run sets a price for future runs.
func (c priceSetCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	if _, _, ok := providers.ParseModel(c.Model); !ok {
		return usageError(fmt.Sprintf("%q is not a model; write provider/model", c.Model))
	}
	given := 0
	for _, usd := range []*float64{c.Input, c.Output, c.Second, c.Call} {
		if usd == nil {
			continue
		}
		if given++; *usd < 0 || *usd > 1e6 || math.IsNaN(*usd) {
			return usageError("a price must be a number of dollars from 0 to a million")
		}
	}
	if given == 0 {
		return usageError("there is no price to set; give --input, --output, --second or --call")
	}
	store, err := openStore(ctx, cfg, s)
	if err != nil {
		return err
	}
	defer store.Close()
	p, _, err := store.FindPrice(ctx, cfg.workspace(), c.Model) // parts without a flag keep their price
	if err != nil {
		return err
	}
	p.WorkspaceID, p.Model = cfg.workspace(), c.Model
	for _, part := range []struct {
		of  *flow.NanoUSD
		usd *float64
	}{{&p.Input, c.Input}, {&p.Output, c.Output}, {&p.Second, c.Second}, {&p.Call, c.Call}} {
		if part.usd != nil {
			*part.of = flow.USDOf(*part.usd)
		}
	}
	if err := store.SavePrice(ctx, p); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "The price of %s is set.\n", c.Model)
	return store.Audit(ctx, cfg.workspace(), "cli", "price.set", c.Model, "")
}

// priceListCmd lists the prices of the default workspace, and searches the price list.
type priceListCmd struct {
	Query string `arg:"" optional:"" help:"Also list models of the price list whose name contains this."`
	JSON  bool   `help:"Print as JSON."`
}

// Run lists the prices in dollars, as text in JSON too: a number could lose digits.
func (c priceListCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	list, err := store.ListPrices(ctx, cfg.workspace())
	if err != nil {
		return err
	}
	book, err := cfg.priceBook(store, store.Now)
	if err != nil {
		return err
	}
	if c.Query != "" {
		list = slices.DeleteFunc(list, func(p flow.Price) bool { return !strings.Contains(p.Model, strings.ToLower(c.Query)) })
		list = append(list, book.List.Search(c.Query, store.Now())...)
	}
	source := func(p *flow.Price) string {
		if p.Tokens == nil {
			return "workspace"
		}
		return book.List.Source + ", " + book.List.Date
	}
	object := func(p *flow.Price) map[string]any {
		o := map[string]any{"model": p.Model, "input": p.Input.String(), "output": p.Output.String(), "second": p.Second.String(), "call": p.Call.String(), "source": "workspace"}
		if t := p.Tokens; t != nil {
			o["source"], o["date"] = book.List.Source, book.List.Date
			o["input"], o["output"], o["call"] = rateText(t.Input), rateText(t.Output), t.Call.String()
			o["cache_read"], o["cache_write"], o["reasoning"] = rateText(t.CacheRead), rateText(t.CacheWrite), rateText(t.Reasoning)
		}
		return o
	}
	err = printList(s.out, c.JSON, list, object, "MODEL\tINPUT/M\tOUTPUT/M\tSECOND\tCALL\tSOURCE", func(p *flow.Price) string {
		o := object(p)
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", p.Model, o["input"], o["output"], o["second"], o["call"], source(p))
	})
	if err == nil && !c.JSON && c.Query == "" {
		_, err = fmt.Fprintf(s.out, "\nOther models: %s of %s, %d models. 'sluice price list NAME' searches them.\n", book.List.Source, book.List.Date, len(book.List.Search("", store.Now())))
	}
	return err
}

// rateText returns a price per million tokens; longer prompts may cost more.
func rateText(r *flow.TokenRate) string {
	if r == nil {
		return ""
	}
	text := r.Price.String()
	for _, t := range r.Tiers {
		text += fmt.Sprintf(" (%s above %d)", t.Price, t.Above)
	}
	return text
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

// priceRemoveCmd removes a price. Later runs of the model cost what the price list
// says.
type priceRemoveCmd struct {
	Model string `arg:"" help:"provider/model."`
}

// Run removes a price.
func (c priceRemoveCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	if err := store.RemovePrice(ctx, cfg.workspace(), c.Model); err != nil {
		return fmt.Errorf("there is no price for %s; 'sluice price list' lists them", c.Model)
	}
	fmt.Fprintf(s.out, "The price of %s is removed.\n", c.Model)
	return store.Audit(ctx, cfg.workspace(), "cli", "price.remove", c.Model, "")
}
