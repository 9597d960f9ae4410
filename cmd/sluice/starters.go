package main

import (
	"context"
	"embed"
	"fmt"

	"sluice/flow"
	"sluice/handlers/pages"
)

//go:embed starters/*.json
var starterFiles embed.FS

// starterList is the flows that Sluice brings along, in the order in which
// people see them. The first ones run at once; a new workspace has them.
var starterList = []pages.Starter{
	{ID: "route-a-support-ticket", Icon: "tags", First: true},
	{ID: "summarize-a-text", Icon: "scroll-text", First: true},
	{ID: "answer-from-a-document", Icon: "text-search", First: true},
	{ID: "check-the-mood-of-feedback", Icon: "smile"},
	{ID: "find-a-duplicate-question", Icon: "equal-approximately"},
	{ID: "answer-in-a-tone", Icon: "message-square", Needs: "a chat model"},
	{ID: "ask-a-document", Icon: "book-open", Needs: "a chat model"},
	{ID: "draw-a-picture", Icon: "image", Needs: "Replicate"},
}

// starters reads the flows that are embedded; one that cannot be read is a
// fault of the build.
func starters() ([]pages.Starter, error) {
	list := make([]pages.Starter, len(starterList))
	for i, s := range starterList {
		data, err := starterFiles.ReadFile("starters/" + s.ID + ".json")
		if err != nil {
			return nil, fmt.Errorf("read the starter flow %s: %w", s.ID, err)
		}
		d, problems := flow.ParseDocument(data)
		if len(problems) > 0 {
			return nil, fmt.Errorf("the starter flow %s: %s", s.ID, problems[0])
		}
		s.Document = d
		list[i] = s
	}
	return list, nil
}

// addStarters gives a new workspace its first flows, published and ready to be
// called. A workspace that ever had a flow is left alone.
func (a *app) addStarters(ctx context.Context, list []pages.Starter) error {
	had, err := a.store.HadFlows(ctx, flow.DefaultWorkspace)
	if err != nil || had {
		return err
	}
	for _, s := range list {
		if !s.First {
			continue
		}
		f, err := a.library.Import(ctx, flow.DefaultWorkspace, "", s.Document.Canonical())
		if err != nil {
			return fmt.Errorf("add the starter flow %s: %w", s.ID, err)
		}
		if _, _, err := a.library.Publish(ctx, flow.DefaultWorkspace, f.ID, "sluice"); err != nil {
			return fmt.Errorf("publish the starter flow %s: %w", s.ID, err)
		}
	}
	return nil
}
