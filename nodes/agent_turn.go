package nodes

import (
	"context"
	"strings"

	"sluice/flow"
	"sluice/nodes/agents"
	"sluice/providers"
)

var _ = register(turnKind)

// turnKind returns the kind of the turns of agents.
func turnKind(d Deps) flow.Kind {
	return flow.Kind{
		Name: "agent_turn", Title: "Turn", Group: groupModels, Icon: "bot", Class: flow.Outside, Timeout: flow.ModelTimeout, Internal: true,
		Summary: "Asks the model of an agent what comes next.",
		Fields:  []flow.Field{modelField(taskChat, ""), credentialField},
		Outputs: []flow.Port{{Name: "items", Type: flow.TypeList}, {Name: "text", Type: flow.TypeText}, {Name: "stop", Type: flow.TypeText}, {Name: "json", Type: flow.TypeJSON, Optional: true}, {Name: agents.Wider, Type: flow.TypeJSON, Optional: true}},
		Charge: func(config map[string]any) (flow.Charge, bool) {
			c, paid := chargeChat(config)
			tokens, _ := flow.Float(config[agents.ContextTokens])
			c.Use.Input += int64(tokens)
			provider, _, _ := providers.ParseModel(strings.TrimSpace(flow.Text(config["model"])))
			if p, _ := providers.FindPreset(provider); p.Wire == providers.WireAnthropic {
				c.Use.CacheWrite = c.Use.Input // the whole conversation is marked for the cache
			}
			if maxAnswer(config) == 0 {
				c.Use.Output += providers.TurnMaxTokens - defaultMaxTokens
			}
			return c, paid
		},
		Alternative: fallbackConfig,
		Untrusted:   searches,
		Run:         func(ctx context.Context, in *flow.In) (flow.Out, error) { return runTurn(ctx, d, in) },
	}
}

// runTurn calls the model. It records only the answer; see agents.Port.
func runTurn(ctx context.Context, d Deps, in *flow.In) (flow.Out, error) {
	with, _ := in.Ports[agents.Port].(*agents.Turn)
	in, items, err := with.Enclose(ctx, in)
	if err != nil {
		return flow.Out{}, err
	}
	d.kept = with.Images
	r, m, err := d.prepareChat(ctx, in)
	if err != nil {
		return flow.Out{}, err
	}
	if items, err = d.openPictures(ctx, in, items, m.passesURLs()); err != nil {
		return flow.Out{}, err
	}
	answer, err := d.Providers.Turn(ctx, m.at, providers.TurnRequest{
		ChatRequest: r, Items: items, Tools: with.Tools, ToolChoice: with.Choice, Parallel: with.Parallel, CacheKey: with.CacheKey,
	}, in.Emit)
	var used *providers.Usage
	if answer != nil {
		used = &answer.Usage
	}
	out := m.bookAnswer(used, err)
	if err != nil {
		return out, m.failed(ctx, err)
	}
	out.Outputs = map[string]any{"items": answer.Items, "text": answer.Text, "stop": answer.Stop}
	if object, ok := flow.AsObject(answer.JSON); ok {
		out.Outputs["json"] = object
	}
	return out, agents.NoteWider(ctx, in, out.Outputs)
}
