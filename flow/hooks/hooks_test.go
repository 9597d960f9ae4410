package hooks_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/hooks"
	"sluice/flow/signature"
	"sluice/nodes/expression"
)

func compile(source string, names ...string) error {
	_, err := expression.Compile(source, names...)
	return err
}

func eval(variables map[string]any) hooks.Eval { return expression.NewScope(variables).Eval }

func config(scheme string) hooks.Config {
	c := hooks.Config{Verify: hooks.Verify{Config: signature.Config{Scheme: scheme}}}
	if signature.NeedsSecret(scheme) {
		c.Verify.Secrets = []string{"mine"}
	}
	return c
}

func object(t *testing.T, text string) *flow.Object {
	t.Helper()
	v, err := flow.DecodeJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(*flow.Object)
}

func noFiles(*multipart.Part) (any, error) { return nil, fmt.Errorf("unexpected file") }

// message decodes a request.
func message(t *testing.T, contentType, body string) *hooks.Message {
	t.Helper()
	v, err := hooks.Decode(contentType, []byte(body), noFiles)
	if err != nil {
		t.Fatal(err)
	}
	return &hooks.Message{Method: http.MethodPost, Header: http.Header{"Content-Type": {contentType}, "X-Github-Event": {"issues"}, "Authorization": {"Bearer secret"}, "X-Hub-Signature-256": {"sha256=00"}},
		Query: url.Values{"a": {"1", "2"}}, Body: v, Raw: []byte(body)}
}

func TestDecode_bodies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ contentType, body, want string }{
		"json":              {"application/json; charset=utf-8", `{"b":1,"a":[null]}`, `{"b":1,"a":[null]}`},
		"cloud_event":       {"application/cloudevents+json", `{"id":"1"}`, `{"id":"1"}`},
		"no_type":           {"", ` [1]`, `[1]`},
		"empty_json":        {"application/json", ``, `null`},
		"form":              {"application/x-www-form-urlencoded", "b=2&a=x+y%26&b=3&&c", `{"b":["2","3"],"a":"x y&","c":""}`},
		"form_with_nul":     {"application/x-www-form-urlencoded", "a=%00%ff", `{"a":"` + "\uFFFD\uFFFD" + `"}`},
		"text":              {"text/plain", "hello", `"hello"`},
		"binary":            {"application/octet-stream", "\x00\xff", `null`},
		"json_latin1":       {"application/json; charset=iso-8859-1", "{\"a\":\"caf\xe9\"}", `{"a":"café"}`},
		"json_not_said":     {"application/json", "{\"a\":\"caf\xe9 cr\xe8me \x80 5\"}", `{"a":"café crème € 5"}`},
		"json_cut_letter":   {"application/json", "{\"a\":\"größer, schöner, gr\xc3\"}", `{"a":"größer, schöner, gr` + "\uFFFD" + `"}`},
		"json_utf16":        {"application/json; charset=utf-16", "\xff\xfe{\x00\"\x00a\x00\"\x00:\x001\x00}\x00", `{"a":1}`},
		"json_wrong_label":  {"application/json; charset=windows-1252", `{"a":1}`, `{"a":1}`},
		"utf8_escapes":      {"text/plain; charset=UTF-8", "~{VPND~} \x1b$B", `"~{VPND~} \u001b$B"`},
		"text_json":         {"text/json", `{"a":1}`, `{"a":1}`},
		"text_mark":         {"text/plain", "\xef\xbb\xbfhello", `"hello"`},
		"csv_latin1":        {"text/csv", "name;Stra\xdfe\r\nM\xfcller;K\xf6nigstra\xdfe 5\r\n", `"name;Straße\r\nMüller;Königstraße 5\r\n"`},
		"xml_declared":      {"application/xml", "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>caf\xe9</a>", `"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>café</a>"`},
		"shift_jis":         {"text/plain; charset=Shift_JIS", "\x93\x8c\x8b\x9e", `"東京"`},
		"paypal_form":       {"application/x-www-form-urlencoded", "last_name=M%FCller&charset=windows-1252", `{"last_name":"Müller","charset":"windows-1252"}`},
		"browser_form":      {"application/x-www-form-urlencoded", "_charset_=koi8-r&a=%ED%C9%D2", `{"_charset_":"koi8-r","a":"Мир"}`},
		"form_says_wrong":   {"application/x-www-form-urlencoded", "a=%C3%A9&charset=windows-1252", `{"a":"é","charset":"windows-1252"}`},
		"multipart_latin1":  {"multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\r\ncaf\xe9\r\n--x--\r\n", `{"a":"café"}`},
		"github_form":       {"application/x-www-form-urlencoded", "payload=%7B%22a%22%3A1%7D", `{"payload":"{\"a\":1}"}`},
		"multipart_without": {"multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--x--\r\n", `{"a":"b"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := hooks.Decode(c.contentType, []byte(c.body), noFiles)
			if got := string(flow.EncodeJSON(v)); err != nil || got != c.want {
				t.Errorf("%s, %v; want %s", got, err, c.want)
			}
		})
	}
	for name, c := range map[string][2]string{
		"bad_json":      {"application/json", `{"a":`},
		"deep_json":     {"application/json", strings.Repeat("[", 100) + strings.Repeat("]", 100)},
		"bad_form":      {"application/x-www-form-urlencoded", "a=%zz"},
		"many_fields":   {"application/x-www-form-urlencoded", manyFields(1001)},
		"cut_multipart": {"multipart/form-data; boundary=x", "--x\r\nContent-Disp"},
		"no_boundary":   {"multipart/form-data", "--x--"},
		"many_parts":    {"multipart/form-data; boundary=x", strings.Repeat("--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n", 1001) + "--x--\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := hooks.Decode(c[0], []byte(c[1]), noFiles); flow.AsError(err).Code != flow.CodeInputInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
}

func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "f%d=&", i)
	}
	return b.String()
}

func TestDecode_saves_files(t *testing.T) {
	t.Parallel()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, _ := w.CreateFormFile("picture", "a.png")
	_, _ = part.Write([]byte("PNG"))
	_ = w.WriteField("text", "hi")
	_ = w.Close()
	v, err := hooks.Decode(w.FormDataContentType(), body.Bytes(), func(p *multipart.Part) (any, error) {
		data, err := io.ReadAll(p)
		return p.FileName() + ":" + string(data), err
	})
	if got := string(flow.EncodeJSON(v)); err != nil || got != `{"picture":"a.png:PNG","text":"hi"}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestInputs_map_a_message(t *testing.T) {
	t.Parallel()
	inputs := []contract.Input{{Name: "title", Type: flow.TypeText}, {Name: "number", Type: flow.TypeNumber}}
	for name, c := range map[string]struct {
		inputs, contentType, body, want string
		texts                           bool
	}{
		"by_name":      {"", "application/json", `{"number":7,"other":true,"title":"x"}`, `{"title":"x","number":7}`, false},
		"form_by_name": {"", "application/x-www-form-urlencoded", `number=7`, `{"number":"7"}`, true},
		"list":         {"", "application/json", `[1]`, `{}`, false},
		"expressions": {`{"title":{"cel":"body.issue.title + ' ' + headers['x-github-event'] + ' ' + query.a + ' ' + method"},"number":3}`, "application/json",
			`{"issue":{"title":"Bug"}}`, `{"title":"Bug issues 1 POST","number":3}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config("none")
			if c.inputs != "" {
				cfg.Inputs = object(t, c.inputs)
			}
			if problems := cfg.Check(compile); len(problems) > 0 {
				t.Fatal(problems)
			}
			values, texts, err := cfg.Map(message(t, c.contentType, c.body), eval).Inputs(t.Context(), inputs)
			if got := string(flow.EncodeJSON(values)); err != nil || got != c.want || texts != c.texts {
				t.Errorf("%s, %v, %v; want %s", got, texts, err, c.want)
			}
		})
	}
	t.Run("names_the_input_that_failed", func(t *testing.T) {
		t.Parallel()
		cfg := config("none")
		cfg.Inputs = object(t, `{"title":{"cel":"body.missing.name"}}`)
		_, _, err := cfg.Map(message(t, "application/json", "{}"), eval).Inputs(t.Context(), inputs)
		if e := flow.AsError(err); e.Code != flow.CodeExpressionFailed || !strings.HasPrefix(e.Message, "The input title: ") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("hides_secrets_from_expressions", func(t *testing.T) {
		t.Parallel()
		cfg := config("none")
		cfg.When = `!('authorization' in headers) && !('x-hub-signature-256' in headers) && 'x-github-event' in headers`
		if ok, err := cfg.Map(message(t, "application/json", "{}"), eval).Accepts(t.Context()); !ok || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
	})
}

func TestInputs_have_headers_and_parameters_in_one_order(t *testing.T) {
	t.Parallel()
	c := config("none")
	c.Inputs = object(t, `{"h":{"cel":"headers"},"q":{"cel":"query"}}`)
	m := &hooks.Message{Method: http.MethodPost, Header: http.Header{}, Query: url.Values{}}
	for _, name := range strings.Split("f,b,a,h,c,e,d,g", ",") {
		m.Header.Set("X-"+name, name)
		m.Query.Set(name, name)
	}
	want := `{"h":{"x-a":"a","x-b":"b","x-c":"c","x-d":"d","x-e":"e","x-f":"f","x-g":"g","x-h":"h"},"q":{"a":"a","b":"b","c":"c","d":"d","e":"e","f":"f","g":"g","h":"h"}}`
	got, _, err := c.Map(m, eval).Inputs(t.Context(), nil)
	if text := string(flow.EncodeJSON(got)); err != nil || text != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
}

func TestAccepts_filters(t *testing.T) {
	t.Parallel()
	for when, want := range map[string]any{"": true, "body.action == 'opened'": true, "body.action == 'closed'": false, "body.action": "must give true or false", "body.x.y == 1": "The filter: "} {
		cfg := config("none")
		cfg.When = when
		ok, err := cfg.Map(message(t, "application/json", `{"action":"opened"}`), eval).Accepts(t.Context())
		if text, wrong := want.(string); wrong {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%q: %v", when, err)
			}
		} else if err != nil || ok != want {
			t.Errorf("%q: %v, %v", when, ok, err)
		}
	}
}

func TestEventID_of_a_message(t *testing.T) {
	t.Parallel()
	body := `{"id":"evt_1","n":5}`
	hash := "sha256:" + flow.Hash([]byte(body))
	for name, c := range map[string]struct{ scheme, once, want string }{
		"scheme": {"stripe", "", "evt_1"}, "body": {"stripe", hooks.OnceBody, hash}, "never": {"stripe", hooks.OnceNever, ""}, "without_ids": {"token", "", ""},
		"same_body": {"meta", "", hash}, "expression": {"none", "body.id + '/' + string(body.n)", "evt_1/5"}, "number": {"none", "body.n", "5"},
		"long":        {"none", "'" + strings.Repeat("x", 300) + "'", "sha256:" + flow.Hash([]byte(strings.Repeat("x", 300)))},
		"forged_hash": {"none", "'" + hash + "'", "sha256:" + flow.Hash([]byte(hash))},
	} {
		cfg := config(c.scheme)
		cfg.Once = c.once
		got, err := cfg.Map(message(t, "application/json", body), eval).EventID(t.Context())
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
	cfg := config("none")
	cfg.Once = "''"
	if _, err := cfg.Map(message(t, "application/json", body), eval).EventID(t.Context()); err == nil {
		t.Error("an empty ID is accepted, by which all events were the same")
	}
}

func TestCheck_names_each_wrong_field(t *testing.T) {
	t.Parallel()
	zero := int64(-1)
	for pointer, change := range map[string]func(*hooks.Config){
		"/verify/scheme":    func(c *hooks.Config) { c.Verify.Scheme = "x" },
		"/verify/secrets":   func(c *hooks.Config) { c.Verify.Secrets = nil },
		"/verify/challenge": func(c *hooks.Config) { c.Verify.Challenge = "x" },
		"/when":             func(c *hooks.Config) { c.When = "body ==" },
		"/once":             func(c *hooks.Config) { c.Once = "nothing.here" },
		"/inputs/a~1b/cel":  func(c *hooks.Config) { c.Inputs = object(t, `{"a/b":{"cel":"1 +"}}`) },
		"/reply":            func(c *hooks.Config) { c.Reply = "later" },
		"/on_late":          func(c *hooks.Config) { c.Reply, c.OnLate = hooks.ReplyOutputs, "x" },
		"/response/type":    func(c *hooks.Config) { c.Reply, c.Response = hooks.ReplyOutputs, &hooks.Response{Type: "text/html"} },
		"/wait_s":           func(c *hooks.Config) { c.Reply, c.WaitS = hooks.ReplyOutputs, 61 },
		"/max_body":         func(c *hooks.Config) { c.MaxBody = hooks.MaxBody + 1 },
		"/per_minute":       func(c *hooks.Config) { c.PerMinute = &zero },
		"/per_day":          func(c *hooks.Config) { c.PerDay = &zero },
	} {
		c := config("github")
		if problems := c.Check(compile); len(problems) > 0 {
			t.Fatal(problems)
		}
		change(&c)
		problems := c.Check(compile)
		if len(problems) != 1 || problems[0].Pointer != pointer {
			t.Errorf("%s: %+v", pointer, problems)
		}
	}
}

func TestRespond_with_outputs(t *testing.T) {
	t.Parallel()
	outputs := object(t, `{"twiml":"<Response/>","code":201,"data":{"a":1},"wrong":"x"}`)
	for name, c := range map[string]struct {
		response *hooks.Response
		status   int
		kind     string
		body     string
	}{
		"all":   {nil, 200, "application/json", `{"twiml":"<Response/>","code":201,"data":{"a":1},"wrong":"x"}`},
		"text":  {&hooks.Response{Body: "twiml"}, 200, "text/plain; charset=utf-8", "<Response/>"},
		"twiml": {&hooks.Response{Body: "twiml", Type: "text/xml", Status: "code"}, 201, "text/xml; charset=utf-8", "<Response/>"},
		"json":  {&hooks.Response{Body: "data"}, 200, "application/json", `{"a":1}`},
	} {
		cfg := config("none")
		cfg.Reply, cfg.Response = hooks.ReplyOutputs, c.response
		status, kind, body, err := cfg.Respond(outputs)
		if err != nil || status != c.status || kind != c.kind || string(body) != c.body {
			t.Errorf("%s: %d %s %s %v", name, status, kind, body, err)
		}
	}
	cfg := config("none")
	cfg.Response = &hooks.Response{Status: "wrong"}
	if _, _, _, err := cfg.Respond(outputs); err == nil {
		t.Error("a text is a status")
	}
}

func TestLimits_have_defaults(t *testing.T) {
	t.Parallel()
	signed, open, zero := config("github"), config("none"), int64(0)
	if signed.Minute() != 600 || signed.Day() != 0 || open.Day() != 1000 || signed.Body() != 1<<20 || signed.Wait() != 10 {
		t.Errorf("%d %d %d %d %d", signed.Minute(), signed.Day(), open.Day(), signed.Body(), signed.Wait())
	}
	if open.PerDay, open.PerMinute = &zero, &zero; open.Day() != 0 || open.Minute() != 0 {
		t.Error("0 is not unlimited")
	}
}
