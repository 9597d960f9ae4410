package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"sluice/cmd/sluice/client"
	"sluice/handlers/admin"
)

type knowledgeRebuildCmd struct {
	Base       string `arg:"" help:"Slug or ID of the knowledge base."`
	Model      string `help:"For search by meaning. Default: the built-in one, for English." placeholder:"PROVIDER/MODEL"`
	Credential string `help:"Name of the credential for the model." placeholder:"NAME"`
	Dimensions int    `help:"Numbers in a vector, for models that let you choose." placeholder:"N"`
	JSON       bool   `help:"Print as JSON."`
}

func (knowledgeRebuildCmd) need() databaseNeed { return needRuns }

// RunAPI rebuilds a base and waits for the end of the run.
func (c knowledgeRebuildCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	started, err := fetch[admin.KnowledgeAdded](ctx, api, http.MethodPost, basePath(c.Base)+"/rebuild", map[string]any{"model": c.Model, "credential": c.Credential, "dimensions": c.Dimensions})
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
