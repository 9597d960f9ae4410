package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"sluice/cmd/sluice/client"
	"sluice/flow"
	"sluice/handlers/admin"
)

type knowledgeRebuildCmd struct {
	Base       string `arg:"" help:"Slug or ID of the knowledge base."`
	Model      string `help:"For search by meaning. Default: the built-in one, for English." placeholder:"PROVIDER/MODEL"`
	Credential string `help:"Name of the credential for the model." placeholder:"NAME"`
	Dimensions int    `help:"Numbers in a vector, for models that let you choose." placeholder:"N"`
	Estimate   bool   `help:"Only print what it would cost at most."`
	JSON       bool   `help:"Print as JSON."`
}

func (knowledgeRebuildCmd) need() databaseNeed { return needRuns }

// RunAPI rebuilds a base and waits for the end of the run.
func (c knowledgeRebuildCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	body := map[string]any{"model": c.Model, "credential": c.Credential, "dimensions": c.Dimensions}
	if c.Estimate {
		return c.estimate(ctx, api, s, body)
	}
	started, err := fetch[admin.KnowledgeAdded](ctx, api, http.MethodPost, basePath(c.Base)+"/rebuild", body)
	if err != nil {
		return notFound(err, noKnowledge)
	}
	one, err := awaitIndexed(ctx, api, started, "")
	if err != nil {
		return err
	}
	if one.Error != "" {
		return errors.New("the base has its present model still: " + one.Error)
	}
	if c.JSON {
		return printJSON(s.Out, one)
	}
	_, err = fmt.Fprintf(s.Out, "rebuilt %s: %d passages with the %s model\n", c.Base, one.Passages, modelName(c.Model))
	return err
}

// estimate prints what a rebuild would cost at most.
func (c knowledgeRebuildCmd) estimate(ctx context.Context, api *client.Client, s *streams, body map[string]any) error {
	e, err := fetch[admin.RebuildEstimate](ctx, api, http.MethodPost, basePath(c.Base)+"/rebuild/estimate", body)
	if err != nil {
		return notFound(err, noKnowledge)
	}
	if c.JSON {
		return printJSON(s.Out, e)
	}
	cost := "the price of the model is unknown"
	if e.USD != nil {
		cost = "$" + flow.USDOf(*e.USD).Rounded()
	}
	_, err = fmt.Fprintf(s.Out, "%d passages, %d tokens at most: %s\n", e.Passages, e.Tokens, cost)
	return err
}
