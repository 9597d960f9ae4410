package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func TestDecode_round_trips(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{`null`, `null`}, {` true `, `true`}, {`"a\u00e9\n"`, `"aé\n"`}, {`-0.10e+5`, `-0.10e+5`},
		{`12345678901234567890.12345678901234567890`, `12345678901234567890.12345678901234567890`},
		{`{"b":[1,{"c":null}],"a":{}}`, `{"b":[1,{"c":null}],"a":{}}`}, {`"<&>\u2028"`, `"<&>\u2028"`}, {`{"":1}`, `{"":1}`},
	}
	for _, tt := range tests {
		v, err := Decode([]byte(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
		} else if got := string(Encode(v)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.text, got, tt.want)
		}
	}
}

// TestDecodeOwned_and_DecodeFrom_read_the_same checks the readers of large bodies.
func TestDecodeOwned_and_DecodeFrom_read_the_same(t *testing.T) {
	t.Parallel()
	long := DataURLPrefix + strings.Repeat("x", LargeDataURL)
	for name, text := range map[string]string{
		"numbers":               `[1, 2.50, {"b": null, "a": [true]}]`,
		"a byte order mark":     "\ufeff" + `{"a": "` + long + `"}`,
		"pictures":              `{"a": ["` + long + `", "` + long + `1"], "` + long + `": "` + long + `"}`,
		"escapes":               `["` + long + `\n", "` + long + `\u00e9"]`,
		"an escaped quote":      `["a\"` + long + `", "` + long + `"]`,
		"a long text":           `"` + strings.Repeat("é", LargeDataURL) + `"`,
		"a long list":           "[" + strings.Repeat("[1],", 3*maxPending) + "2]",
		"lists of long lists":   "[[" + strings.Repeat("1,", maxPending) + "2],[" + strings.Repeat("3,", maxPending-1) + "4]]",
		"a list of one part":    "[" + strings.Repeat("1,", maxPending-1) + "2]",
		"nothing":               "",
		"more than one value":   `"` + long + `" 1`,
		"a text without an end": `["` + long,
		"odd bytes":             `["` + long + "\xff\"]",
	} {
		want, wantErr := Decode([]byte(text))
		owned, err := DecodeOwned([]byte(text))
		if !reflect.DeepEqual(owned, want) || !reflect.DeepEqual(err, wantErr) {
			t.Errorf("%s, owned: %v, want %v", name, err, wantErr)
		}
		read, err := DecodeFrom(iotest.HalfReader(strings.NewReader(text)))
		if !reflect.DeepEqual(read, want) || !reflect.DeepEqual(err, wantErr) {
			t.Errorf("%s, from a reader: %v, want %v", name, err, wantErr)
		}
	}
}

func TestEncode_panics_on_invalid_value(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a function was encoded")
		}
	}()
	Encode(func() {})
}

func TestEncode_matches_encoding_json(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		0.0, math.Copysign(0, -1), 1e-6, 9.99e-7, 1e20, 1e21, -1.5, 1.0 / 3, 100.0, math.MaxFloat64, 5, -7, int64(8), true, nil, "", "\x7f", "é", "\u2028", "<&>\"\\\n\x00",
		json.Number("-0"), json.Number("1.5e+3"), []any(nil), map[string]any(nil), []any{[]any{}, map[string]any{"b": nil, "a": []any{1.0}}}, []string{"x"},
	} {
		if ours, theirs := Encode(v), appendReflected(nil, v); !bytes.Equal(ours, theirs) {
			t.Errorf("%#v: %s, want %s", v, ours, theirs)
		}
	}
}

// FuzzNumber compares IsNumber with encoding/json.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"-0", "0.10", "1e+5", "01", "-", "1.", ".5", "1e", "+1", "1 ", "0x1", "-01", "1E-05", "00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want := json.Valid([]byte(s)) && s == strings.TrimSpace(s) && (s[0] == '-' || s[0] >= '0' && s[0] <= '9')
		if IsNumber(s) != want {
			t.Errorf("%q: %v", s, !want)
		}
	})
}

// FuzzDecode checks that decoding never panics, agrees with encoding/json and round-trips
// through Encode.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.50,{"b":null}],"c":"\u00e9\ud83d\ude00"}`, `[[[]]]`, `"\ud800"`, "\"\xff\"", `{"a":1,"a":2}`, `1 2`, `nul`, `-`, `{"a":}`, "\ufeff1", `1e999`, strings.Repeat("[", 70)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		v, err := Decode(data)
		if !bytes.Equal(before, data) {
			t.Fatal("the text was changed")
		}
		if err != nil {
			if p, ok := err.(*SyntaxError); !ok || p.Detail == "" || p.Code == "" || p.Pointer != "" && p.Pointer[0] != '/' {
				t.Fatalf("%#v", err)
			}
			return
		}
		var std any
		d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
		d.UseNumber()
		if err := d.Decode(&std); err != nil || !reflect.DeepEqual(Plain(v), std) {
			t.Fatalf("%v: %#v, encoding/json %#v", err, v, std)
		}
		if ours, theirs := Encode(v), appendReflected(nil, v); !bytes.Equal(ours, theirs) {
			t.Fatalf("encoded as %s, by encoding/json as %s", ours, theirs)
		}
		again, err := Decode(Encode(v))
		if err != nil || !reflect.DeepEqual(v, again) {
			t.Fatalf("%v: %#v, again %#v", err, v, again)
		}
		if sorted := Canonical(v); !bytes.Equal(sorted, Encode(Plain(v))) {
			t.Fatalf("sorted %s, as maps %s", sorted, Encode(Plain(v)))
		}

	})
}

// TestDecode_explains_syntax_errors checks that errors have a location and a message for
// users.
func TestDecode_explains_syntax_errors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a": }`:        `a value is missing after a name, at byte 6`,
		`[1}`:            `unexpected '}' after a value, where ',' or ']' belongs, at byte 2`,
		`{"a" 1}`:        `unexpected '1' after a name, where ':' belongs, at byte 5`,
		`{"a": 1 "b"}`:   `unexpected '"' after a value, where ',' or '}' belongs, at byte 8`,
		`[1 2]`:          `unexpected '2' after a value, where ',' or ']' belongs, at byte 3`,
		`[tru]`:          `unexpected ']' where true, false or null should be, at byte 4`,
		`{1: 2}`:         `a name must be a text in double quotes, at byte 1`,
		`["\x"]`:         `a text has a backslash before something that JSON does not escape; write \\ for a backslash, at byte 2`,
		"[\"a\nb\"]":     `unexpected '\n' inside a text, where it needs an escape such as \n, at byte 3`,
		"[\"\xff\"]":     `a text is not valid UTF-8, at byte 2`,
		`["\ud800"]`:     `a text has half of a surrogate pair; write both halves, or the character itself, at byte 2`,
		`[1.]`:           `unexpected ']' inside a number, at byte 3`,
		`<html>`:         `unexpected '<' where a value should begin, at byte 0`,
		`{"a": [1, 2`:    `the JSON ends too early`,
		`{"a":1, "a":2}`: `this name appears twice in the same object`,
	} {
		_, err := Decode([]byte(text))
		p, ok := errors.AsType[*SyntaxError](err)
		if !ok || p.Detail != want {
			t.Errorf("%q: got %v, wanted %s", text, err, want)
		}
	}
}
