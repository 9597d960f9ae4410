package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/providers/hosted/hostedtest"
)

// paint is the schema of the platform's only model: a prompt and a picture in, pictures out.
var paint = map[string]any{
	"Input": object{"type": "object", "required": []any{"prompt"}, "properties": object{
		"prompt": object{"type": "string", "x-order": 0}, "image": object{"type": "string", "format": "uri", "x-order": 1}}},
	"Output": object{"type": "array", "items": object{"type": "string", "format": "uri"}},
}

// platform is a fake hosting platform whose predictions end when release is called.
type platform struct {
	*hostedtest.Fake
	mu    sync.Mutex
	holds []chan struct{}
}

// newPlatform starts a platform and a server that uses it.
func newPlatform(t *testing.T) (*platform, *server) {
	p := &platform{Fake: hostedtest.New(t)}
	p.AddModel(hostedtest.Model{Owner: "acme", Name: "paint", Schemas: paint, Predict: p.predict})
	return p, newServer(t, "SLUICE_REPLICATE_URL="+p.URL, "REPLICATE_API_TOKEN="+hostedtest.Secret)
}

func (p *platform) predict(in map[string]any) hostedtest.Script {
	prompt := fmt.Sprint(in["prompt"])
	picture := p.Deliver(prompt+".png", "image/png", pictureOf(prompt))
	p.mu.Lock()
	defer p.mu.Unlock()
	hold := make(chan struct{})
	p.holds = append(p.holds, hold)
	return hostedtest.Script{Hold: hold, Output: []any{picture}, PredictTime: 1}
}

// pictureOf returns bytes that start like a PNG, so that the type is detected.
func pictureOf(prompt string) []byte {
	return append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), prompt...)
}

// release ends the nth prediction.
func (p *platform) release(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.holds[n-1])
}

// followed returns the IDs of the predictions that were polled. A server polls only after
// it has stored the ID.
func (p *platform) followed() []string {
	var ids []string
	for _, r := range p.Requests() {
		id, ok := strings.CutPrefix(r.Path, "/v1/predictions/")
		if ok && r.Method == http.MethodGet && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func painting(config object) []byte {
	config["model"] = "acme/paint"
	return documentOf("Paint", []object{input("prompt"), node("paint", "hosted_model", config), output("pictures")},
		"prompt.value > paint.input.prompt", "paint.output > out_pictures.value")
}

// TestHostedCrash kills the server after each prediction's ID was stored. Every prediction
// must be paid for once, and none may be lost.
func TestHostedCrash(t *testing.T) {
	t.Parallel()
	const predictions = 20
	p, s := newPlatform(t)
	id := s.publish(painting(object{}))
	c := s.client(s.key())
	runs := make([]*run, predictions)
	for i := range runs {
		runs[i] = c.start(id, object{"prompt": fmt.Sprintf("p%d", i)})
		waitUntil(t, "the prediction's ID is on disk", func() bool { return len(p.followed()) == i+1 })
		s.kill()
		p.release(i + 1) // while no server runs
		s.start()
	}
	for i, r := range runs {
		ended := c.await(r)
		if ended.Status != "succeeded" {
			t.Errorf("run %d %s: %+v", i, ended.Status, ended.Error)
			continue
		}
		pictures, _ := ended.Outputs["pictures"].([]any)
		if len(pictures) != 1 {
			t.Errorf("run %d gave %v", i, ended.Outputs)
			continue
		}
		picture := pictures[0].(map[string]any)
		if s.wantFile(r.ID, picture["url"], pictureOf(fmt.Sprintf("p%d", i))); picture["mime"] != "image/png" {
			t.Errorf("run %d gave %v", i, picture)
		}
	}
	if created := p.Created(); created != predictions {
		t.Errorf("%d predictions were created, wanted %d", created, predictions)
	}
	for _, id := range p.followed() {
		if state := p.State(id); state != "succeeded" {
			t.Errorf("prediction %s is %s", id, state)
		}
	}
	if p.Leaks() > 0 {
		t.Errorf("%d requests for files carried the secret", p.Leaks())
	}
}

// TestHostedCancel checks that a cancel reaches the platform. The prediction is never
// released, so nothing else can end it or the run. The order is asserted instead of a
// time: once the run counts as canceled, the platform has canceled the prediction.
func TestHostedCancel(t *testing.T) {
	t.Parallel()
	p, s := newPlatform(t)
	id := s.publish(painting(object{}))
	c := s.client(s.key())
	r := c.start(id, object{"prompt": "a fox"})
	waitUntil(t, "the prediction is followed", func() bool { return len(p.followed()) == 1 })
	if now := c.await(c.want(200, "POST", r.path()+"/cancel", nil).run(t)); now.Status != "canceled" {
		t.Errorf("the run %s", now.Status)
	}
	if state := p.State(p.followed()[0]); state != "canceled" {
		t.Errorf("the prediction is %s", state)
	}
}

// TestHostedFiles sends a file to the platform and receives one, with a schema that the
// command line stored in the node.
func TestHostedFiles(t *testing.T) {
	t.Parallel()
	p, s := newPlatform(t)
	var made struct{ Config object }
	if err := json.Unmarshal([]byte(s.must("model", "show", "acme/paint", "--node")), &made); err != nil {
		t.Fatal(err)
	}
	id := s.publish(documentOf("Paint", []object{
		node("photo", "input", object{"name": "photo", "type": "file"}), node("paint", "hosted_model", made.Config, object{"retry": object{"attempts": 2}}), output("pictures"), input("prompt"),
	}, "photo.value > paint.input.image", "prompt.value > paint.input.prompt", "paint.output > out_pictures.value"))
	c := s.client(s.manager())
	data := content(7, 300_000) // more than is sent inside of a prediction
	r := c.start(id, object{"prompt": "a hen", "photo": c.upload("hen.png", data)})
	waitUntil(t, "the prediction is startedAt", func() bool { return p.Created() == 1 })
	p.release(1)
	ended := c.await(r)
	if ended.Status != "succeeded" {
		t.Fatalf("the run %s: %+v", ended.Status, ended.Error)
	}
	address, _ := p.Inputs()[0]["image"].(string)
	if got, name, _, ok := p.File(address); !ok || !bytes.Equal(got, data) || name != "hen.png" {
		t.Errorf("the platform has %q with %d bytes at %q", name, len(got), address)
	}
	picture := ended.Outputs["pictures"].([]any)[0].(map[string]any)
	s.wantFile("the picture", picture["url"], pictureOf("a hen"))
	if picture["name"] != "a hen.png" {
		t.Errorf("the picture is %v", picture)
	}
}

// TestModelCommands lists, shows and compares models with and without the platform.
func TestModelCommands(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	p, s := newPlatform(t)
	older := strings.Repeat("0", 64)
	p.AddModel(hostedtest.Model{Owner: "acme", Name: "paint", Description: "Paints barns.", Schemas: paint, Older: map[string]any{older: map[string]any{
		"Input":  object{"type": "object", "properties": object{"prompt": object{"type": "string"}, "size": object{"type": "integer"}}},
		"Output": paint["Output"]}}})
	if out := s.must("model", "list", "barns"); !strings.Contains(out, "acme/paint") {
		t.Errorf("the platform's models are not found:\n%s", out)
	}
	if out := s.must("model", "list"); !strings.Contains(out, "black-forest-labs/flux-schnell") {
		t.Errorf("the featured models are not listed:\n%s", out)
	}
	if out := s.must("model", "show", "acme/paint"); !strings.Contains(out, "input.prompt") || !strings.Contains(out, hostedtest.Version("acme", "paint")) {
		t.Errorf("the model is shown as\n%s", out)
	}
	out := s.must("model", "compare", "acme/paint", older)
	for _, want := range []string{"! Input size is gone.", "  Input image is new.", "! Input prompt must now be set."} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if out := s.must("model", "list", "--category", "ocr", "--json"); !strings.Contains(out, `"category": "ocr"`) {
		t.Errorf("a category is listed as\n%s", out)
	}
	if r := s.command("model", "list", "--category", "nonsense"); r.code != 2 || !strings.Contains(r.errs, "image-generation") {
		t.Errorf("an unknown category: exit code %d, %s", r.code, r.errs)
	}
	if r := s.command("model", "show", "acme/nobody"); r.code != 1 || !strings.Contains(r.errs, "acme/nobody") {
		t.Errorf("an unknown model: exit code %d, %s", r.code, r.errs)
	}
}
