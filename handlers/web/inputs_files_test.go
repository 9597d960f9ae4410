package web_test

import (
	"testing"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/value"
	"sluice/handlers/web"
)

// TestInputsWithURLs reads the addresses of files from a form. An upload wins over an
// address, and an address over the file of the run before. A secret is never filled in.
func TestInputsWithURLs(t *testing.T) {
	t.Parallel()
	photo := contract.Input{Name: "photo", Type: flow.TypeFile, Required: true}
	form := func() *web.Inputs {
		in := (&web.Call{}).NewInputs(flow.DefaultWorkspace, 0)
		in.Filled = true
		in.Parse(map[string]string{"url.in.photo": " https://example.com/a.png?x=1 ", "last.in.photo": "file_1"})
		return in
	}
	in := form()
	if got := in.Values([]contract.Input{photo}).Get("photo"); got != "https://example.com/a.png?x=1" {
		t.Errorf("the address is %v", got)
	}
	if f := web.InputField(&photo, nil, in); f.URL != "https://example.com/a.png?x=1" || f.Attrs["required"] != false {
		t.Errorf("the field has %q and %v", f.URL, f.Attrs)
	}
	in.Files["photo"] = map[string]any{"file": "file_2"}
	if got, _ := in.Values([]contract.Input{photo}).Get("photo").(map[string]any); got["file"] != "file_2" {
		t.Errorf("with an upload: %v", got)
	}
	key := contract.Input{Name: "key", Type: flow.TypeText, Secret: true}
	if f := web.InputField(&key, value.FromMap(map[string]any{"key": "plain"}), nil); f.Value != "" || f.Field.Type != "password" {
		t.Errorf("the field of a secret has %q of type %s", f.Value, f.Field.Type)
	}
}
