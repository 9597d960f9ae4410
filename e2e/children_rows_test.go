package e2e

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// TestMap_runs_the_rows_of_a_file maps over tables in the formats of batches.
func TestMap_runs_the_rows_of_a_file(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	child := s.publish(documentOf("Pair", []object{input("a"), input("b"), node("count", "input", object{"name": "count", "type": "number", "default": 1}), node("say", "template", object{"template": "{{a}}-{{b}}-{{count}}"}), output("pair")},
		"a.value > say.a", "b.value > say.b", "count.value > say.count", "say.text > out_pair.value"))
	contract := object{
		"inputs":  []object{{"name": "a", "type": "text", "required": true}, {"name": "b", "type": "text", "required": true}, {"name": "count", "type": "number"}},
		"outputs": []object{{"name": "pair", "type": "text"}},
	}
	build := func(name string, config object) string {
		for field, v := range (object{"flow": child, "contract": contract}) {
			config[field] = v
		}
		return s.publish(documentOf(name, []object{
			node("table", "input", object{"name": "table", "type": "file"}), node("each", "map", config), output("pair"), output("errors"),
		}, "table.value > each.file", "each.pair > out_pair.value", "each.errors > out_errors.value"))
	}
	c := s.client(s.key())
	named := build("Named", object{})
	fixed := build("Fixed", object{"input.b": "same", "columns": object{"a": "row.first + ' ' + row.last", "count": "Quantity"}})
	book := excelize.NewFile()
	for at, v := range map[string]any{"A1": "A", "B1": "b", "C1": "Count", "A2": "x", "B2": "2026", "C2": 2.5, "A3": "y", "B3": "z"} {
		if err := book.SetCellValue("Sheet1", at, v); err != nil {
			t.Fatal(err)
		}
	}
	var sheet bytes.Buffer
	if err := book.Write(&sheet); err != nil {
		t.Fatal(err)
	}
	chinese, err := simplifiedchinese.GBK.NewEncoder().String("a;b\n" + strings.Repeat("这个产品的质量非常好;\"第一\n第二\"\n", 2))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ flow, name, content, want string }{
		{named, "a.csv", "\ufeff\"A\",B,other\n1,2,3\n4,5,6\n", "[1-2-1 4-5-1]"},
		{named, "none.csv", "a,b\n", "[]"},
		{named, "chinese.csv", chinese, "[这个产品的质量非常好-第一\n第二-1 这个产品的质量非常好-第一\n第二-1]"},
		{named, "a.jsonl", `{"a":"1","b":"2","count":7}` + "\n" + `{"b":"4","a":"3"}` + "\n", "[1-2-7 3-4-1]"},
		{named, "a.xlsx", sheet.String(), "[x-2026-2.5 y-z-1]"},
		{fixed, "people.csv", "first,last,Quantity\nAda,Lovelace,3\n", "[Ada Lovelace-same-3]"},
	} {
		if end := c.succeed(tt.flow, object{"table": c.upload(tt.name, []byte(tt.content))}); fmt.Sprint(end.Outputs["pair"]) != tt.want {
			t.Errorf("%s: got %v, want %s", tt.name, end.Outputs["pair"], tt.want)
		}
	}
	for _, tt := range []struct{ flow, content, code, message string }{
		{named, "a,c\n1,2\n", "batch_invalid", `no column for the input "b"`},
		{named, "a,b,count\n1,2,3\n4,5,six\n7,8,9\n", "batch_invalid", "Row 3: "},
		{named, "%PDF-1.4\x00", "batch_invalid", "not a table"},
		{fixed, "first,last\nAda,Lovelace\n", "batch_invalid", `no column "Quantity"`},
	} {
		end := c.await(c.start(tt.flow, object{"table": c.upload("a.csv", []byte(tt.content))}))
		if end.Status != "failed" || end.Error.Code != tt.code || !strings.Contains(end.Error.Message, tt.message) {
			t.Errorf("%q: %s, %+v, want %s with %q", tt.content, end.Status, end.Error, tt.code, tt.message)
		}
		if list := c.want(200, "GET", end.path()+"/children", nil).object(t)["children"]; len(list.([]any)) > 0 {
			t.Errorf("%q: %v were started", tt.content, list)
		}
	}
	keep := build("Keep", object{"on_item_error": "keep"})
	end := c.succeed(keep, object{"table": c.upload("a.csv", []byte("a,b,count\n1,2,3\n4,5,six\n7,8,9\n"))})
	if got := fmt.Sprint(end.Outputs["pair"]); got != "[1-2-3 <nil> 7-8-9]" || !strings.Contains(fmt.Sprint(end.Outputs["errors"]), "index:1") {
		t.Errorf("with Keep going: %s, errors %v", got, end.Outputs["errors"])
	}
}
