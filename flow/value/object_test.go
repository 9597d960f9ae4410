package value

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestObject_keeps_order(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"reasoning":"","answer":1}`, `{"2":1,"1":2,"a":3}`, `{"z":{"b":1,"a":[{"d":1,"c":2}]},"y":null}`,
		"{" + strings.Join(manyMembers(40), ",") + "}",
	} {
		v, err := Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(Encode(v)); got != text {
			t.Errorf("got %s, want %s", got, text)
		}
		if got, err := json.Marshal(map[string]any{"v": v}); err != nil || string(got) != `{"v":`+text+`}` {
			t.Errorf("encoding/json gives %s, %v", got, err)
		}
		if sorted := string(Canonical(v)); sorted != string(Encode(Plain(v))) {
			t.Errorf("sorted %s", sorted)
		}
	}
}

// manyMembers returns members in descending order, enough for an index.
func manyMembers(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf(`"m%02d":%d`, n-i, i))
	}
	return list
}

func TestObject_changes_members(t *testing.T) {
	t.Parallel()
	for _, size := range []int{3, 40} {
		v, err := Decode([]byte("{" + strings.Join(manyMembers(size), ",") + "}"))
		if err != nil {
			t.Fatal(err)
		}
		o := v.(*Object)
		names := o.Names()
		copied := o.Clone()
		copied.Set(names[1], "changed")
		copied.Set("new", true)
		copied.Delete(names[0])
		if o.Len() != size || copied.Len() != size || copied.Has(names[0]) || copied.Get(names[1]) != "changed" || copied.Get("new") != true || o.Get(names[1]) == "changed" {
			t.Errorf("%d members: %s and %s", size, Encode(o), Encode(copied))
		}
		if want := append(slices.Clone(names[1:]), "new"); !slices.Equal(copied.Names(), want) {
			t.Errorf("%d members: %v, want %v", size, copied.Names(), want)
		}
	}
	var none *Object
	if none.Len() != 0 || none.Has("a") || none.Get("a") != nil || len(none.Names()) != 0 || string(Encode(none)) != "null" {
		t.Error("a nil object is not empty")
	}
}

func TestDecodeReceived_reads_what_programs_send(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                           `null`,
		" \n":                        `null`,
		"\ufeff":                     `null`,
		"\ufeff{\"a\":1}":            `{"a":1}`,
		`{"a":1,"b":2,"a":3}`:        `{"a":3,"b":2}`,
		`"\ud83d"`:                   `"` + "\ufffd" + `"`,
		`"\ud83d\ude00"`:             `"😀"`,
		"\"a\xffb\"":                 `"a` + "\ufffd" + `b"`,
		`{"id":7615917337495251231}`: `{"id":7615917337495251231}`,
	} {
		v, err := DecodeReceived([]byte(text))
		if err != nil || string(Encode(v)) != want {
			t.Errorf("%q: %s, %v; want %s", text, Encode(v), err, want)
		}
	}
	for _, text := range []string{"\ufeff\ufeff1", "{", "nope", "1 2", "NaN", strings.Repeat("[", 70) + strings.Repeat("]", 70)} {
		if v, err := DecodeReceived([]byte(text)); err == nil {
			t.Errorf("%q was read as %s", text, Encode(v))
		}
	}
}

func TestCompareNumbers_is_exact(t *testing.T) {
	t.Parallel()
	ascending := []string{"-1e400", "-9007199254740993", "-9007199254740992", "-1.5", "-1e-400", "0", "1e-400", "0.1", "0.10000000000000000001", "1", "19.99", "9007199254740992", "9007199254740993",
		"18446744073709551614", "18446744073709551615", "1e400", "1e401", "1e1000000000000000000000"}
	for i, a := range ascending {
		for j, b := range ascending {
			order, ok := CompareNumbers(json.Number(a), json.Number(b))
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if !ok || order != want {
				t.Errorf("%s against %s: %d, %v", a, b, order, ok)
			}
		}
	}
	for _, same := range [][2]any{
		{json.Number("1"), json.Number("1.0")}, {json.Number("1e0"), 1}, {json.Number("19.990"), 19.99}, {json.Number("-0"), json.Number("0.0e7")},
		{json.Number("1200"), json.Number("1.2e3")}, {json.Number("0.0012"), json.Number("12e-4")}, {int64(5), 5.0},
	} {
		if order, ok := CompareNumbers(same[0], same[1]); !ok || order != 0 || !Equal(same[0], same[1]) {
			t.Errorf("%v and %v differ", same[0], same[1])
		}
	}
	if _, ok := CompareNumbers("1", json.Number("1")); ok {
		t.Error("a text was compared as a number")
	}
}

func TestEqual_ignores_order_of_members(t *testing.T) {
	t.Parallel()
	a, _ := Decode([]byte(`{"a":[1,{"b":2,"c":null}],"d":"x"}`))
	b, _ := Decode([]byte(`{"d":"x","a":[1.0,{"c":null,"b":2e0}]}`))
	c, _ := Decode([]byte(`{"d":"x","a":[{"c":null,"b":2},1]}`))
	if !Equal(a, b) || Equal(a, c) || !Equal(a, Plain(b)) || Equal(a, nil) || Equal("1", json.Number("1")) {
		t.Error("objects were compared wrongly")
	}
}

func TestIsInteger_reads_exact_numbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"1": true, "1.0": true, "1.5": false, "1e400": true, "1e-1": false, "10e-1": true, "0.0": true, "9007199254740993.1": false} {
		if got := IsInteger(json.Number(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestLookup_tells_null_from_missing(t *testing.T) {
	t.Parallel()
	for _, v := range []any{NewObject(Member{"a", nil}), map[string]any{"a": nil}} {
		if item, ok := Lookup(v, "a"); item != nil || !ok {
			t.Errorf("%T: got %v, %v for a member that is null", v, item, ok)
		}
		if _, ok := Lookup(v, "b"); ok || Len(v) != 1 {
			t.Errorf("%T: it has %d members, b: %v", v, Len(v), ok)
		}
	}
	for _, v := range []any{nil, "a", []any{1}, (*Object)(nil), map[string]any(nil)} {
		if _, ok := Lookup(v, "a"); ok || Len(v) != -1 {
			t.Errorf("%T: it has %d members, a: %v", v, Len(v), ok)
		}
	}
}
