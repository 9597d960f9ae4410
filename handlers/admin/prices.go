package admin

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"sluice/db"
	"sluice/flow"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// PriceList is a list of prices of common models. Prices that a workspace sets take precedence.
type PriceList interface {
	// About returns the source of the list and its date.
	About() (source, date string)
	// Search returns the models whose name contains a text, ignoring case, with their price
	// at a time. An empty text matches all.
	Search(text string, at time.Time) []flow.Price
}

// priceNames maps the Go types of responses to the names of their schemas in the OpenAPI
// document. Names are part of the API: generated clients name their types after them.
var priceNames = map[reflect.Type]string{
	reflect.TypeFor[Price]():         "Price",
	reflect.TypeFor[Prices]():        "Prices",
	reflect.TypeFor[PriceListInfo](): "PriceListInfo",
}

// priceParams are the parameters that routes name in their Params. In the URL they are query
// and model.
var priceParams = map[string]map[string]any{
	"price_query": queryParam("query", "Also returns models of the price list whose name contains this.", map[string]any{"type": "string"}),
	"price_model": {"name": "model", "in": "query", "required": true, "description": "The model, as provider/model.", "schema": map[string]any{"type": "string"}},
}

// modelName matches provider/model in printable ASCII without spaces. The name of the model
// may contain more slashes.
var modelName = regexp.MustCompile(`^[!-.0-~]{1,64}/[!-~]{1,200}$`)

// modelType is the type of the name of a model.
var modelType = api.Type[string]{Schema: schema{"type": "string", "pattern": modelName.String()}, Code: "invalid", Wanted: "a model as provider/model", As: func(v any) (string, bool) {
	s, _ := v.(string)
	return s, modelName.MatchString(s)
}}

// priceBody declares the body of a change. An amount of 0 is a price too: the model is free.
var priceBody = api.Body[flow.Price]{Name: "SetPrice", Of: "a price", Least: 2, Example: schema{"model": "openai/gpt-x", "input": 2.5, "output": 10}, Fields: []api.Field[flow.Price]{
	api.Member("model", "The model, as provider/model.", modelType, func(p *flow.Price) *string { return &p.Model }).Required(""),
	api.Member("input", "Dollars per million input tokens.", priceType, func(p *flow.Price) *flow.NanoUSD { return &p.Input }),
	api.Member("output", "Dollars per million output tokens.", priceType, func(p *flow.Price) *flow.NanoUSD { return &p.Output }),
	api.Member("second", "Dollars per second of compute, for hosted models.", priceType, func(p *flow.Price) *flow.NanoUSD { return &p.Second }),
	api.Member("call", "Dollars per call.", priceType, func(p *flow.Price) *flow.NanoUSD { return &p.Call }),
}}

// priceRoutes returns the routes of prices. The model is not part of the path, because the names
// of models have slashes, which proxies decode.
func (s *Server) priceRoutes() api.Extension {
	const path, tag = "/v1/prices", "Prices"
	problems := []flow.Code{flow.CodeInputInvalid, flow.CodeExceedsKey, flow.CodeFlowNotAllowed, flow.CodeStorageFull}
	return api.Extension{Names: priceNames, Params: priceParams, Routes: []api.Route{{
		Method: get, Path: path, Scopes: []flow.Scope{flow.ScopeRead, flow.ScopeAdmin}, Handle: s.listPrices,
		Role: flow.MemberViewer, Commands: []string{"price list"},
		Doc: openapi.Operation{ID: "listPrices", Tag: tag, Summary: "List prices of models",
			Text:   "Those that the workspace has set and, with query, those of the price list.",
			Params: []string{"price_query"}, Problems: []flow.Code{flow.CodeInputInvalid},
			Answers: openapi.OK("The prices, by model.", Prices{})},
	}, {
		Method: http.MethodPatch, Path: path, Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.setPrice,
		Audit: []string{"price.set"}, Commands: []string{"price set"}, Limited: "no",
		Doc: openapi.Operation{ID: "setPrice", Tag: tag, Summary: "Set the price of a model",
			Text: "It applies to later runs if the provider reports no cost, and wins over the price list. Parts that are left out keep their price. Only for a key without limits and without a list of flows, because budgets count these prices.",
			Body: priceBody.Doc(), Problems: problems,
			Answers: openapi.OK("The price.", Price{})},
	}, {
		Method: http.MethodDelete, Path: path, Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.removePrice,
		Audit: []string{"price.remove"}, Commands: []string{"price remove"}, Limited: "no",
		Doc: openapi.Operation{ID: "removePrice", Tag: tag, Summary: "Remove the price of a model", Text: "Later runs cost what the price list says.",
			Params: []string{"price_model"}, Problems: append([]flow.Code{flow.CodeNotFound}, problems...),
			Answers: openapi.NoContent("Removed.")},
	}}}
}

// Price is the JSON of a price. All amounts are dollars, as text: a number could lose digits.
type Price struct {
	Model  string `json:"model"`
	Input  string `json:"input" doc:"Dollars per million input tokens, as in the other prices of tokens. Longer prompts may have a higher price."`
	Output string `json:"output"`
	Second string `json:"second" doc:"Dollars per second of compute."`
	Call   string `json:"call" doc:"Dollars per call."`
	Source string `json:"source" doc:"workspace, or the source of the price list."`

	Date       *string `json:"date,omitempty" doc:"Of the price list. Absent, as the following, for a price of the workspace."`
	CacheRead  *string `json:"cache_read,omitempty"`
	CacheWrite *string `json:"cache_write,omitempty"`
	Reasoning  *string `json:"reasoning,omitempty"`
}

// Prices is the JSON of a list of prices.
type Prices struct {
	Prices []Price       `json:"prices"`
	List   PriceListInfo `json:"list" doc:"The price list, which has the prices of other models."`
}

// PriceListInfo is the JSON that describes the price list, for example how old it is.
type PriceListInfo struct {
	Source string `json:"source"`
	Date   string `json:"date"`
	Models int    `json:"models" doc:"How many models it has."`
}

// newPriceObject returns the JSON of a price. Only prices of the list have Tokens; they get its
// source and date.
func newPriceObject(p *flow.Price, list PriceList) Price {
	o := Price{Model: p.Model, Input: p.Input.String(), Output: p.Output.String(), Second: p.Second.String(), Call: p.Call.String(), Source: "workspace"}
	if t := p.Tokens; t != nil {
		source, date := list.About()
		o.Source, o.Date, o.Input, o.Output, o.Call = source, &date, rateText(t.Input), rateText(t.Output), t.Call.String()
		o.CacheRead, o.CacheWrite, o.Reasoning = rateOf(t.CacheRead), rateOf(t.CacheWrite), rateOf(t.Reasoning)
	}
	return o
}

// rateText returns the dollars per million tokens, with higher prices for longer prompts, as in
// "2.5 (5 above 200000)". It returns "" without a rate.
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

// rateOf is rateText for a member that is absent for prices of a workspace. It returns a pointer to
// "" for a missing rate, never nil.
func rateOf(r *flow.TokenRate) *string {
	text := rateText(r)
	return &text
}

// findPrices returns the prices of a workspace. With a query, it returns only those whose model
// contains it, and adds the ones of the list that do.
func findPrices(ctx context.Context, store *db.Store, list PriceList, ws flow.WorkspaceID, query string, now time.Time) (Prices, error) {
	found, err := store.ListPrices(ctx, ws)
	if err != nil {
		return Prices{}, err
	}
	source, date := list.About()
	out := Prices{Prices: []Price{}, List: PriceListInfo{source, date, len(list.Search("", now))}}
	if query != "" {
		found = slices.DeleteFunc(found, func(p flow.Price) bool { return !strings.Contains(p.Model, strings.ToLower(query)) })
		found = append(found, list.Search(query, now)...)
	}
	for i := range found {
		out.Prices = append(out.Prices, newPriceObject(&found[i], list))
	}
	return out, nil
}

// listPrices is GET prices?query=. The price list is long, so it is only searched.
func (s *Server) listPrices(c *api.Call) error {
	q, err := c.QueryTexts("query")
	if err != nil {
		return err
	}
	found, err := findPrices(c.Request().Context(), s.Store, s.PriceList, c.Key.WorkspaceID, q["query"], s.now())
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, found)
}

// setPrice is PATCH prices. Parts of the price that the body leaves out are kept.
func (s *Server) setPrice(c *api.Call) error {
	if err := requireAllFlows(c, "prices"); err != nil {
		return err
	}
	if err := s.prices.MayChange(c.Key); err != nil {
		return err
	}
	body, err := c.ReadObject(false)
	if err != nil {
		return err
	}
	model, set, err := readPrice(body)
	if err != nil {
		return err
	}
	p, err := s.prices.Set(c.Request().Context(), c.Actor(), c.Key, c.Key.WorkspaceID, model, set)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, newPriceObject(&p, s.PriceList))
}

// readPrice returns the model of a body, and a function that sets the parts of the price that
// the body has. At least one part is required.
func readPrice(body map[string]any) (model string, set func(p *flow.Price), err error) {
	set, wrong := priceBody.Read(body)
	model, _ = body["model"].(string)
	if _, given := body["model"]; !given {
		wrong = append(wrong, flow.Problem{Pointer: "/model", Code: "invalid", Detail: "wanted a model as provider/model"})
	}
	if !slices.ContainsFunc([]string{"input", "output", "second", "call"}, func(name string) bool { _, given := body[name]; return given }) {
		wrong = append(wrong, flow.Problem{Pointer: "/input", Code: "required", Detail: "there is no price to set; send input, output, second or call"})
	}
	return model, set, api.Invalid(wrong...)
}

// removePrice is DELETE prices?model=. It is 404 if the workspace has set no price for it.
func (s *Server) removePrice(c *api.Call) error {
	if err := requireAllFlows(c, "prices"); err != nil {
		return err
	}
	if err := s.prices.MayChange(c.Key); err != nil {
		return err
	}
	q, err := c.QueryTexts("model")
	if err != nil {
		return err
	}
	model := q["model"]
	if !modelName.MatchString(model) {
		return api.Invalid(flow.Problem{Pointer: "/model", Code: "invalid", Detail: "wanted a model as provider/model"})
	}
	if err := s.prices.Remove(c.Request().Context(), c.Actor(), c.Key, c.Key.WorkspaceID, model); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
