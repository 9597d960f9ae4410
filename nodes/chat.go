package nodes

import (
	"context"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/nodes/agents"
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
			"If the answer lacks a property, its port has no value and nodes connected to it are skipped; so are nodes connected to `json` if there is no schema. " +
			"Properties named text, json, finish or error have no port; read them from `json`.\n\n" +
			"A conversation is a list of messages as in OpenAI's API, such as `[{\"role\": \"user\", \"content\": \"Hello\"}]`. The content is a text or a list of parts: " +
			"`{\"type\": \"text\", \"text\": \"…\"}`, `{\"type\": \"image_url\", \"image_url\": {\"url\": \"…\"}}`, or a file value.\n\n" +
			"Images are files, URLs or data URLs. URLs are passed to providers that fetch them; otherwise Sluice fetches them, up to 48 MiB in total. " +
			"The cost is what the provider reports, or is computed from the price that the workspace entered for the model, or from the price list that ships with Sluice. Tokens from the provider's cache count at their own price. " +
			"A long system prompt is marked for the cache of providers that want such marks (Anthropic). The fees of web searches are not in the price list, so a step that searched also counts as unpriced.",
		Fields: slices.Concat(chatFields, []flow.Field{fallbackField, credentialField}),
		Outputs: []flow.Port{
			{Name: "text", Title: "Text", Type: flow.TypeText, Help: "The answer."},
			{Name: "json", Title: "JSON", Type: flow.TypeJSON, Optional: true, Help: "The answer as a value, when there is a schema."},
			{Name: "finish", Title: "Finish reason", Type: flow.TypeText, Help: "Why the answer ended: stop, or length if it was truncated at max tokens; a provider may have others."},
			{Name: "messages", Title: "Messages", Type: flow.TypeList, Help: "The whole conversation with the answer, for the messages of another chat node. The system prompt is not part of it."},
		},
		Example: flow.Example{
			Config: map[string]any{"model": "openai/gpt-5-nano", "system": "Answer in one sentence.", "prompt": "Answer this customer in a {{tone}} tone:\n\n{{ticket}}"},
			Ports:  map[string]any{"ticket": "My parcel has not arrived.", "tone": "friendly"},
		},
		DynamicSchema: chatPorts,
		Sends:         modelDestination,
		Check: func(n *flow.Node) []flow.Problem {
			return slices.Concat(checkModel(taskChat)(n), checkSchema(n), checkSettings(n), checkFallback(n))
		},
		Charge:      chargeChat,
		Alternative: fallbackConfig,
		Untrusted:   searches,
		Tool:        &flow.ToolUse{Result: []string{"text"}},
		Run:         func(ctx context.Context, in *flow.In) (flow.Out, error) { return chat(ctx, d, in) },
	}
})

// chatFields are the fields of kinds that talk to a language model.
var chatFields = slices.Concat([]flow.Field{
	modelField(taskChat, "Empty: a local model, if one is running."),
	{Name: "prompt", Title: "Prompt", Type: flow.FieldArea, Required: true, Unless: "messages", Template: true,
		Help: "The user message. Type {{ to insert a value."},
	{Name: "system", Title: "System prompt", Type: flow.FieldArea, Template: true,
		Help: "Instructions for the model."},
	{Name: "messages", Title: "Messages", Type: flow.FieldList, More: true,
		Help: "The conversation so far, as a list of objects with role and content. Without a prompt, the last message is answered."},
	{Name: "images", Title: "Images", Type: flow.FieldList, More: true, Secrets: flow.SecretsInURL, Value: flow.TypeSources,
		Help: "One or more images (files, URLs or data URLs)."},
	{Name: "temperature", Title: "Temperature", Type: flow.FieldNumber, More: true, Min: ptr(0), Max: ptr(2),
		Help: "Higher is more random. Empty: the provider's setting."},
	{Name: "max_tokens", Title: "Max tokens", Type: flow.FieldInteger, More: true, Min: ptr(1),
		Help: "Longest answer; a word has one or two tokens. Empty: the provider's setting."},
	schemaField,
}, chatSettings)

// chat runs a step. It returns the usage of a failed call too: a provider
// charges for an answer that breaks off or does not match the schema.
func chat(ctx context.Context, d Deps, in *flow.In) (flow.Out, error) {
	r, m, err := d.prepareChat(ctx, in)
	if err != nil {
		return flow.Out{}, err
	}
	answer, err := d.Providers.Chat(ctx, m.at, r, in.Emit)
	var used *providers.Usage
	if answer != nil {
		used = &answer.Usage
	}
	out := m.bookAnswer(used, err)
	if err != nil {
		return out, m.failed(ctx, err)
	}
	if out.Outputs, err = chatOutputs(m, r, answer); err != nil {
		return out, err
	}
	if _, property := out.Outputs["messages"]; !property {
		out.Outputs["messages"] = conversation(in, flow.Text(out.Outputs["text"]))
	}
	return out, nil
}

// bookAnswer returns the result of a step with the usage of its answer. used is nil if none had begun.
func (m *target) bookAnswer(used *providers.Usage, err error) (out flow.Out) {
	var u providers.Usage
	if out.Begun = used != nil && err != nil; used != nil {
		u = *used
		u.Incomplete = u.Incomplete || out.Begun && u.OutputTokens == 0
	}
	m.chargeCall(&out, u, err)
	return out
}

// prepareChat returns the request of a step, with its images, and the model to send it to.
func (d Deps) prepareChat(ctx context.Context, in *flow.In) (providers.ChatRequest, *target, error) {
	r, messages, err := chatRequest(in)
	if err != nil {
		return r, nil, err
	}
	m, err := d.findTarget(ctx, in, taskChat)
	if err != nil {
		return r, nil, err
	}
	r.Model = m.model
	if r.Images, err = d.images(ctx, in, "images", m.passesURLs()); err != nil {
		return r, nil, err
	}
	r.History, err = d.history(ctx, in, messages, m.passesURLs())
	return r, m, err
}

// chatRequest reads and checks all fields except the images, which may have to
// be downloaded. It returns the messages of the conversation separately for that reason.
func chatRequest(in *flow.In) (r providers.ChatRequest, messages []chatMessage, err error) {
	r = providers.ChatRequest{System: in.Text("system"), Key: in.Key}
	system, messages, err := readMessages(in.Config["messages"])
	if err != nil {
		return r, nil, err
	}
	r.System = strings.TrimSpace(r.System + "\n\n" + system)
	if r.Prompt = in.Text("prompt"); blank(r.Prompt) {
		r.Prompt = ""
		if n := len(messages); !agents.Continues(in) && in.Config["images"] == nil && (n == 0 || messages[n-1].role != "user") {
			return r, nil, flow.Errorf(flow.CodeInputInvalid, "%q is empty, and %q does not end with a message of the user.", "prompt", "messages")
		}
	}
	if err = readSettings(in, &r); err != nil {
		return r, nil, err
	}
	r.Schema, err = readSchema(in)
	return r, messages, err
}

// chatOutputs converts an answer to the values of the output ports.
func chatOutputs(m *target, r providers.ChatRequest, answer *providers.ChatResult) (map[string]any, error) {
	outputs := map[string]any{"text": answer.Text, "finish": answer.Stop}
	if r.Schema == nil {
		return outputs, nil
	}
	object, ok := flow.AsObject(answer.JSON)
	if !ok {
		return nil, flow.Errorf(flow.CodeOutputInvalid, "The model's answer is not an object, which the schema requires. Model: %s.", m.ref)
	}
	for name, value := range object.All() {
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
