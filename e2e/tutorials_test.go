package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"sluice/e2e/chrome"
	"sluice/e2e/need"
	"sluice/providers/hosted/hostedtest"
)

// tutorial is a page whose samples are followed on a real server.
type tutorial struct {
	*server
	t    *testing.T
	page string
	json []string // samples in order, without the flow
	flow string   // the document
}

// flowFile is the name that a page gives its flow.
var flowFile = regexp.MustCompile(`sluice flow import ([a-z]+\.json)`)

// follow runs all commands of a page that call a flow, in one shell, and
// returns what they print. The address of the server and of receivers are
// replaced, as a reader replaces them.
func follow(t *testing.T, s *server, page string, replace ...string) (*tutorial, string) {
	t.Helper()
	for _, tool := range []string{"curl", "jq"} {
		_, err := exec.LookPath(tool)
		need.Tool(t, tool+" is not installed", err == nil)
	}
	u := &tutorial{server: s, t: t, page: page}
	for _, sample := range sampleBlocks(t, page, "json") {
		if strings.Contains(sample, `"schema": "sluice.flow/v1"`) {
			u.flow = strings.NewReplacer(replace...).Replace(sample)
			continue
		}
		u.json = append(u.json, sample)
	}
	var script []string
	for _, block := range sampleBlocks(t, page, "sh") {
		if strings.Contains(block, "$FLOW") || strings.Contains(block, "FLOW=") || strings.Contains(block, "$KEY") || strings.Contains(block, "run.json") {
			script = append(script, block)
		}
	}
	text := strings.NewReplacer(append(replace, "http://127.0.0.1:8080", s.base())...).Replace(strings.Join(script, "\n"))
	name := flowFile.FindStringSubmatch(text)
	if u.flow == "" || name == nil {
		t.Fatalf("%s has no flow, or does not import it", page)
	}
	u.checkTable()
	if s.cwd == "" {
		s.cwd = t.TempDir()
	}
	if err := os.WriteFile(filepath.Join(s.cwd, name[1]), []byte(u.flow), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "set -eu\n"+text+"\necho\necho FLOW=$FLOW KEY=$KEY")
	cmd.Dir, cmd.Env = s.cwd, withSluice(t, s)
	r := runCommand(t, cmd)
	if r.code != 0 {
		t.Fatalf("what %s says does not work: %s\n%s", page, r.errs, r.out)
	}
	return u, r.out
}

// checkTable compares the table of nodes and settings with the flow of the
// page: both describe the same.
func (u *tutorial) checkTable() {
	u.t.Helper()
	var d struct {
		Nodes []struct {
			Kind   string
			Config object
		}
	}
	if err := json.Unmarshal([]byte(u.flow), &d); err != nil {
		u.t.Fatal(err)
	}
	w := newWalk(u.t, u.page, nil, nil)
	rows := w.rows("Node")
	if len(rows) != len(d.Nodes) {
		u.t.Errorf("the table has %d nodes, the flow %d", len(rows), len(d.Nodes))
	}
	for i, row := range rows {
		n := d.Nodes[i]
		if kind := strings.ReplaceAll(strings.ToLower(row[0]), " ", "_"); kind != n.Kind {
			u.t.Errorf("node %d is %s in the table and %s in the flow", i+1, kind, n.Kind)
		}
		for _, s := range setting.FindAllStringSubmatch(row[1], -1) {
			field := strings.ToLower(strings.Fields(s[1])[0])
			value := n.Config[field]
			if value == nil {
				value = n.Config["input."+field]
			}
			if value != s[2] && s[1] != "URL" { // which readers replace
				u.t.Errorf("%s of %s is %q in the table and %q in the flow", s[1], row[0], s[2], value)
			}
		}
	}
}

// outputs returns the outputs of the run object that the commands printed.
func (u *tutorial) outputs(out string) object {
	u.t.Helper()
	at := strings.Index(out, `{"run_id"`)
	if at < 0 {
		u.t.Fatalf("no run was printed: %s", out)
	}
	var r run
	if err := json.NewDecoder(strings.NewReader(out[at:])).Decode(&r); err != nil || r.Status != "succeeded" {
		u.t.Fatalf("%v, the run: %s", err, out[at:])
	}
	return r.Outputs
}

// sample decodes the last sample of JSON.
func (u *tutorial) sample() (v object) {
	u.t.Helper()
	if err := json.Unmarshal([]byte(u.json[len(u.json)-1]), &v); err != nil {
		u.t.Fatal(err)
	}
	return v
}

// chatServer returns a server whose OpenAI is the independent upstream.
func chatServer(t *testing.T) *server {
	t.Helper()
	base := upstream(t)
	return newServer(t, "OPENAI_API_KEY=sk-test-openai", "OPENAI_BASE_URL="+base+"/v1")
}

func TestTutorialClassify(t *testing.T) {
	t.Parallel()
	u, out := follow(t, chatServer(t), "tutorial-classify")
	if got, want := u.outputs(out), u.sample(); !reflect.DeepEqual(got, want) {
		t.Errorf("the outputs are %v, the page says %v", got, want)
	}
	var schema, inFlow any
	if err := json.Unmarshal([]byte(u.json[0]), &schema); err != nil {
		t.Fatal(err)
	}
	var d struct{ Nodes []struct{ Config object } }
	if err := json.Unmarshal([]byte(u.flow), &d); err != nil {
		t.Fatal(err)
	}
	if inFlow = d.Nodes[1].Config["schema"]; !reflect.DeepEqual(schema, inFlow) {
		t.Error("the schema to type is not the one of the flow")
	}
}

func TestTutorialPDF(t *testing.T) {
	t.Parallel()
	hooks := newReceiver(t, nil)
	s := chatServer(t)
	s.cwd = t.TempDir()
	if err := os.WriteFile(filepath.Join(s.cwd, "invoice.pdf"), pdfOf("Invoice 2026-0417, total 128.50 EUR"), 0o600); err != nil {
		t.Fatal(err)
	}
	u, out := follow(t, s, "tutorial-pdf", "https://example.com", hooks.URL)
	want := u.sample()
	if got := u.outputs(out); !reflect.DeepEqual(got, want) {
		t.Errorf("the outputs are %v, the page says %v", got, want)
	}
	var body object
	if m := hooks.await(t, "/hooks/invoices", 1)[0]; json.Unmarshal(m.body, &body) != nil || !reflect.DeepEqual(body, want) || m.header.Get("Webhook-Signature") == "" {
		t.Errorf("the receiver got %s", m.body)
	}
}

// pdfOf returns a PDF with pages that show a line of ASCII each.
func pdfOf(pages ...string) []byte {
	var b bytes.Buffer
	var at []int
	object := func(text string) { at = append(at, b.Len()); fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), text) }
	b.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	kids := ""
	for i := range pages {
		kids += fmt.Sprintf("%d 0 R ", 4+2*i)
	}
	object(fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids, len(pages)))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	for i, line := range pages {
		object(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources << /Font << /F 3 0 R >> >> >>", 5+2*i))
		content := "BT /F 14 Tf 72 720 Td (" + line + ") Tj ET"
		object(fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content))
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, start)
	return b.Bytes()
}

func TestTutorialPictures(t *testing.T) {
	t.Parallel()
	fake := hostedtest.New(t)
	painted := pictureOf("a lighthouse")
	fake.AddModel(hostedtest.Model{Owner: "black-forest-labs", Name: "flux-schnell", Schemas: paint, Predict: func(in map[string]any) hostedtest.Script {
		if in["prompt"] != "A watercolor of a lighthouse" {
			t.Errorf("the model was asked for %v", in["prompt"])
		}
		return hostedtest.Script{Output: []any{fake.Deliver("out-0.png", "image/png", painted)}, PredictTime: 1}
	}})
	s := newServer(t, "SLUICE_REPLICATE_URL="+fake.URL, "REPLICATE_API_TOKEN="+hostedtest.Secret)
	u, _ := follow(t, s, "tutorial-pictures")
	if got, err := os.ReadFile(filepath.Join(s.cwd, "picture.png")); err != nil || !bytes.Equal(got, painted) {
		t.Errorf("the picture has %d bytes, wanted %d: %v", len(got), len(painted), err)
	}
	answer, err := os.ReadFile(filepath.Join(s.cwd, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	files, _ := u.outputs(string(answer))["picture"].([]any)
	var shown []object
	if err := json.Unmarshal([]byte(u.json[0]), &shown); err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 || len(shown) != 1 {
		t.Fatalf("the output is %v, the page shows %v", files, shown)
	}
	got := files[0].(object)
	for name := range shown[0] {
		if got[name] == nil {
			t.Errorf("the page shows %s, the file has %v", name, got)
		}
	}
	if got["name"] != shown[0]["name"] || got["mime"] != shown[0]["mime"] {
		t.Errorf("the page shows %v, the file is %v", shown[0], got)
	}
}

// TestTutorialForm opens the form as the page says and uses it as a visitor.
func TestTutorialForm(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	w := newWalk(t, "tutorial-form", d, d.signIn(t, ownerEmail, "/flows/"+d.flowNamed("Summarize a text")))
	w.Size(1280, 720)
	w.There("flow-canvas[ready]")
	id := d.flowNamed("Summarize a text")
	w.press("More about this flow")
	w.press("Form")
	w.There(`form input[name=on]`)
	label := chrome.Value[string](w.Tab, `document.querySelector("input[name=on]").labels[0].innerText.trim()`)
	if !strings.Contains(w.page, "*"+label+"*") {
		t.Fatalf("the page does not name *%s*", label)
	}
	w.Click(`input[name=on]`)
	w.picture("tutorial-form-settings")
	w.press("Save")
	w.Has("main", "/f/"+id)
	visitor := chrome.Start(t).Open(t, d.base()+"/f/"+id)
	visitor.Type("form textarea", strings.TrimSpace(sampleBlocks(t, "tutorial-form", "text")[1]))
	v := &walk{&drawing{Tab: visitor, d: d}, t, w.page}
	v.Size(1000, 720)
	v.press("Run")
	v.Has("main", "Done")
	v.picture("tutorial-form-result")
}

// TestTutorialAssistant connects a real MCP client with the key of the page.
func TestTutorialAssistant(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	u, out := follow(t, s, "tutorial-assistant")
	key := regexp.MustCompile(`KEY=(\S+)`).FindStringSubmatch(out)[1]
	a := newMCPAgent(t, s, key, "")
	a.ask("connect", nil)
	tools := a.ask("list", nil).Answer.Tools
	if len(tools) != 1 || tools[0].Name != "ask_the_handbook" {
		t.Fatalf("the assistant sees %v", tools)
	}
	var given, want object
	if json.Unmarshal([]byte(u.json[1]), &given) != nil || json.Unmarshal([]byte(u.json[2]), &want) != nil {
		t.Fatal("the page has other samples than this test knows")
	}
	if got := a.call("ask_the_handbook", given).Answer.StructuredContent; !reflect.DeepEqual(got, want) {
		t.Errorf("the tool returned %v, the page says %v", got, want)
	}
}

// TestTutorialZapier sends the requests that the tables of the page describe.
func TestTutorialZapier(t *testing.T) {
	t.Parallel()
	hooks := newReceiver(t, nil)
	s := newServer(t)
	id, key := s.publishStarter(), s.key()
	w := newWalk(t, "tutorial-zapier", nil, nil)
	replace := strings.NewReplacer("http://127.0.0.1:8080", s.base(), "FLOW_ID", id, "slu_YOUR_KEY", key, "https://hooks.example.com", hooks.URL)
	mono := regexp.MustCompile("`([^`]*)`")
	var want object
	if err := json.Unmarshal([]byte(sampleBlocks(t, "tutorial-zapier", "json")[0]), &want); err != nil {
		t.Fatal(err)
	}
	send := func(table string, data string) {
		t.Helper()
		cells := map[string][][]string{}
		for _, row := range w.rows(table) {
			cells[row[0]] = mono.FindAllStringSubmatch(replace.Replace(row[1]), -1)
		}
		body := data
		for _, name := range []string{"Data", "Request content"} {
			if len(cells[name]) > 0 && body == "" {
				body = cells[name][0][1]
			}
		}
		u, err := url.Parse(cells["URL"][0][1])
		if err != nil {
			t.Fatal(err)
		}
		var headers []string
		for _, h := range cells["Headers"] {
			headers = append(headers, h[1])
		}
		a := s.client("").want(http.StatusOK, cells["Method"][0][1], u.Path, []byte(body), headers...)
		if r := a.run(t); r.Outputs["team"] != want["team"] {
			t.Errorf("%s: the outputs are %v, the page says %v", table, r.Outputs, want)
		}
	}
	send("Field in Zapier", "")
	send("Field in Make", "")
	send("Field in Zapier", mono.FindStringSubmatch(replace.Replace(w.rows("Field with a webhook")[0][1]))[1])
	var message struct {
		Type string
		Data run
	}
	if m := hooks.await(t, "/catch", 1)[0]; json.Unmarshal(m.body, &message) != nil || message.Type != "run.succeeded" || message.Data.Outputs["team"] != want["team"] {
		t.Errorf("the hook got %s", m.body)
	}
}

// TestTutorialPicturesOfFlows takes the pictures of the flows of all tutorials.
func TestTutorialPicturesOfFlows(t *testing.T) {
	if *screenshots == "" {
		t.Skip("pictures are made by: make screenshots")
	}
	d := newDashboard(t, "OPENAI_API_KEY=sk-test", "REPLICATE_API_TOKEN="+hostedtest.Secret)
	tab := d.signIn(t, ownerEmail, "/flows")
	tab.Size(1600, 520)
	for _, page := range []string{"tutorial-classify", "tutorial-pdf", "tutorial-pictures", "tutorial-agent", "tutorial-assistant"} {
		w := newWalk(t, page, d, tab)
		for _, sample := range sampleBlocks(t, page, "json") {
			if strings.Contains(sample, `"schema": "sluice.flow/v1"`) {
				w.Go(d.base() + "/flows/" + d.must("flow", "import", writeFile(t, "flow.json", []byte(sample))))
			}
		}
		w.There("flow-canvas[ready]")
		w.Click(`[data-command="fit"]`)
		w.pictureOf(page, "#canvas")
	}
}
