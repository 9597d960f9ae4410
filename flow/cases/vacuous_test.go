package cases

import (
	"strings"
	"testing"
)

func TestParse_refuses_checks_that_every_run_passes(t *testing.T) {
	t.Parallel()
	for _, check := range []string{
		`"output":"x","contains":""`, `"output":"x","contains":["a",""]`, `"output":"x","not_contains":""`, `"output":"x","matches":""`, `"output":"x","matches":".*"`, `"output":"x","matches":"^"`, `"output":"x","matches":"(?s)^.*$"`,
		`"output":"x","schema":{}`, `"output":"x","schema":{"title":"A text","description":"d","examples":[1]}`, `"output":"x","schema":{"propertys":{"a":{"type":"string"}}}`,
		`"output":"x","schema":{"properties":{}}`, `"output":"x","schema":{"properties":{"a":{}}}`, `"output":"x","schema":{"required":[]}`, `"output":"x","schema":{"minLength":0}`, `"output":"x","schema":{"items":{}}`,
		`"output":"x","schema":{"items":true}`, `"output":"x","schema":{"anyOf":[{},{"type":"string"}]}`, `"output":"x","schema":{"allOf":[{},true]}`, `"output":"x","schema":{"additionalProperties":true}`, `"output":"x","schema":{"uniqueItems":false}`,
		`"output":"x","schema":{"type":["null","boolean","object","array","string","number","integer"]}`,
		`"limits":{}`, `"limits":{"usd":null}`, `"expression":"1 == 1"`, `"expression":"score","min":0`, `"output":"x","similar":true,"min":0`, `"output":"x","judge":"r","model":"p/m","against":"baseline","min":0`,
	} {
		for _, text := range []string{`{"schema":"sluice.tests/v1","cases":[{"id":"a","checks":[{` + check + `}]}]}`, `{"schema":"sluice.tests/v1","defaults":{"checks":[{` + check + `}]},"cases":[]}`} {
			_, problems := parse(t, text)
			if len(problems) != 1 || !strings.Contains(problems[0].Pointer, "/checks/0/") {
				t.Errorf("%s: problems %v", text, problems)
			}
		}
		if _, err := DecodeCase(`{"id":"a","checks":[{` + check + `}]}`); err != nil {
			t.Errorf("a stored case with %s cannot be read: %v", check, err)
		}
	}
	for _, check := range []string{
		`"output":"x","contains":" "`, `"output":"x","matches":"^a*$"`, `"output":"x","matches":".+"`, `"output":"x","schema":{"type":"object"}`, `"output":"x","schema":{"type":["string","null"]}`, `"output":"x","schema":{"required":["a"]}`,
		`"output":"x","schema":{"properties":{"a":{"type":"string"}}}`, `"output":"x","schema":{"anyOf":[{"type":"string"},{"type":"null"}]}`, `"output":"x","schema":{"not":{}}`, `"output":"x","schema":{"items":false}`, `"output":"x","schema":{"additionalProperties":false}`,
		`"output":"x","schema":{"const":null}`, `"limits":{"ms":0}`, `"expression":"score","min":0.1`, `"expression":"true"`, `"output":"x","similar":true`, `"output":"x","judge":"r","model":"p/m","min":0`, `"flow":"checker","min":0`,
	} {
		if _, problems := parse(t, `{"schema":"sluice.tests/v1","cases":[{"id":"a","checks":[{`+check+`}]}]}`); len(problems) > 0 {
			t.Errorf("%s: %v", check, problems)
		}
	}
}

func TestParse_refuses_gates_that_every_report_passes(t *testing.T) {
	t.Parallel()
	const a = `{"id":"a","tags":["must"]}`
	for gate, wrong := range map[string]string{
		`{"pass_rate":0}`: "/gate/pass_rate", `{"tags":["musst"]}`: "/gate/tags", `{"tags":["must"]}`: "", `{"pass_rate":0,"no_worse":true}`: "", `{"pass_rate":0,"usd":"0.1"}`: "", `{"pass_rate":0.1}`: "", `{}`: "",
	} {
		_, problems := parse(t, `{"schema":"sluice.tests/v1","gate":`+gate+`,"cases":[`+a+`]}`)
		if wrong == "" && len(problems) > 0 || wrong != "" && (len(problems) != 1 || problems[0].Pointer != wrong) {
			t.Errorf("%s: %v", gate, problems)
		}
	}
	if _, problems := parse(t, `{"schema":"sluice.tests/v1","gate":{"tags":["must"]},"cases":[]}`); len(problems) > 0 { // the cases are on the server
		t.Errorf("a file with a gate only: %v", problems)
	}
}
