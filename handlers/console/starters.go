package console

import (
	"cmp"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/knowledge"
	"sluice/flow/library"
	"sluice/handlers/web"
	consoleview "sluice/views/console"
)

// Starter is a flow that users can start with.
type Starter struct {
	ID, Icon string
	// Needs is the provider that the flow needs, such as "Replicate", or "".
	Needs string
	// First marks starters that are offered on an empty list of flows.
	First    bool
	Document *flow.Document
	// Text describes the flow in the gallery; "" is its own description.
	Text string
	// Answer is what the flow gives for the examples of its inputs: short values, or one text.
	Answer []string
	// Subflows are the flows that nodes of Document run, by slug; SubflowIDs are their IDs.
	SubflowIDs []string
	Subflows   []*flow.Document
	// Base is the slug of the knowledge base that the flow searches, or "". It is created with the flow.
	Base string
}

// starterBase is the name of a knowledge base that is created with a starter.
const starterBase = "Our documents"

// addBase creates the knowledge base of a starter, unless it exists, and lets the document search the one with a slug.
func (c *call) addBase(d *flow.Document, st *Starter, slug string) (*knowledge.Base, error) {
	if slug == "" {
		slug = st.Base
	}
	b, err := c.s.Store.FindBase(c.Ctx(), c.WorkspaceID(), slug)
	if err != nil && flow.AsError(err).Code == flow.CodeKnowledgeNotFound && slug == st.Base {
		b = &knowledge.Base{WorkspaceID: c.WorkspaceID(), Slug: slug, Name: starterBase}
		acts := library.Knowledge{Store: c.s.Store}
		err = acts.Create(c.Ctx(), c.Actor(), nil, b)
	}
	if err != nil {
		return nil, err
	}
	for i := range d.Nodes {
		if n := &d.Nodes[i]; n.Config["knowledge"] == st.Base {
			n.Config["knowledge"] = b.Slug
		}
	}
	return b, nil
}

// starters converts the starters. With first, it returns only those with First.
func (s *Server) starters(first bool) []consoleview.Starter {
	var list []consoleview.Starter
	for i := range s.Starters {
		st := &s.Starters[i]
		if first && !st.First {
			continue
		}
		list = append(list, consoleview.Starter{
			ID: st.ID, Icon: st.Icon, Name: st.Document.Name, Text: cmp.Or(st.Text, st.Document.Description), Needs: st.Needs, Graph: web.Thumbnail(st.Document, s.Kinds),
			Asked: s.starterExample(st.Document), Answer: st.Answer,
		})
	}
	return list
}

// minExample is the length of an example, in bytes, that says enough without those of other inputs.
const minExample = 12

// starterExample returns the longest example of the inputs of a starter in one line: that of a question
// says more than that of the customer who asks it. If all are short, it returns all.
func (s *Server) starterExample(d *flow.Document) (text string) {
	inputs := contract.Inputs(d, s.Kinds)
	var all []string
	for i := range inputs {
		if !inputs[i].HasExample {
			continue
		}
		example := exampleText(&inputs[i])
		all = append(all, example)
		if len(example) > len(text) {
			text = example
		}
	}
	if len(text) < minExample {
		return strings.Join(all, " · ")
	}
	return text
}

// exampleText returns the example of an input: the last message of a conversation, or the items of a list separated by dots.
func exampleText(in *contract.Input) string {
	list, ok := in.Example.([]any)
	if !ok {
		return flow.Text(in.Example)
	}
	items := make([]string, len(list))
	for i, item := range list {
		items[i] = flow.Text(item)
		if message, ok := item.(*flow.Object); ok && in.Type == flow.TypeMessages {
			return flow.Text(message.Get("content"))
		}
	}
	return strings.Join(items, " · ")
}

// findStarter returns the starter with an ID, or nil.
func (s *Server) findStarter(id string) *Starter {
	for i := range s.Starters {
		if s.Starters[i].ID == id {
			return &s.Starters[i]
		}
	}
	return nil
}
