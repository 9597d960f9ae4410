package e2e

import "testing"

// TestUntrusted_content_crosses_flows: the mark of an input goes into a child run and back, and a child that reads a web
// service marks what it returns.
func TestUntrusted_content_crosses_flows(t *testing.T) {
	t.Parallel()
	hooks := newReceiver(t, nil)
	s := newServer(t)
	c := s.client(s.key())
	echo := s.publish(documentOf("Echo", []object{input("n"), node("say", "template", object{"template": "{{n}}"}), output("said")}, "n.value > say.n", "say.text > out_said.value"))
	reader := s.publish(documentOf("Read", []object{input("n"), node("get", "http_request", object{"url": hooks.URL + "/{{n}}"}), output("said")}, "n.value > get.n", "get.body > out_said.value"))
	contract := object{"inputs": []object{{"name": "n", "type": "text", "required": true}}, "outputs": []object{{"name": "said", "type": "text"}}}
	caller := func(child string, untrusted bool) string {
		in := input("n")
		in["config"].(object)["untrusted"] = untrusted
		return s.publish(documentOf("Caller", []object{in, node("call", "subflow", object{"flow": child, "contract": contract}), output("said")}, "n.value > call.input.n", "call.said > out_said.value"))
	}
	for _, test := range []struct {
		child     string
		untrusted bool
		want      map[string]bool
	}{
		{echo, false, map[string]bool{"n": false, "call": false, "out_said": false}},
		{echo, true, map[string]bool{"n": true, "call": true, "out_said": true}},
		{reader, false, map[string]bool{"n": false, "call": true, "out_said": true}},
	} {
		r := c.succeed(caller(test.child, test.untrusted), object{"n": "x"})
		var list struct {
			Steps []struct {
				Path      string
				Untrusted bool
			}
		}
		read(t, c, r.path()+"/steps", &list)
		for _, step := range list.Steps {
			if step.Untrusted != test.want[step.Path] {
				t.Errorf("%v: %s is untrusted: %v", test.untrusted, step.Path, step.Untrusted)
			}
		}
	}
}
