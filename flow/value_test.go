package flow

import (
	"encoding/json"
	"testing"
	"time"
)

func num(s string) json.Number { return json.Number(s) }

// valueTypes has values of every type, with the name of the type and their text.
var valueTypes = []struct {
	v          any
	kind, text string
}{
	{nil, "null", ""}, {true, "boolean", "true"}, {"", "text", ""}, {"héllo", "text", "héllo"},
	{num("1.50"), "number", "1.50"}, {2.5, "number", "2.5"}, {1e21, "number", "1e+21"}, {3, "number", "3"}, {int64(-4), "number", "-4"},
	{[]any{}, "list", "[]"}, {[]any{"<", nil}, "list", `["<",null]`}, {map[string]any{"b": true, "a": num("1")}, "object", `{"a":1,"b":true}`},
	{map[string]any{"file": "file_1"}, "file", `{"file":"file_1"}`}, {map[string]any{"file": 5}, "object", `{"file":5}`},
	{[]string{"a"}, "unknown", `["a"]`},
}

func TestTypeOf_and_Text(t *testing.T) {
	t.Parallel()
	for _, tt := range valueTypes {
		if got := TypeOf(tt.v); got != tt.kind {
			t.Errorf("%#v is a %s, want %s", tt.v, got, tt.kind)
		}
		if got := Text(tt.v); got != tt.text {
			t.Errorf("%#v reads %q, want %q", tt.v, got, tt.text)
		}
	}
}

func TestCoerce(t *testing.T) {
	t.Parallel()
	list, object, file := []any{"a"}, map[string]any{"a": "b"}, map[string]any{"file": "file_1"}
	tests := []struct {
		v    any
		to   Type
		want any // nil when refused
		err  string
	}{
		{"a", TypeText, "a", ""}, {num("3.0"), TypeText, "3.0", ""}, {true, TypeText, "true", ""}, {1.5, TypeText, "1.5", ""}, {7, TypeText, "7", ""},
		{list, TypeText, nil, "wanted text, got list"}, {object, TypeText, nil, "wanted text, got object"}, {file, TypeText, nil, "wanted text, got file"},
		{nil, TypeText, nil, "wanted text, got null"},
		{"3", TypeNumber, num("3"), ""}, {" -1.5e3 ", TypeNumber, num("-1.5e3"), ""}, {num("3"), TypeNumber, num("3"), ""}, {4, TypeNumber, 4, ""},
		{"3a", TypeNumber, nil, "wanted number, got text"}, {"", TypeNumber, nil, "wanted number, got text"}, {"0x1", TypeNumber, nil, "wanted number, got text"},
		{"+1", TypeNumber, nil, "wanted number, got text"}, {"1,5", TypeNumber, nil, "wanted number, got text"}, {"NaN", TypeNumber, nil, "wanted number, got text"},
		{"01", TypeNumber, nil, "wanted number, got text"}, {"[1]", TypeNumber, nil, "wanted number, got text"}, {true, TypeNumber, nil, "wanted number, got boolean"},
		{"true", TypeBoolean, true, ""}, {"false", TypeBoolean, false, ""}, {true, TypeBoolean, true, ""},
		{"True", TypeBoolean, nil, "wanted boolean, got text"}, {"1", TypeBoolean, nil, "wanted boolean, got text"}, {num("1"), TypeBoolean, nil, "wanted boolean, got number"},
		{list, TypeList, list, ""}, {"[]", TypeList, nil, "wanted list, got text"}, {object, TypeList, nil, "wanted list, got object"},
		{file, TypeFile, file, ""}, {object, TypeFile, nil, "wanted file, got object"}, {"file_1", TypeFile, nil, "wanted file, got text"},
		{object, TypeJSON, object, ""}, {"a", TypeAny, "a", ""}, {"a", Type("odd"), nil, "wanted odd, got text"},
	}
	for _, tt := range tests {
		got, err := Coerce(tt.v, tt.to)
		if !EqualValues(got, tt.want) || err != nil && err.Error() != tt.err || (err == nil) != (tt.err == "") {
			t.Errorf("%#v to %s: %#v, %v; want %#v, %s", tt.v, tt.to, got, err, tt.want, tt.err)
		}
		if kept := tt.to.Is(tt.v); kept && !EqualValues(got, tt.v) {
			t.Errorf("%#v is %s and was changed to %#v", tt.v, tt.to, got)
		}
	}
}

func TestType_parses_typed_text(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		to   Type
		want string // as JSON; empty when refused
	}{
		{"a", TypeText, `"a"`}, {"3", TypeText, `"3"`}, {"3", TypeNumber, `3`}, {"x", TypeNumber, ""}, {"true", TypeBoolean, `true`},
		{`["a", 1]`, TypeList, `["a",1]`}, {`a, b`, TypeList, ""}, {`{"a":1}`, TypeList, ""}, {`{"a": 1}`, TypeJSON, `{"a":1}`},
		{"plain words", TypeJSON, `"plain words"`}, {"12", TypeJSON, "12"}, {`{"a":`, TypeJSON, `"{\"a\":"`}, {"file_1", TypeFile, ""},
	}
	for _, tt := range tests {
		got, err := tt.to.Parse(tt.text)
		if (err == nil) != (tt.want != "") || err == nil && string(EncodeJSON(got)) != tt.want {
			t.Errorf("%q as %s: %#v %v, want %s", tt.text, tt.to, got, err, tt.want)
		}
	}
}

func TestFloatAndNumber(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		v    any
		want float64
		ok   bool
	}{{num("1.5"), 1.5, true}, {2, 2, true}, {int64(3), 3, true}, {4.5, 4.5, true}, {num("1e400"), 0, false}, {"1", 0, false}, {nil, 0, false}, {true, 0, false}} {
		if got, ok := Float(tt.v); ok != tt.ok || ok && got != tt.want {
			t.Errorf("%#v: %v %v", tt.v, got, ok)
		}
	}
	if Number(3) != "3" || Number(2.50) != "2.5" || Number(int64(-1)) != "-1" || Number(float32(0.5)) != "0.5" {
		t.Error("numbers are written wrongly")
	}
}

func TestNanoUSD_formats_exactly(t *testing.T) {
	t.Parallel()
	for nano, want := range map[int64]string{0: "0.00", 1: "0.000000001", 1_300_000: "0.0013", 100_000_000: "0.10", 1_000_000_000: "1.00", 12_340_000_000: "12.34", 1_234_567_890_123: "1234.567890123"} {
		if got := NanoUSD(nano).Exact(); got != want {
			t.Errorf("%d: %s, want %s", nano, got, want)
		}
	}
}

func TestRunState_transitions(t *testing.T) {
	t.Parallel()
	all := []RunState{RunQueued, RunRunning, RunWaiting, RunSucceeded, RunFailed, RunCanceled}
	allowed := map[RunState]string{
		RunQueued: "running failed canceled ", RunRunning: "waiting succeeded failed canceled ", RunWaiting: "running failed canceled ",
	}
	for _, from := range all {
		moves := ""
		for _, to := range all {
			if from.CanBecome(to) && from != to {
				moves += string(to) + " "
			}
		}
		if moves != allowed[from] || from.Ended() != (moves == "") {
			t.Errorf("%s may become %s", from, moves)
		}
	}
}

func TestDeliveryPause(t *testing.T) {
	t.Parallel()
	var total time.Duration
	for failed := int64(1); failed <= 9; failed++ {
		p, more := DeliveryPause(failed, 0)
		longest, _ := DeliveryPause(failed, 0.999)
		if !more || longest < p || longest > p+p/10 {
			t.Errorf("after %d failures: %s to %s", failed, p, longest)
		}
		total += p
	}
	if want := 75*time.Hour + 35*time.Minute + 5*time.Second; total != want {
		t.Errorf("%s in all, want %s", total, want)
	}
	for _, failed := range []int64{-1, 0, 10} {
		if p, more := DeliveryPause(failed, 0.5); more || p != 0 {
			t.Errorf("after %d failures: %s", failed, p)
		}
	}
}

func TestValidID_rejects_malformed_IDs(t *testing.T) {
	t.Parallel()
	id := NewIDs().New(PrefixRun)
	if !ValidID(PrefixRun, id) || len(id) != len("run_")+26 {
		t.Error(id)
	}
	for _, bad := range []string{"", "run_", id + "0", id[:len(id)-1], "flow_" + id[4:], "run_" + "ILOU" + id[8:], "RUN_" + id[4:], id[:10] + "\x00" + id[11:], "run_8zzzzzzzzzzzzzzzzzzzzzzzzz"} {
		if ValidID(PrefixRun, bad) {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestFormatNumber_avoids_exponents(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{0: "0", 999_999_999: "999999999", -0.5: "-0.5", 1e-6: "0.000001", 1e-7: "1e-07", 1e15: "1e+15"} {
		if got := FormatNumber(f); got != want {
			t.Errorf("%g is written %s", f, got)
		}
	}
}

// TestType_supports_combined_types is about ports that take a file or its URL, or a list or text.
func TestType_supports_combined_types(t *testing.T) {
	t.Parallel()
	file := map[string]any{"file": "file_1"}
	for _, c := range []struct {
		t      Type
		values []any
		want   []bool
	}{
		{TypeSource, []any{file, "https://example.com/a.png", nil, json.Number("1"), []any{}}, []bool{true, true, true, false, false}},
		{TypeSources, []any{[]any{file}, file, "https://example.com/a.png", json.Number("1"), true}, []bool{true, true, true, false, false}},
		{TypeItems, []any{[]any{"a"}, "a\nb", file, map[string]any{}}, []bool{true, true, false, false}},
	} {
		for i, v := range c.values {
			if got := c.t.Is(v); got != c.want[i] {
				t.Errorf("%v is %s: got %t", v, c.t, got)
			}
		}
	}
	for _, c := range []struct {
		a, b Type
		want bool
	}{
		{TypeText, TypeSource, true}, {TypeSource, TypeFile, true}, {TypeNumber, TypeSource, false}, {TypeList, TypeSource, false},
		{TypeSources, TypeItems, true}, {TypeFile, TypeItems, false}, {TypeSources, TypeSources, true}, {TypeBoolean, TypeText, false},
	} {
		if got := c.a.Overlaps(c.b); got != c.want {
			t.Errorf("%s overlaps %s: got %t", c.a, c.b, got)
		}
	}
}

func TestPointer(t *testing.T) {
	t.Parallel()
	if got := Pointer("a/b", 3, "~c", ""); got != "/a~1b/3/~0c/" {
		t.Error(got)
	}
}
