package nodes

import (
	"strings"
	"testing"

	"sluice/flow"
)

func TestCode(t *testing.T) {
	t.Parallel()
	returns := func(js string) string { return "export default (i) => (" + js + ");" }
	checkTextCases(t, "code", []textCase{
		{name: "one value", config: obj{"code": returns(`i.value + 1`)}, ports: obj{"value": flow.Number(2)}, want: obj{"result": flow.Number(3)}},
		{name: "a typed value", config: obj{"code": returns(`i.a.b`), "inputs": list{"a"}, "a": obj{"b": "c"}}, want: obj{"result": "c"}},
		{name: "several outputs", config: obj{"code": returns(`{total: i.list.length, first: i.list[0]}`), "inputs": list{"list"}, "outputs": list{"total", "first"}},
			ports: obj{"list": list{"x", "y"}}, want: obj{"total": flow.Number(2), "first": "x"}},
		{name: "an output that is absent", config: obj{"code": returns(`{a: 1}`), "inputs": list{}, "outputs": list{"a", "b"}}, want: obj{"a": flow.Number(1)}},
		{name: "without inputs", config: obj{"code": returns(`Object.keys(i)`), "inputs": list{}}, want: obj{"result": list{}}},
		{name: "the time of the run", config: obj{"code": returns(`new Date().toISOString()`), "inputs": list{}}, want: obj{"result": "2023-11-14T22:13:20.000Z"}},
		{name: "nothing", config: obj{"code": "export default () => {}", "inputs": list{}}, fails: "returned nothing"},
		{name: "no object", config: obj{"code": returns(`[1]`), "inputs": list{}, "outputs": list{"a"}}, fails: "returned a list"},
		{name: "an output that is not declared", config: obj{"code": returns(`{a: 1, c: 2}`), "inputs": list{}, "outputs": list{"a"}}, fails: `returned "c", which is not under Outputs`},
		{name: "an exception", config: obj{"code": "export default () => {\n  null.x\n}", "inputs": list{}}, fails: "Line 2: TypeError"},
	})
	for code, want := range map[string]string{
		"export default () => {\n  return 1 +\n}": "Line 3: SyntaxError",
		"function f() {}":                         "exports no function",
		"":                                        "exports no function",
	} {
		problems := use{kind: "code", config: obj{"code": code, "inputs": list{}}}.problems(t)
		if len(problems) != 1 || !strings.Contains(problems[0].Detail, want) {
			t.Errorf("%s: got %v, want %s", code, problems, want)
		}
	}
	off := fakes()
	off.CodeOff = true
	if _, err := New(off).Find("code").Run(t.Context(), &flow.In{}); err != errCodeOff {
		t.Errorf("code that is switched off: %v", err)
	}
	if n := (&flow.Node{ID: "n", Kind: "code", Config: obj{"code": returns("1")}}); len(New(off).Find("code").Check(n)) != 1 {
		t.Error("code that is switched off has no problem")
	}
}
