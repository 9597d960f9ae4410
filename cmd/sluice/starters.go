package main

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/handlers/console"
)

//go:embed starters/*.json starters/subflows/*.json
var starterFiles embed.FS

// starterList has the sample flows in display order. New workspaces get those marked First,
// which run without an API key. Each entry needs a document of the same name in starters/.
// Text describes a flow whose own description is for the visitors of its form. Answer is what it
// gives for its examples, Needs names the set-up that it requires, and SubflowIDs the flows in
// starters/subflows that its nodes run. Base is the slug of the knowledge base that it searches.
var starterList = []console.Starter{
	{ID: "route-a-support-ticket", Answer: []string{"billing", "0.97"}, Icon: "tags", First: true},
	{ID: "summarize-a-text", Answer: []string{"The city council voted on Tuesday to close the old harbor bridge for eighteen months."}, Icon: "scroll-text", First: true},
	{ID: "answer-from-a-document", Answer: []string{"Returns are free for thirty days."}, Icon: "text-search", First: true},
	{ID: "answer-from-our-documents", Answer: []string{"A refund takes five working days after the parcel arrives. [1]"}, Icon: "book-open", Base: "our-documents"},
	{ID: "check-the-mood-of-feedback", Answer: []string{"neutral", "English"}, Icon: "smile"},
	{ID: "find-a-duplicate-question", Answer: []string{"The same question"}, Icon: "equal-approximately"},
	{ID: "read-an-order", Answer: []string{"4711", "42"}, Icon: "text-select"},
	{ID: "route-by-rules", Answer: []string{"A manager decides about $2400."}, Icon: "route"},
	{ID: "clean-a-list", Answer: []string{"Milk, Bread, Apples"}, Icon: "scissors"},
	{ID: "add-up-an-order", Answer: []string{"The total is $68.95."}, Icon: "braces"},
	{ID: "check-many-reviews", Answer: []string{"positive", "negative", "positive"}, Icon: "list-tree", SubflowIDs: []string{"check-one-review"}},
	{ID: "answer-a-review", Answer: []string{"We are sorry about the negative experience. Somebody calls you today."}, Icon: "workflow", SubflowIDs: []string{"check-one-review"}},
	{ID: "approve-a-reply", Answer: []string{"thank you for writing to us about the second charge in October. We refunded it today."}, Icon: "user-check"},
	{ID: "send-it-later", Answer: []string{"Your trial ends tomorrow."}, Icon: "timer"},
	{ID: "chat-assistant", Text: "A chatbot you can share, embed, or call with the OpenAI SDK.", Answer: []string{"Writing, summaries, translations, and questions about almost anything."}, Icon: "message-square", Needs: "a chat model"},
	{ID: "answer-in-a-tone", Answer: []string{"Sorry about the wait! Could you send me your order number, so that I can look it up?"}, Icon: "wand-sparkles", Needs: "a chat model"},
	{ID: "ask-a-document", Answer: []string{"Three months, to the end of a quarter."}, Icon: "book-open", Needs: "a chat model"},
	{ID: "support-with-orders", Answer: []string{"Order 1017 is on its way and arrives on Tuesday."}, Icon: "bot", Needs: "a chat model"},
	{ID: "research-within-a-budget", Answer: []string{"It is for use in examples and documents. https://example.com/"}, Icon: "bot", Needs: "a chat model"},
	{ID: "answer-about-a-repository", Answer: []string{"Two: #41 “Sign-in fails behind a proxy” and #38 “Passkeys”."}, Icon: "bot", Needs: "a chat model and an MCP server"},
	{ID: "draw-a-picture", Answer: []string{"picture.webp"}, Icon: "image", Needs: "Replicate"},
}

// starters parses the embedded flows. It fails only if one of them is invalid.
func starters() ([]console.Starter, error) {
	list := make([]console.Starter, len(starterList))
	for i, s := range starterList {
		var err error
		if s.Document, err = readStarter(s.ID); err != nil {
			return nil, err
		}
		for _, id := range s.SubflowIDs {
			d, err := readStarter("subflows/" + id)
			if err != nil {
				return nil, err
			}
			s.Subflows = append(s.Subflows, d)
		}
		list[i] = s
	}
	return list, nil
}

// readStarter parses an embedded flow.
func readStarter(id string) (*flow.Document, error) {
	data, err := starterFiles.ReadFile("starters/" + id + ".json")
	if err != nil {
		return nil, fmt.Errorf("read the starter flow %s: %w", id, err)
	}
	d, problems := document.ParseDocument(data)
	if len(problems) > 0 {
		return nil, fmt.Errorf("the starter flow %s: %s", id, problems[0])
	}
	return d, nil
}

// addStarters adds the sample flows marked First to a workspace that never had a flow. It
// publishes all but the first of them, which the owner publishes as part of the
// introduction. It returns the ID of that flow, or "" if it was deleted. A workspace whose
// flows were all deleted gets no new ones.
func (a *app) addStarters(ctx context.Context, ws flow.WorkspaceID) (displayValue flow.FlowID, err error) {
	list, err := starters()
	if err != nil {
		return "", err
	}
	had, err := a.store.HadFlows(ctx, ws)
	if err != nil {
		return "", err
	}
	if !had {
		if err := a.importStarters(ctx, ws, list); err != nil {
			return "", err
		}
	}
	flows, err := a.store.ListFlows(ctx, ws, "", 20)
	for _, f := range flows {
		if f.Name == list[0].Document.Name {
			return f.ID, err
		}
	}
	return "", err
}

// importStarters imports the sample flows that are marked First, and publishes all but
// the first.
func (a *app) importStarters(ctx context.Context, ws flow.WorkspaceID, list []console.Starter) error {
	for i, s := range list {
		if !s.First {
			continue
		}
		f, err := a.library.Import(ctx, ws, "", s.Document.Compact())
		if errors.Is(err, &flow.Error{Code: flow.CodeQuotaExceeded}) {
			return nil // a small quota must not prevent sign-ups
		}
		if err != nil {
			return fmt.Errorf("add the starter flow %s: %w", s.ID, err)
		}
		if i == 0 {
			continue
		}
		if _, _, err := a.library.Publish(ctx, ws, f.ID, "sluice"); err != nil && !errors.Is(err, &flow.Error{Code: flow.CodeQuotaExceeded}) {
			return fmt.Errorf("publish the starter flow %s: %w", s.ID, err)
		}
	}
	return nil
}
