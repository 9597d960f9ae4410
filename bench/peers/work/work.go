// Package work is what the programs do in their steps: a greeting, a call of a service, or the turns of an agent. It must not know how
// a program records steps.
package work

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
)

var (
	service = flag.String("call", "", "URL that the second step calls instead of filling in a template")
	model   = flag.String("model", "", "base URL of a model that an agent asks, instead of the three steps")
)

// client keeps as many connections open as Sluice does.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}}

// Step executes a function once and records its result.
type Step func(func(context.Context) (string, error)) (string, error)

// Run does the work for a name and returns JSON.
func Run(name string, step Step) (string, error) {
	if *model != "" {
		return agent(name, step)
	}
	name, err := step(func(context.Context) (string, error) { return name, nil })
	if err != nil {
		return "", err
	}
	text, err := step(func(ctx context.Context) (string, error) {
		if *service == "" {
			return `"Hello ` + name + `!"`, nil
		}
		body, err := post(ctx, *service, map[string]string{"name": name})
		return string(body), err
	})
	if err != nil {
		return "", err
	}
	return step(func(context.Context) (string, error) { return text, nil })
}

// message is a part of a conversation, in OpenAI's format.
type message struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	ToolCalls []call `json:"tool_calls,omitempty"`
	CallID    string `json:"tool_call_id,omitempty"`
}

// call is a call of a tool.
type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// tools declares the tool of the agent, as Sluice does.
var tools = json.RawMessage(`[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object","properties":{"value":{"type":"string","description":"A number"}},"required":["value"]}}}]`)

// agent asks the model and executes the calls that it asks for until it answers. Each turn and each call is a step.
func agent(prompt string, step Step) (string, error) {
	conversation := []message{{Role: "user", Content: prompt}}
	for {
		turn, err := step(func(ctx context.Context) (string, error) { return ask(ctx, conversation) })
		if err != nil {
			return "", err
		}
		var said message
		if err := json.Unmarshal([]byte(turn), &said); err != nil {
			return "", err
		}
		if len(said.ToolCalls) == 0 {
			text, err := json.Marshal(said.Content)
			return string(text), err
		}
		conversation = append(conversation, said)
		for _, c := range said.ToolCalls {
			result, err := step(func(context.Context) (string, error) {
				var in struct{ Value string }
				err := json.Unmarshal([]byte(c.Function.Arguments), &in)
				return in.Value, err
			})
			if err != nil {
				return "", err
			}
			conversation = append(conversation, message{Role: "tool", Content: result, CallID: c.ID})
		}
	}
}

// ask returns what the model says next as JSON. The answer is streamed, as Sluice asks for it.
func ask(ctx context.Context, conversation []message) (string, error) {
	body, err := post(ctx, *model+"/chat/completions", map[string]any{"model": "m", "stream": true, "messages": conversation, "tools": tools})
	if err != nil {
		return "", err
	}
	said := message{Role: "assistant"}
	for line := range strings.Lines(string(body)) {
		data, found := strings.CutPrefix(line, "data: ")
		if !found || strings.HasPrefix(data, "[DONE]") {
			continue
		}
		var event struct {
			Choices []struct{ Delta message }
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return "", err
		}
		for _, c := range event.Choices {
			said.Content += c.Delta.Content
			said.ToolCalls = append(said.ToolCalls, c.Delta.ToolCalls...)
		}
	}
	if said.Content == "" && said.ToolCalls == nil {
		return "", errors.New("the model said nothing")
	}
	text, err := json.Marshal(said)
	return string(text), err
}

// post sends JSON and returns the body of the answer.
func post(ctx context.Context, url string, in any) ([]byte, error) {
	data, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, "POST", url, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %s", url, resp.Status)
	}
	return body, err
}
