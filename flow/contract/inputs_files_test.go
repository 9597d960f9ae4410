package contract_test

import (
	"testing"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/flowtest"
)

func TestAccepts(t *testing.T) {
	t.Parallel()
	png, pdf := &flow.File{Name: "a.png", MIME: "image/png"}, &flow.File{Name: "Paper.PDF", MIME: "application/octet-stream"}
	for name, c := range map[string]struct {
		accept []string
		file   *flow.File
		want   bool
	}{
		"all, where nothing is said":          {nil, pdf, true},
		"all, where that is said":             {[]string{"*/*"}, pdf, true},
		"the type":                            {[]string{"Image/PNG"}, png, true},
		"the family":                          {[]string{"audio/*", "image/*"}, png, true},
		"another type":                        {[]string{"image/jpeg"}, png, false},
		"a family that it does not belong to": {[]string{"imag/*"}, png, false},
		"the ending, in any case":             {[]string{".pdf"}, pdf, true},
		"another ending":                      {[]string{".pdf"}, png, false},
	} {
		in := contract.Input{Name: "f", Type: flow.TypeFile, Accept: c.accept}
		if got := in.Accepts(c.file); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestInputOfFiles(t *testing.T) {
	t.Parallel()
	in := inputsOf(t, `{"name": "photo", "type": "file", "description": "A photo.", "accept": ["image/png"]}`)[0]
	s := in.JSONSchema()
	if s["contentMediaType"] != "image/png" || s["description"] != "A photo. Accepts image/png." || len(s["x-accept"].([]string)) != 1 {
		t.Errorf("schema: %s", flow.EncodeJSON(s))
	}
	for config, want := range map[string]string{
		`{"name": "f", "type": "file", "accept": ["image"]}`:               "/accept/0",
		`{"name": "f", "accept": [".pdf"]}`:                                "/accept",
		`{"name": "f", "type": "file", "default": {"file": "report.pdf"}}`: "/default",
		`{"name": "f", "type": "file", "default": "text"}`:                 "/default",
	} {
		d, _ := document.ParseDocument(flowtest.Document("i input " + config))
		problems := document.Validate(d, flowtest.Kinds)
		if len(problems) != 1 || problems[0].Pointer != "/nodes/0/config"+want {
			t.Errorf("%s: got %v, want one at %s", config, problems, want)
		}
	}
}
