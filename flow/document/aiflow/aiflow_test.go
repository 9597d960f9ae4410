package aiflow_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/document/aiflow"
	"sluice/nodes"
)

var update = flag.Bool("update", false, "write what files become to testdata")

var kinds = nodes.New(nodes.Deps{})

// TestFiles holds what each file of testdata becomes: the document, and below
// it the report.
func TestFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			d, report := convert(t, data)
			got := string(d.Encode()) + "\n" + told(report)
			path := strings.TrimSuffix(file, ".json") + ".txt"
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("differs from %s; run go test ./flow/document/aiflow -update and read the difference", path)
			}
			accounted(t, data, d, report)
		})
	}
}

func convert(t *testing.T, data []byte) (*flow.Document, []aiflow.Note) {
	t.Helper()
	if !aiflow.Recognize(data) {
		t.Fatal("is not recognized")
	}
	d, report, err := aiflow.Convert(data, kinds)
	if err != nil {
		t.Fatal(err)
	}
	return d, report
}

func told(report []aiflow.Note) string {
	var b strings.Builder
	for _, n := range report {
		fmt.Fprintf(&b, "%-8s %s%s\n", n.Sort, n.Provider+strings.Repeat(": ", min(1, len(n.Provider))), n.Text)
	}
	return b.String()
}

// accounted checks that nothing was lost: every node of the file is a node, a
// note or passed through, every edge is an edge or told of.
func accounted(t *testing.T, data []byte, d *flow.Document, report []aiflow.Note) {
	t.Helper()
	if again, problems := document.ParseDocument(d.Encode()); len(problems) > 0 {
		t.Errorf("does not parse: %v", problems)
	} else if string(again.Compact()) != string(d.Compact()) {
		t.Error("reads back as another document")
	}
	todo := 0
	nodes := map[string][]string{} // by source
	for _, n := range report {
		switch n.Sort {
		case aiflow.Todo:
			todo++
		case aiflow.Mapped, aiflow.Noted:
			nodes[n.Source] = append(nodes[n.Source], n.Node)
			if d.Node(n.Node) == nil {
				t.Errorf("%q became %q, which is not there", n.Source, n.Node)
			}
		case aiflow.Passed:
			nodes[n.Source] = append(nodes[n.Source], "")
		}
	}
	if open := len(document.Validate(d, kinds)); open > todo {
		t.Errorf("%d problems, %d of them reported: %v", open, todo, document.Validate(d, kinds))
	}
	for _, s := range sources(data) {
		if len(nodes[s.name]) == 0 {
			t.Errorf("node %q vanished", s.name)
		}
		for _, from := range s.from {
			if !kept(nodes, d, s.name, from) && !slices.ContainsFunc(report, func(n aiflow.Note) bool {
				return n.Sort == aiflow.Lost && n.Source == s.name && n.From == from
			}) {
				t.Errorf("the edge from %q to %q vanished", from, s.name)
			}
		}
	}
}

// kept reports whether an edge is there, or leads through a node that is passed.
func kept(nodes map[string][]string, d *flow.Document, to, from string) bool {
	for _, b := range nodes[to] {
		for _, a := range nodes[from] {
			if a == "" || b == "" || slices.ContainsFunc(d.Edges, func(e flow.Edge) bool {
				return strings.HasPrefix(e.From, a+".") && strings.HasPrefix(e.To, b+".")
			}) {
				return true
			}
		}
	}
	return false
}

type sourceNode struct {
	name string
	from []string
}

// sources reads a file in the plainest way.
func sources(data []byte) []sourceNode {
	v, _ := flow.DecodeJSON(data)
	list, _ := v.([]any)
	var out []sourceNode
	for _, v := range list {
		m, ok := v.(map[string]any)
		if !ok {
			continue
		}
		s := sourceNode{name: flow.Text(m["name"])}
		inputs, _ := m["inputs"].([]any)
		for _, v := range inputs {
			if in, ok := v.(map[string]any); ok && strings.TrimSpace(flow.Text(in["inputNode"])) != "" {
				s.from = append(s.from, flow.Text(in["inputNode"]))
			}
		}
		if old, ok := m["input"].(string); ok && old != "" && len(s.from) == 0 {
			s.from = append(s.from, old)
		}
		out = append(out, s)
	}
	return out
}

func TestRecognize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`[{"name": "a#file", "processorType": "file"}]`: true, `[{"name": "a#file"}]`: true, "\ufeff" + `[{"processorType": "x"}]`: true,
		``: false, `{}`: false, `[]`: false, `[1]`: false, `[{"name": "a"}]`: false, `{"schema": "sluice.flow/v1"}`: false, `[{"processorType": 1}]`: false, `[{`: false,
	} {
		if got := aiflow.Recognize([]byte(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestConvert_refuses(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"no file of AI-Flow": `{"schema": "sluice.flow/v1"}`,
		"not JSON":           `[{"processorType": "file"`,
		"too large":          `[{"processorType": "file", "x": "` + strings.Repeat("a", flow.MaxDocumentBytes) + `"}]`,
		"too many nodes":     "[" + strings.Repeat(`{"processorType": "file"},`, flow.MaxNodes) + `{"processorType": "file"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := aiflow.Convert([]byte(data), kinds)
			if flow.AsError(err).Code != flow.CodeDocumentInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestMappings holds, for each sort of node, what a lone one becomes.
func TestMappings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, node, kind, config string }{
		{"text", `{"processorType": "input-text", "inputText": "{{a}}"}`, "text", `{"text":"{{a}}"}`},
		{"file", `{"processorType": "file", "fileUrl": "https://example.com/a.pdf"}`, "file", `{"url":"https://example.com/a.pdf"}`},
		{"web page", `{"processorType": "url_input", "url": "https://example.com"}`, "web_page", `{"url":"https://example.com"}`},
		{"HTTP", `{"processorType": "http_get", "url": "https://example.com", "headers": "Accept: text/plain"}`, "http_request", `{"headers":{"Accept":"text/plain"},"url":"https://example.com"}`},
		{"document", `{"processorType": "document-to-text", "document_url": "https://example.com/a.pdf"}`, "document", `{"file":"https://example.com/a.pdf"}`},
		{"prompt", `{"processorType": "llm-prompt", "model": "gpt-4o", "context": "c", "prompt": "p {{x}}"}`, "chat", `{"model":"openai/gpt-4o","prompt":"p \\{{x}}","system":"c"}`},
		{"reasoning", `{"processorType": "o3-mini", "model": "o3-mini", "prompt": "p"}`, "chat", `{"model":"openai/o3-mini","prompt":"p"}`},
		{"reasoning settings", `{"processorType": "openai-reasoning", "model": "o3-mini", "prompt": "p", "reasoning_effort": "high", "max_completion_tokens": "900", "top_p": "0.5", "seed": 7, "stop": ["END"], "web_search": true}`,
			"chat", `{"max_tokens":900,"model":"openai/o3-mini","prompt":"p","reasoning_effort":"high","seed":7,"stop":["END"],"top_p":0.5,"web_search":true}`},
		{"thinking", `{"processorType": "claude-anthropic-processor", "model": "claude-x", "prompt": "p", "budget_tokens": 2048, "reasoning_effort": "extreme"}`, "chat",
			`{"model":"anthropic/claude-x","prompt":"p","thinking_budget":2048}`},
		{"vision", `{"processorType": "gpt-vision", "prompt": "p", "image_url": "https://example.com/1.png", "image_url_2": "https://example.com/2.png"}`, "chat", `{"images":["https://example.com/1.png","https://example.com/2.png"],"model":"openai/gpt-4o","prompt":"p"}`},
		{"Claude", `{"processorType": "claude-anthropic-processor", "model": "claude-x", "prompt": "p", "temperature": 0.5}`, "chat", `{"model":"anthropic/claude-x","prompt":"p","temperature":0.5}`},
		{"DeepSeek", `{"processorType": "deepseek", "prompt": "p"}`, "chat", `{"model":"deepseek/deepseek-chat","prompt":"p"}`},
		{"OpenRouter", `{"processorType": "openrouter", "model": "meta/llama", "prompt": "p", "temperature": "9"}`, "chat", `{"model":"openrouter/meta/llama","prompt":"p"}`},
		{"picture", `{"processorType": "dalle-prompt", "prompt": "p", "size": "512x512"}`, "image", `{"model":"openai/dall-e-3","prompt":"p","size":"512x512"}`},
		{"newer picture", `{"processorType": "gpt-image", "prompt": "p", "quality": "high"}`, "image", `{"model":"openai/gpt-image-1","prompt":"p","quality":"high"}`},
		{"speech", `{"processorType": "text-to-speech", "text": "t", "voice": "nova", "model": "tts-1", "instruction": "i"}`, "speech", `{"instructions":"i","model":"openai/tts-1","text":"t","voice":"nova"}`},
		{"hosted", `{"processorType": "replicate", "model": "a/b", "prompt": "p {{x}}", "n": 2}`, "hosted_model", `{"input.n":2,"input.prompt":"p \\{{x}}","model":"a/b"}`},
		{"merger", `{"processorType": "merger-prompt", "prompt": "{{a}} ${input-1} {{{${input-2}} \\${input-1}"}`, "template", `{"template":"\\{{a}} {{input_1}} \\{{{ {{input_2}}} \\ {{input_1}}"}`},
		{"input", `{"processorType": "whatever", "api_input_name": "9 lives"}`, "input", `{"name":"input","type":"text"}`},
		{"output", `{"processorType": "whatever", "api_output_name": "answer"}`, "output", `{"name":"answer"}`},
		{"webhook", `{"processorType": "webhook", "url": "https://example.com", "signature": "s"}`, "webhook", `{"signature":"s","signature_header":"AI_FLOW_SIGNATURE","url":"https://example.com"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, _ := convert(t, []byte("["+c.node+"]"))
			if len(d.Nodes) != 1 || d.Nodes[0].Kind != c.kind {
				t.Fatalf("became %s", d.Compact())
			}
			if got := string(flow.EncodeJSON(d.Nodes[0].Config)); got != c.config {
				t.Errorf("config\n%s, wanted\n%s", got, c.config)
			}
		})
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	data := `[{"name": "1#mystery", "processorType": "mystery", "mode": "fast", "apiKey": "abcdef", "max_tokens": 7,
		"headers": "{\"Authorization\": \"Bearer abcdefghi\", \"X-Api-Key\": \"k\", \"Accept\": \"*/*\"}",
		"X-Functions-Key": "func-1", "pwd": "open-sesame", "keywords": "cats", "max_completion_tokens": 9, "list": [{"name": "x-token", "value": "hidden"}], "url": "https://u:pw@example.com/?token=abc&q=1",
		"prompt": "use sk-proj-1234567890abcdef now\npassword: hunter2\nX-Sig = line-2\nkey: as told", "long": "` + strings.Repeat("y", 5000) + `"}]`
	d, report := convert(t, []byte(data))
	text := flow.Text(d.Nodes[0].Config["text"])
	for _, secret := range []string{"abcdef", "abcdefghi", `"k"`, "hidden", "pw@", "token=abc", "1234567890", "hunter2", "func-1", "open-sesame", "line-2"} {
		if strings.Contains(text, secret) || strings.Contains(told(report), secret) {
			t.Errorf("%q is still there: %s", secret, text)
		}
	}
	for _, kept := range []string{"mode: fast", "max_tokens: 7", `"Accept":"*/*"`, "keywords: cats", "max_completion_tokens: 9", "q=1", "use ", " now", "key: as told"} {
		if !strings.Contains(text, kept) {
			t.Errorf("%q is gone: %s", kept, text)
		}
	}
	if d.Nodes[0].Kind != "note" || len(text) > 4000 {
		t.Errorf("a %s of %d bytes", d.Nodes[0].Kind, len(text))
	}
}

func TestEdges(t *testing.T) {
	t.Parallel()
	const source = `{"name": "a", "processorType": "input-text", "inputText": "x"}, `
	for _, c := range []struct{ name, nodes, edges, lost string }{
		{"a named field", source + `{"name": "b", "processorType": "llm-prompt", "inputs": [{"inputNode": "a", "inputName": "prompt"}]}`, "text.text>chat.prompt", ""},
		{"by turn", source + `{"name": "b", "processorType": "llm-prompt", "inputs": [{"inputNode": "a"}, {"inputNode": "a"}]}`, "text.text>chat.system text.text>chat.prompt", ""},
		{"by the file's turn", source + `{"name": "b", "processorType": "llm-prompt", "config": {"inputNames": ["prompt"]}, "inputs": [{"inputNode": "a"}]}`, "text.text>chat.prompt", ""},
		{"by the fields with handles", source + `{"name": "b", "processorType": "llm-prompt", "config": {"fields": [{"name": "context"}, {"name": "prompt", "hasHandle": true}]}, "inputs": [{"inputNode": "a"}]}`, "text.text>chat.prompt", ""},
		{"an old file", source + `{"name": "b", "processorType": "document-to-text", "input": "a", "inputKey": 0}`, "text.text>document.file", ""},
		{"no such output", source + `{"name": "b", "processorType": "llm-prompt", "inputs": [{"inputNode": "a", "inputNodeOutputKey": 3}]}`, "", "gives no output 4"},
		{"no such field", source + `{"name": "b", "processorType": "llm-prompt", "inputs": [{"inputNode": "a", "inputName": "model"}]}`, "", "takes no edge at “model”"},
		{"no such place", source + `{"name": "b", "processorType": "url_input", "inputs": [{"inputNode": "a"}, {"inputNode": "a"}]}`, "text.text>web_page.url", "no place 2"},
		{"no such node", `{"name": "b", "processorType": "url_input", "inputs": [{"inputNode": "gone"}]}`, "", "no node “gone”"},
		{"a place that is taken", source + `{"name": "b", "processorType": "url_input", "inputs": [{"inputNode": "a", "inputName": "url"}, {"inputNode": "a", "inputName": "url"}]}`, "text.text>web_page.url", "has an edge already"},
		{"types that do not fit", `{"name": "a", "processorType": "file"}, {"name": "b", "processorType": "llm-prompt", "inputs": [{"inputNode": "a"}]}`, "", "type mismatch"},
		{"through two nodes", source + `{"name": "t", "processorType": "transition", "inputs": [{"inputNode": "a"}]}, {"name": "u", "processorType": "display", "inputs": [{"inputNode": "t"}]}, {"name": "b", "processorType": "llm-prompt", "inputs": [{"inputNode": "u"}]}`, "text.text>chat.system", ""},
		{"in a circle", `{"name": "t", "processorType": "transition", "inputs": [{"inputNode": "u"}]}, {"name": "u", "processorType": "transition", "inputs": [{"inputNode": "t"}]}`, "", "form a loop"},
		{"to a result that is shown", source + `{"name": "b", "processorType": "display", "inputs": [{"inputNode": "a"}]}`, "text.text>output.value", ""},
		{"a merger", source + `{"name": "b", "processorType": "merger-prompt", "prompt": "${input-1}", "inputs": [{"inputNode": "a"}, {"inputNode": "a", "inputName": "input-2"}]}`, "text.text>template.input_1", "no such port"},
		{"a hosted model", source + `{"name": "b", "processorType": "replicate", "model": "a/b", "inputs": [{"inputNode": "a", "inputName": "prompt"}]}`, "text.text>hosted_model.input.prompt", ""},
		{"to a note", source + `{"name": "b", "processorType": "mystery", "inputs": [{"inputNode": "a", "inputName": "x"}]}`, "", "“mystery” is a note now"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			data := []byte("[" + c.nodes + "]")
			d, report := convert(t, data)
			accounted(t, data, d, report)
			var edges, lost []string
			for _, e := range d.Edges {
				edges = append(edges, e.From+">"+e.To)
			}
			for _, n := range report {
				if n.Sort == aiflow.Lost {
					lost = append(lost, n.Text)
				}
			}
			if got := strings.Join(edges, " "); got != c.edges {
				t.Errorf("edges %q, wanted %q", got, c.edges)
			}
			if (c.lost == "") != (len(lost) == 0) || !strings.Contains(strings.Join(lost, "\n"), c.lost) {
				t.Errorf("lost %q, wanted %q", lost, c.lost)
			}
		})
	}
}

// FuzzConvert checks that no file causes a panic or loses anything.
func FuzzConvert(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`[{"name":"a#replicate","model":"a/b:c","x":1e400,"input":{"a":1},"config":{"fields":[{}],"inputNames":[1]}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, report, err := aiflow.Convert(data, kinds)
		if err != nil {
			return
		}
		accounted(t, data, d, report)
	})
}
