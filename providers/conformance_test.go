package providers

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The conformance table of the wires: what real servers answer, in the format of each wire, and
// what a caller gets for it. Answers are written by hand and served over HTTP.

// wire is one wire format, or the dialect of a server, with answers in it.
type wire struct {
	name     string
	provider string
	run      func(context.Context, *Client, Endpoint) (text, stop string, used Usage, err error)
	whole    string   // an answer that is not streamed: "Hi there", stop, 7 and 3 tokens
	stream   []string // the same as a stream, one piece each
	bare     []string // a stream with the text and a proper end, without a finish reason and usage; nil: not possible
	strange  []string // a stream with the text and an unknown finish reason "novel"
	empty    []string // properly ended streams and bodies without any text
	bad      []string // streams with half a text and a known bad finish reason
}

// converse asks a chat model.
func converse(request ChatRequest) func(context.Context, *Client, Endpoint) (string, string, Usage, error) {
	request.Model, request.Prompt = "m", "?"
	return func(ctx context.Context, c *Client, at Endpoint) (text, stop string, used Usage, err error) {
		r, err := c.Chat(ctx, at, request, nil)
		if r != nil {
			text, stop, used = r.Text, r.Stop, r.Usage
		}
		return text, stop, used, err
	}
}

// openAIWire returns the answers of OpenAI's chat completions, as one server writes them.
func openAIWire(name, provider, front, usage string) wire {
	chunk := func(delta, finish string) string {
		return data(`{"id":"c",` + front + `"object":"chat.completion.chunk","model":"m-2026","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`)
	}
	counted := data(`{"id":"c",` + front + `"object":"chat.completion.chunk","model":"m-2026","choices":[],"usage":` + usage + `}`)
	answer := `{"id":"c",` + front + `"object":"chat.completion","model":"m-2026","choices":[{"index":0,"message":{"role":"assistant","content":"Hi there","refusal":null,"tool_calls":[]},"logprobs":null,"finish_reason":"stop"}],"usage":` + usage + `}`
	text := []string{chunk(`{"role":"assistant","content":""}`, `null`), chunk(`{"content":"Hi "}`, `null`), chunk(`{"content":"there"}`, `null`)}
	with := func(more ...string) []string { return append(append([]string(nil), text...), more...) }
	w := wire{name: name, provider: provider, run: converse(ChatRequest{}), whole: answer,
		stream: with(chunk(`{}`, `"stop"`), counted, done), bare: with(done), strange: with(chunk(`{}`, `"novel"`), counted, done),
		empty: []string{done, data(`{"choices":null}`) + done, `{"choices":null,"usage":null}`, `{"id":"c","object":"chat.completion","choices":[]}`,
			chunk(`{"role":"assistant","content":""}`, `"stop"`) + counted + done, chunk(`{"content":" \n"}`, `"stop"`) + done, chunk(`{}`, `"length"`) + done,
			strings.Replace(answer, `"Hi there"`, `null`, 1)}}
	for _, reason := range []string{"error", "abort", "engine_error", "insufficient_system_resource", "malformed_function_call",
		"function_call_filter: MALFORMED_FUNCTION_CALL", "tool_calls", "function_call", "content_filter", "SAFETY"} {
		w.bad = append(w.bad, strings.Join(with(chunk(`{}`, `"`+reason+`"`), counted, done), ""), strings.Replace(answer, `"finish_reason":"stop"`, `"finish_reason":"`+reason+`"`, 1))
	}
	return w
}

// wires are all wire formats of chat models.
func wires() []wire {
	claudeWhole := `{"id":"msg_1","type":"message","role":"assistant","model":"m-2026","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Hi there"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":7,"output_tokens":3}}`
	claudeFront := event("message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m-2026","content":[],"stop_reason":null,"usage":{"input_tokens":7,"output_tokens":1}}}`)
	claudeStop := func(reason string) string {
		return event("message_delta", `{"type":"message_delta","delta":{"stop_reason":`+reason+`},"usage":{"output_tokens":3}}`) + event("message_stop", `{"type":"message_stop"}`)
	}
	claudeHi := claudeText("Hi ") + claudeText("there")
	response := func(status, more string) string {
		return `{"id":"r","object":"response","status":"` + status + `","error":null,"model":"m-2026",` + more + `"output":[{"type":"reasoning","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi there","annotations":[]}]}],"usage":{"input_tokens":7,"output_tokens":3,"total_tokens":10}}`
	}
	said := data(`{"type":"response.created","response":{"object":"response","status":"in_progress","error":null,"output":[]}}`) +
		data(`{"type":"response.output_text.delta","delta":"Hi "}`) + data(`{"type":"response.output_text.delta","delta":"there"}`)
	over := func(kind, r string) string { return data(`{"type":"response.` + kind + `","response":` + r + `}`) }
	silent := strings.Replace(response("completed", ""), `"Hi there"`, `""`, 1)
	list := []wire{
		openAIWire("OpenAI", "openai", `"service_tier":"default","system_fingerprint":"fp",`, `{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":0}}`),
		openAIWire("Gemini", "gemini", ``, `{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}`),
		openAIWire("Ollama", "ollama", `"system_fingerprint":"fp_ollama",`, `{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}`),
		openAIWire("vLLM", "vllm", `"prompt_logprobs":null,`, `{"prompt_tokens":7,"total_tokens":10,"completion_tokens":3,"prompt_tokens_details":null}`),
		openAIWire("llama.cpp", "llamacpp", `"timings":{"prompt_n":7},`, `{"completion_tokens":3,"prompt_tokens":7,"total_tokens":10}`),
		openAIWire("another", "openai_compatible", ``, `{"prompt_tokens":7,"completion_tokens":3}`),
		{name: "Responses", provider: "openai", run: converse(ChatRequest{WebSearch: true}), whole: response("completed", ""),
			stream: []string{said, over("completed", response("completed", ""))},
			empty:  []string{done, silent, over("completed", silent), `{"id":"r","object":"response","status":"completed","output":[]}`},
			bad: []string{said + over("incomplete", response("incomplete", `"incomplete_details":{"reason":"content_filter"},`)), said + over("failed", response("failed", "")),
				response("incomplete", `"incomplete_details":{"reason":"content_filter"},`), response("cancelled", "")}},
		{name: "Anthropic", provider: "anthropic", run: converse(ChatRequest{}), whole: claudeWhole,
			stream: []string{claudeFront, claudeHi, claudeStop(`"end_turn"`)}, bare: []string{claudeFront, claudeHi, event("message_stop", `{"type":"message_stop"}`)},
			strange: []string{claudeFront, claudeHi, claudeStop(`"novel"`)},
			empty:   []string{done, claudeFront + claudeStop(`"end_turn"`), claudeFront + claudeStop(`"max_tokens"`), strings.Replace(claudeWhole, "Hi there", "", 1), `{"type":"message","content":[]}`},
			bad: []string{claudeFront + claudeHi + claudeStop(`"pause_turn"`), claudeFront + claudeHi + claudeStop(`"tool_use"`), claudeFront + claudeHi + claudeStop(`"refusal"`),
				strings.Replace(claudeWhole, `"end_turn"`, `"pause_turn"`, 1)}},
	}
	return list
}

// serve answers every request with a body.
func serve(t *testing.T, mime, body string) *upstream {
	return setup(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mime)
		_, _ = io.WriteString(w, body)
	})
}

// oneLine puts JSON into a single data line.
func oneLine(body string) string { return data(strings.ReplaceAll(body, "\n", " ")) }

const (
	typeJSON   = "application/json"
	typeStream = "text/event-stream; charset=utf-8"
)

// TestWires_read_answers sends one answer in every form in which servers send it.
func TestWires_read_answers(t *testing.T) {
	t.Parallel()
	for _, w := range wires() {
		stream := strings.Join(w.stream, "")
		withCR := strings.ReplaceAll(stream, "\n", "\r")
		cases := map[string]struct{ mime, body string }{
			"a stream":                             {typeStream, stream},
			"a stream without a type":              {"text/plain", stream},
			"a stream that says JSON":              {typeJSON, stream},
			"a stream with CR":                     {typeStream, withCR},
			"a stream with CRLF":                   {typeStream, strings.ReplaceAll(stream, "\n", "\r\n")},
			"a stream with a byte order mark":      {typeStream, "\uFEFF" + stream},
			"a stream with comments":               {typeStream, ": ping\n\n:\n" + strings.ReplaceAll(stream, "\n\n", "\n\n: ping\n\n")},
			"a stream with empty data":             {typeStream, "data:\n\ndata: \n\n" + strings.ReplaceAll(stream, "\n\n", "\n\ndata:\n\n")},
			"a stream after words":                 {typeStream, "data: ping\n\ndata: connected to worker 4\n\n" + stream},
			"a stream with data in several lines":  {typeStream, strings.ReplaceAll(stream, `,"`, ",\ndata: \"")},
			"a stream without its last blank line": {typeStream, strings.TrimRight(stream, "\n")},
			"JSON":                                 {typeJSON, w.whole},
			"JSON with a byte order mark":          {typeJSON + "; charset=utf-8", "\uFEFF\r\n " + w.whole + "\n"},
			"JSON without a type":                  {"text/plain", w.whole},
			"JSON that says stream":                {typeStream, w.whole},
			"JSON in a data line":                  {typeStream, oneLine(w.whole)},
			"JSON before [DONE]":                   {typeStream, oneLine(w.whole) + done},
			"JSON after keep-alive lines":          {typeJSON, "\n\n   \n" + w.whole},
		}
		for name, c := range cases {
			t.Run(w.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				u := serve(t, c.mime, c.body)
				text, stop, used, err := w.run(brief(t), u.client, u.at(w.provider))
				used.Tier = ""
				if err != nil || text != "Hi there" || stop != "stop" || used != (Usage{InputTokens: 7, OutputTokens: 3}) || len(u.asked()) != 1 {
					t.Errorf("got %q, %q, %+v, %v after %d calls", text, stop, used, err, len(u.asked()))
				}
			})
		}
		t.Run(w.name+"/a stream by bytes", func(t *testing.T) {
			t.Parallel()
			u := setup(t, func(rw http.ResponseWriter, _ *http.Request) { stream1(rw, stream) })
			if text, stop, _, err := w.run(brief(t), u.client, u.at(w.provider)); err != nil || text != "Hi there" || stop != "stop" {
				t.Errorf("got %q, %q, %v", text, stop, err)
			}
		})
		if w.bare == nil {
			continue
		}
		for name, c := range map[string]struct {
			body, stop string
			unknown    bool // the usage
		}{"without a finish reason": {strings.Join(w.bare, ""), "", true}, "with an unknown finish reason": {strings.Join(w.strange, ""), "novel", false}} {
			t.Run(w.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				u := serve(t, typeStream, c.body)
				text, stop, used, err := w.run(brief(t), u.client, u.at(w.provider))
				if err != nil || text != "Hi there" || stop != c.stop || used.Incomplete != c.unknown {
					t.Errorf("got %q, %q, %+v, %v", text, stop, used, err)
				}
			})
		}
	}
}

// stream1 sends a stream byte by byte.
func stream1(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", typeStream)
	for i := range len(body) {
		_, _ = io.WriteString(w, body[i:i+1])
		w.(http.Flusher).Flush()
	}
}

// TestWires_refuse_no_answer sends answers without text, and halves of answers: none of them is
// a success or retried, and none is free.
func TestWires_refuse_no_answer(t *testing.T) {
	t.Parallel()
	for _, w := range wires() {
		for i, body := range w.empty {
			t.Run(w.name+"/nothing/"+itoa(i), func(t *testing.T) {
				t.Parallel()
				mime := typeStream
				if strings.HasPrefix(body, "{") {
					mime = typeJSON
				}
				u := serve(t, mime, body)
				_, _, used, err := w.run(brief(t), u.client, u.at(w.provider))
				if e := failure(t, err); e.Class != ClassBadAnswer || e.Retryable {
					t.Errorf("%s: got %+v", body, e)
				}
				if paid := used.OutputTokens > 0 || used.Incomplete || Lost(err); !paid {
					t.Errorf("%s: it counts as free: %+v", body, used)
				}
			})
		}
		for i, body := range w.bad {
			t.Run(w.name+"/half/"+itoa(i), func(t *testing.T) {
				t.Parallel()
				mime := typeStream
				if strings.HasPrefix(body, "{") {
					mime = typeJSON
				}
				u := serve(t, mime, body)
				text, _, used, err := w.run(brief(t), u.client, u.at(w.provider))
				e := failure(t, err)
				if e.Retryable || text != "" || used.OutputTokens != 3 || used.Incomplete {
					t.Errorf("%s: got %q, %+v, %+v", body, text, used, e)
				}
				if !strings.Contains(e.Message, "refused to answer") && !strings.Contains(e.Message, "Hi there") {
					t.Errorf("what arrived is not in %q", e.Message)
				}
			})
		}
	}
}

// media are the calls whose answers are not chats.
var media = []method{methods[5], methods[6], methods[7], methods[8], methods[9]}

// faults are errors that servers send with the status 200, and what they mean.
var faults = []struct {
	name, body string
	class      ErrorClass
	retryable  bool
	says       string
}{
	{"OpenAI's context", `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, ClassRejected, false, "maximum context length"},
	{"a text", `{"error":"Incorrect API key provided: x"}`, ClassAuth, false, "Incorrect API key"},
	{"a status of its own", `{"error":{"code":429,"message":"Slow down"}}`, ClassRateLimited, true, "Slow down"},
	{"a status as text", `{"error":{"code":"503","message":"No workers"}}`, ClassUnavailable, true, "No workers"},
	{"Google's", `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, ClassAuth, false, "API key not valid"},
	{"Google's quota", `{"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}`, ClassRateLimited, true, "Quota exceeded"},
	{"vLLM's", `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000.","type":"BadRequestError","param":null,"code":400}`, ClassRejected, false, "4096 tokens"},
	{"vLLM's without a model", `{"object":"error","message":"The model x does not exist.","type":"NotFoundError","code":404}`, ClassNotFound, false, "does not exist"},
	{"a code and msg", `{"code":401,"msg":"Invalid token"}`, ClassAuth, false, "Invalid token"},
	{"a code of its own", `{"code":20012,"message":"Model does not exist. Please check it carefully.","data":null}`, ClassNotFound, false, "does not exist"},
	{"a code beside nothing", `{"code":"InvalidApiKey","message":"Invalid API-key provided.","request_id":"r","choices":[]}`, ClassAuth, false, "Invalid API-key"},
	{"MiniMax's key", `{"id":"x","choices":null,"base_resp":{"status_code":1004,"status_msg":"login fail: Please carry the API secret key"}}`, ClassAuth, false, "login fail"},
	{"MiniMax's balance", `{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`, ClassRejected, false, "insufficient balance"},
	{"Baidu's", `{"error_code":110,"error_msg":"Access token invalid or no longer valid"}`, ClassAuth, false, "Access token invalid"},
	{"Baidu's limit", `{"error_code":18,"error_msg":"Open api qps request limit reached"}`, ClassRateLimited, true, "qps request limit"},
	{"FastAPI's", `{"detail":"Unauthorized"}`, ClassAuth, false, "Unauthorized"},
	{"FastAPI's list", `{"detail":[{"loc":["body","model"],"msg":"field required","type":"value_error.missing"}]}`, ClassRejected, false, "field required"},
	{"FastAPI's context", `{"detail":"Input is too long: the prompt exceeds the context window"}`, ClassRejected, false, "context window"},
	{"Cloudflare's", `{"result":null,"success":false,"errors":[{"code":10000,"message":"Authentication error"}],"messages":[]}`, ClassAuth, false, "Authentication error"},
	{"Anthropic's", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, ClassUnavailable, true, "Overloaded"},
	{"Anthropic's prompt", `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200001 tokens > 200000 maximum"}}`, ClassRejected, false, "prompt is too long"},
	{"of the Responses API", `{"type":"error","code":"server_error","message":"The server had an error","sequence_number":1}`, ClassUnavailable, true, "had an error"},
	{"llama.cpp's", `{"error":{"code":500,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, ClassRejected, false, "available context size"},
	{"without credit", `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, ClassRejected, false, "current quota"},
	{"of a choice", `{"id":"g","choices":[{"index":0,"delta":{"content":""},"message":{"content":""},"error":{"code":429,"message":"The provider is limited"},"finish_reason":"error"}]}`, ClassRateLimited, true, "provider is limited"},
	{"an unknown one", `{"error":{"message":"Something odd"}}`, ClassUnavailable, true, "Something odd"},
}

// TestWires_judge_errors sends errors with the status 200, in all forms in which a wire can
// carry them: each must mean the same as with its own status, and cost nothing.
func TestWires_judge_errors(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, u *upstream, i int, used Usage, err error) {
		t.Helper()
		f := faults[i]
		e := failure(t, err)
		if e.Class != f.class || e.Retryable != f.retryable || !strings.Contains(e.Message, f.says) || len(u.asked()) != 1 {
			t.Errorf("got %s, retryable %v, %q; want %s", e.Class, e.Retryable, e.Message, f.class)
		}
		if Lost(err) || used != (Usage{}) {
			t.Errorf("a refused call is not free: %+v", used)
		}
	}
	for i, f := range faults {
		bodies := map[string]struct{ mime, body string }{
			"JSON": {typeJSON, f.body}, "JSON that says stream": {typeStream, f.body},
			"a data line": {typeStream, oneLine(f.body) + done}, "an error event": {typeStream, event("error", f.body)},
		}
		for _, w := range wires() {
			for name, c := range bodies {
				t.Run(w.name+"/"+f.name+"/"+name, func(t *testing.T) {
					t.Parallel()
					u := serve(t, c.mime, c.body)
					_, _, used, err := w.run(brief(t), u.client, u.at(w.provider))
					check(t, u, i, used, err)
				})
			}
		}
		for _, m := range media {
			t.Run(m.name+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				u := serve(t, typeJSON, f.body)
				check(t, u, i, Usage{}, m.run(brief(t), u.client, u.at(m.provider)))
			})
		}
	}
	t.Run("an event that is text", func(t *testing.T) {
		t.Parallel()
		u := serve(t, typeStream, "event: error\ndata: upstream connect error\n\n")
		_, err := u.client.Chat(brief(t), u.at("openai"), ChatRequest{Model: "m", Prompt: "?"}, nil)
		if e := failure(t, err); e.Class != ClassUnavailable || !strings.Contains(e.Message, "upstream connect error") {
			t.Errorf("got %+v", e)
		}
	})
	t.Run("the wait of Google", func(t *testing.T) {
		t.Parallel()
		u := serve(t, typeJSON, faults[5].body)
		_, err := u.client.Chat(brief(t), u.at("gemini"), ChatRequest{Model: "m", Prompt: "?"}, nil)
		if e := failure(t, err); e.After != 34*time.Second {
			t.Errorf("waits %s", e.After)
		}
	})
}

// TestWires_refuse_unusable_media sends what is not an answer to calls without a stream.
func TestWires_refuse_unusable_media(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, mime, body, of string }{
		{"a page", "text/html", "<html>Hello</html>", ""},
		{"nothing", typeJSON, "", ""},
		{"nothing that says sound", "audio/mpeg", "", "Speech"},
		{"words that say sound", "audio/mpeg", `{"status":"queued"}`, "Speech"},
		{"null in a vector", typeJSON, `{"data":[{"index":0,"embedding":[0.1,null,0.3]}],"usage":{"prompt_tokens":2,"total_tokens":2}}`, "Embed"},
		{"no vector", typeJSON, `{"data":[{"index":0,"embedding":null}]}`, "Embed"},
		{"an empty vector", typeJSON, `{"data":[{"index":0,"embedding":[]}]}`, "Embed"},
		{"no vectors", typeJSON, `{"object":"list","data":[]}`, "Embed"},
		{"no text", typeJSON, `{"text":null}`, "Transcribe"},
		{"no pictures", typeJSON, `{"created":1,"data":[]}`, "Image"},
		{"an empty picture", typeJSON, `{"data":[{"b64_json":""}]}`, "Image"},
		{"no picture", typeJSON, `{"data":[{"b64_json":null,"url":null}]}`, "Image"},
	} {
		for _, m := range media {
			if !strings.HasPrefix(m.name, c.of) {
				continue
			}
			t.Run(m.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				u := serve(t, c.mime, c.body)
				err := m.run(brief(t), u.client, u.at(m.provider))
				if e := failure(t, err); e.Class != ClassBadAnswer || e.Retryable {
					t.Errorf("got %+v", e)
				}
				if !Lost(err) {
					t.Error("it counts as free")
				}
			})
		}
	}
}

// TestWires_join_surrogates splits an emoji between two chunks, in its halves.
func TestWires_join_surrogates(t *testing.T) {
	t.Parallel()
	for provider, events := range map[string][]string{
		"openai": {data(`{"choices":[{"index":0,"delta":{"content":"a\ud83d"}}]}`), data(`{"choices":[{"index":0,"delta":{"content":"\ude00b\ud83d"}}]}`), data(`{"choices":[{"index":0,"delta":{"content":"\n\ude00"}}]}`), finish("stop"), done},
		"anthropic": claude(event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a\ud83d"}}`),
			event("content_block_delta", `{"type":"content_block_delta","delta":{"type":"text_delta","text":"\ude00b\ud83d"}}`),
			event("content_block_delta", `{"type":"content_block_delta","delta":{"type":"text_delta","text":"\n\ude00"}}`), claudeEnd("end_turn")),
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, events...) })
			var shown strings.Builder
			r, err := u.client.Chat(brief(t), u.at(provider), ChatRequest{Model: "m", Prompt: "?"}, func(s string) { shown.WriteString(s) })
			if want := "a😀b\uFFFD\n\uFFFD"; err != nil || r.Text != want || shown.String() != want {
				t.Errorf("got %+v, %q, %v", r, shown.String(), err)
			}
		})
	}
}

// TestWires_close_open_sockets has servers that send nothing after the answer and keep the
// connection open.
func TestWires_close_open_sockets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider string
		events   []string
		billed   bool
	}{
		"after the usage":  {"openai", []string{delta("Hi"), finish("stop"), usage(7, 3)}, true},
		"after the reason": {"openai", []string{delta("Hi"), finish("stop")}, false},
		"of Anthropic":     {"anthropic", claude(claudeText("Hi"), event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`)), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := setup(t, func(w http.ResponseWriter, r *http.Request) {
				stream(w, c.events...)
				<-r.Context().Done()
			})
			u.client.lingerUsage, u.client.lingerEnd = 20*time.Millisecond, 30*time.Millisecond
			r, err := u.client.Chat(brief(t), u.at(c.provider), ChatRequest{Model: "m", Prompt: "?"}, nil)
			if err != nil || r.Text != "Hi" || r.Stop != "stop" || r.Usage.Incomplete == c.billed {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
}
