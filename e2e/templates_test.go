package e2e

import (
	"bytes"
	"fmt"
	"net/url"
	"path"
	"strings"
	"testing"

	"sluice/providers/hosted/hostedtest"
)

// fromTemplate makes a flow from a template in the dashboard and publishes it.
func (d *dashboard) fromTemplate(template string) (id string) {
	d.t.Helper()
	made := d.client("").want(303, "POST", "/flows", []byte(url.Values{"template": {template}}.Encode()),
		"Cookie: "+d.cookies(), "Content-Type: application/x-www-form-urlencoded").header.Get("Location")
	id = path.Base(made)
	d.must("flow", "publish", id)
	return id
}

// TestTemplatesWithModels runs the templates that need a provider, on their own examples
// where they have some. What the models answer is in testdata/aimock/upstream.mjs.
func TestTemplatesWithModels(t *testing.T) {
	t.Parallel()
	d := &dashboard{server: modelServer(t)}
	d.person(ownerEmail, "owner")
	c := d.client(d.key())

	r := c.succeed(d.fromTemplate("answer-in-a-tone"), object{"message": "My parcel has not arrived yet.", "tone": "formal"})
	if r.Outputs["answer"] != "We are looking for your parcel." {
		t.Errorf("the answer in a tone is %v", r.Outputs)
	}

	r = c.succeed(d.fromTemplate("chat-assistant"), object{"messages": []any{object{"role": "user", "content": "Please greet Ada"}}})
	if r.Outputs["reply"] != "Grüß dich, Ada – schön! 👋" {
		t.Errorf("the assistant answered %v", r.Outputs)
	}

	text := "This contract is between both parties.\n\nThe notice period is three months to the end of a quarter.\n\nThe rent is due on the third day of a month.\n"
	r = c.succeed(d.fromTemplate("ask-a-document"), object{"document": c.upload("contract.txt", []byte(text)), "question": "How long is the notice period?"})
	passages, _ := r.Outputs["passages"].([]any)
	if r.Outputs["answer"] != "Three months." || len(passages) == 0 || !strings.Contains(strings.ToLower(fmt.Sprint(passages)), "three months to the end") {
		t.Errorf("the document's answer is %v", r.Outputs)
	}
}

// TestTemplateOfPicture runs the template that draws a picture.
func TestTemplateOfPicture(t *testing.T) {
	t.Parallel()
	fake, painted := hostedtest.New(t), pictureOf("a fox")
	fake.AddModel(hostedtest.Model{Owner: "black-forest-labs", Name: "flux-schnell", Schemas: paint, Predict: func(in map[string]any) hostedtest.Script {
		if in["prompt"] != "A watercolour of a fox who reads a newspaper." {
			t.Errorf("the model was asked for %v", in["prompt"])
		}
		return hostedtest.Script{Output: []any{fake.Deliver("out-0.png", "image/png", painted)}, PredictTime: 1}
	}})
	d := &dashboard{server: newServer(t, "SLUICE_REPLICATE_URL="+fake.URL, "REPLICATE_API_TOKEN="+hostedtest.Secret)}
	d.person(ownerEmail, "owner")
	c := d.client(d.key())
	r := c.succeed(d.fromTemplate("draw-a-picture"), object{"subject": "a fox who reads a newspaper"})
	files, _ := r.Outputs["picture"].([]any)
	if len(files) != 1 {
		t.Fatalf("the picture is %v", r.Outputs)
	}
	id, _ := files[0].(object)["file"].(string)
	if got := c.want(200, "GET", "/v1/files/"+id, nil).body; !bytes.Equal(got, painted) {
		t.Errorf("the picture has %d bytes, wanted %d", len(got), len(painted))
	}
}
