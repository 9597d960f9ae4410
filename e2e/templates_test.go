package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"sluice/e2e/chrome"
	"sluice/providers/hosted/hostedtest"
)

// fromTemplate makes a flow from a template in the dashboard and publishes it.
func (d *dashboard) fromTemplate(template string) (id string) {
	d.t.Helper()
	id = d.draftOf(template)
	d.must("flow", "publish", id)
	return id
}

// draftOf creates a flow from a template.
func (d *dashboard) draftOf(template string) (id string) {
	d.t.Helper()
	made := d.client("").want(303, "POST", "/flows", []byte(url.Values{"template": {template}}.Encode()),
		"Cookie: "+d.cookies(), "Content-Type: application/x-www-form-urlencoded").header.Get("Location")
	if id = path.Base(made); strings.HasPrefix(made, "/knowledge/") { // the template continues with the documents
		id = d.client(d.key("--scope", "read")).want(200, "GET", "/v1/flow/"+template, nil).object(d.t)["flow_id"].(string)
	}
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
		if in["prompt"] != "A watercolor of a fox who reads a newspaper." {
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

// overlapping is a JavaScript expression: the pairs of nodes on the canvas whose boxes
// intersect, or "".
const overlapping = `(() => {
	const boxes = [...document.querySelectorAll("flow-canvas article")].map((e) => ({ id: e.dataset.id, r: e.getBoundingClientRect() })).filter((b) => b.r.width), bad = [];
	boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
		if (a.r.left < b.r.right && b.r.left < a.r.right && a.r.top < b.r.bottom && b.r.top < a.r.bottom) bad.push(a.id + " and " + b.id);
	}));
	return bad.join(", ");
})()`

// examplesOf returns a value for each input of a flow that needs one: an uploaded file,
// the input's example, a conversation, or a text.
func examplesOf(c *client, id string) object {
	var about struct {
		Inputs struct {
			Properties map[string]struct {
				Type     string
				Examples []any
				Default  any
				OneOf    []any
			}
		}
	}
	if err := json.Unmarshal(c.want(200, "GET", "/v1/flow/"+id, nil).body, &about); err != nil {
		c.t.Fatal(err)
	}
	given := object{}
	for name, p := range about.Inputs.Properties {
		switch {
		case name == "run_options":
		case len(p.OneOf) > 0: // the file of the example is not in this workspace
			given[name] = c.upload("contract.txt", []byte("The rent is due on the third day of a month. The notice period is three months."))
		case len(p.Examples) > 0:
			given[name] = p.Examples[0]
		case p.Default != nil:
		case p.Type == "array":
			given[name] = []any{object{"role": "user", "content": "Please greet Ada"}}
		default:
			given[name] = "Please greet Ada"
		}
	}
	return given
}

// TestTemplateDrawings opens every template on the canvas, before and after a run.
// Nodes grow when they show results, errors and counts of items; none may cover
// another.
func TestTemplateDrawings(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../cmd/sluice/starters/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %v, %v", files, err)
	}
	d := newDashboard(t)
	c := d.client(d.key())
	tab := d.signIn(t, ownerEmail, "/flows")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		id := d.draftOf(name)
		look := func(query, there string) {
			tab.Go(d.base() + "/flows/" + id + query)
			tab.There("flow-canvas[ready]")
			tab.There(there)
			tab.Eval("window.looks = 0")
			tab.Until(steady)
			tab.Shot("template-" + name + query[:min(4, len(query))])
			if bad := chrome.Value[string](tab, overlapping); bad != "" {
				t.Errorf("%s%s: %s overlap", name, query, bad)
			}
		}
		look("", "flow-canvas article")
		if name == "answer-about-a-repository" {
			continue // somebody has to choose tools of the server first
		}
		d.must("flow", "publish", id)
		r := c.start(id, examplesOf(c, id))
		d.waitUntil(name+" has run or waits", func() bool {
			status := c.want(200, "GET", r.path(), nil).object(t)["status"]
			return status != "queued" && status != "running"
		})
		look("?run="+r.ID, "flow-canvas article[data-state]")
	}
}
