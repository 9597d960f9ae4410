package nodes

import (
	"context"
	"strings"

	"sluice/flow"
	"sluice/providers"
)

// The chat kind sends a prompt to a language model. How the answer's schema
// reaches the model and becomes ports is in chat_schema.go.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "chat", Title: "Chat", Group: groupModels, Icon: "message-square", Class: flow.Outside, Timeout: flow.ModelTimeout,
		Summary: "Sends a prompt to a language model and outputs its answer.",
		Doc: "Sends a prompt to a model of any provider and outputs its answer, streamed to clients that follow the run. " +
			"A model is written `provider/model`, such as `openai/gpt-5-nano`, `anthropic/claude-sonnet-4-5` or `ollama/llama3.2`. " +
			"A credential with a base URL is a provider of its own: `my-gateway/some-model`. " +
			"Without a model, the node takes the first chat model of a server on this machine (Ollama, LM Studio, llama.cpp, vLLM), " +
			"and fails with advice if there is no such server: it never invents an answer.\n\n" +
			"With a `schema`, a JSON Schema of an object, the answer is JSON and validated against it; an answer that does not match fails the step. " +
			"`json` has it parsed, and every property of the typed schema is an output port of its own. " +
			"If the answer lacks a property, its port has no value and nodes connected to it are skipped, as are nodes connected to `json` if there is no schema. " +
			"Properties named text, json, finish or error have no port; read them from `json`.\n\n" +
			"Images are files, URLs or data URLs. URLs are passed to providers that fetch them; otherwise Sluice fetches them, up to 48 MiB in total. " +
			"The cost is what the provider reports, or is computed from the price that the workspace entered for the model, or from the price list that ships with Sluice. Tokens from the provider's cache count at their own price.",
		Fields: []flow.Field{
			modelField(taskChat, "Default: a model of a server on this machine."),
			{Name: "prompt", Title: "Prompt", Type: flow.FieldArea, Required: true, Template: true,
				Help: "What to ask. A {{name}} in it becomes a port."},
			{Name: "system", Title: "System prompt", Type: flow.FieldArea, Template: true,
				Help: "The role and rules of the model. A {{name}} in it becomes a port."},
			{Name: "messages", Title: "Messages", Type: flow.FieldList, More: true,
				Help: "Earlier messages of the conversation, before the prompt: a list of objects with role (user, assistant or system) and content."},
			{Name: "images", Title: "Images", Type: flow.FieldList, Secrets: flow.SecretsInURL, Value: flow.TypeSources,
				Help: "Images for the model: a list of files, URLs or data URLs, or one of them."},
			{Name: "temperature", Title: "Temperature", Type: flow.FieldNumber, Min: ptr(0), Max: ptr(2),
				Help: "Randomness of the answer, from 0 to 2. Default: the provider's setting."},
			{Name: "max_tokens", Title: "Max tokens", Type: flow.FieldInteger, Min: ptr(1),
				Help: "Maximum length of the answer in tokens; a word has one or two. Default: the provider's setting."},
			schemaField,
			{Name: "top_p", Title: "Top p", Type: flow.FieldNumber, Min: ptr(0), Max: ptr(1), More: true,
				Help: "Nucleus sampling: only the most likely tokens with this total probability are considered, from 0 to 1. Set this or the temperature."},
			{Name: "stop", Title: "Stop sequences", Type: flow.FieldList, Max: ptr(maxStops), More: true,
				Help: "Texts at which the answer ends, at most 4. They are not part of the answer."},
			credentialField,
		},
		Outputs: []flow.Port{
			{Name: "text", Title: "Text", Type: flow.TypeText, Help: "The answer."},
			{Name: "json", Title: "JSON", Type: flow.TypeJSON, Optional: true, Help: "The answer as a value, when there is a schema."},
			{Name: "finish", Title: "Finish reason", Type: flow.TypeText, Help: "Why the answer ended: stop, or length if it was truncated at max tokens; a provider may have others."},
		},
		Example: flow.Example{
			Config: map[string]any{"model": "openai/gpt-5-nano", "system": "Answer in one sentence.", "prompt": "Answer this customer in a {{tone}} tone:\n\n{{ticket}}"},
			Ports:  map[string]any{"ticket": "My parcel has not arrived.", "tone": "friendly"},
		},
		DynamicSchema: chatPorts,
		Sends:         modelDestination,
		Check:         func(n *flow.Node) []flow.Problem { return append(checkModel(taskChat)(n), checkSchema(n)...) },
		Charge:        chargeChat,
		Run:           func(ctx context.Context, in *flow.In) (flow.Out, error) { return chat(ctx, d, in) },
	}
})

// maxStops is OpenAI's limit; all other providers accept at least as many.
const maxStops = 4

// chat runs a step. It returns the usage of a failed call too: a provider
// charges for an answer that breaks off or does not match the schema.
func chat(ctx context.Context, d Deps, in *flow.In) (flow.Out, error) {
	r, err := chatRequest(in)
	if err != nil {
		return flow.Out{}, err
	}
	m, err := d.findTarget(ctx, in, taskChat)
	if err != nil {
		return flow.Out{}, err
	}
	r.Model = m.model
	if r.Images, err = d.images(ctx, in, "images", m.passesURLs()); err != nil {
		return flow.Out{}, err
	}
	answer, err := d.Providers.Chat(ctx, m.at, r, in.Emit)
	var out flow.Out
	if answer != nil {
		out.Usage = m.usage(answer.Usage, 0)
	}
	if err != nil {
		return out, m.failed(ctx, err)
	}
	out.Outputs, err = chatOutputs(m, r, answer)
	return out, err
}

// chatRequest reads and checks all fields except the images, which may have to
// be downloaded.
func chatRequest(in *flow.In) (r providers.ChatRequest, err error) {
	r = providers.ChatRequest{System: in.Text("system"), Key: in.Key}
	if r.Prompt = in.Text("prompt"); strings.TrimSpace(r.Prompt) == "" && in.Config["images"] == nil {
		return r, flow.Errorf(flow.CodeInputInvalid, "%q is empty.", "prompt")
	}
	if err = readHistory(&r, in.Config["messages"]); err != nil {
		return r, err
	}
	if r.Temperature, err = optionalNumber(in, "temperature", 0, 2); err != nil {
		return r, err
	}
	if r.TopP, err = optionalNumber(in, "top_p", 0, 1); err != nil {
		return r, err
	}
	if r.MaxTokens, err = optionalCount(in, "max_tokens"); err != nil {
		return r, err
	}
	if r.Stop, err = readStops(in); err != nil {
		return r, err
	}
	r.Schema, err = readSchema(in)
	return r, err
}

// readStops reads the stop sequences. It does not trim them: a line break is a
// common stop sequence.
func readStops(in *flow.In) ([]string, error) {
	list, _ := in.Config["stop"].([]any)
	var stops []string
	for _, item := range list {
		if s := flow.Text(item); s != "" {
			stops = append(stops, s)
		}
	}
	if len(stops) > maxStops {
		return nil, flow.Errorf(flow.CodeInputInvalid, "%q has %d texts; at most %d are taken.", "stop", len(stops), maxStops)
	}
	return stops, nil
}

// chatOutputs converts an answer to the values of the output ports. A reasoning
// model can spend all its tokens before it writes any text, so an empty,
// truncated answer gets an error of its own.
func chatOutputs(m *target, r providers.ChatRequest, answer *providers.ChatResult) (map[string]any, error) {
	if answer.Text == "" && answer.Stop == "length" {
		return nil, flow.Errorf(flow.CodeOutputInvalid, "The model used up its tokens before it answered. Allow more in max_tokens. Model: %s.", m.ref)
	}
	outputs := map[string]any{"text": answer.Text, "finish": answer.Stop}
	if len(r.Schema) == 0 {
		return outputs, nil
	}
	object, ok := answer.JSON.(map[string]any)
	if !ok {
		return nil, flow.Errorf(flow.CodeOutputInvalid, "The model's answer is not an object, which the schema requires. Model: %s.", m.ref)
	}
	for name, value := range object {
		if hasOwnPort(name) {
			outputs[name] = value
		}
	}
	outputs["json"] = object
	if !strings.HasPrefix(strings.TrimSpace(answer.Text), "{") { // a fence or words around it
		outputs["text"] = string(flow.EncodeJSON(object))
	}
	return outputs, nil
}
