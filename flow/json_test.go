package flow

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestDecodeJSON(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{`null`, `null`}, {` true `, `true`}, {`"a\u00e9\n"`, `"aé\n"`}, {`-0.10e+5`, `-0.10e+5`},
		{`12345678901234567890.12345678901234567890`, `12345678901234567890.12345678901234567890`},
		{`{"b":[1,{"c":null}],"a":{}}`, `{"a":{},"b":[1,{"c":null}]}`}, {`"<&>\u2028"`, `"<&>\u2028"`}, {`{"":1}`, `{"":1}`},
	}
	for _, tt := range tests {
		v, err := DecodeJSON([]byte(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
		} else if got := string(EncodeJSON(v)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.text, got, tt.want)
		}
	}
}

func TestEncodeJSONPanicsOnWhatIsNoValue(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a function was encoded")
		}
	}()
	EncodeJSON(func() {})
}

func TestPointer(t *testing.T) {
	t.Parallel()
	if got := Pointer("a/b", 3, "~c", ""); got != "/a~1b/3/~0c/" {
		t.Error(got)
	}
}

// FuzzDecodeJSON: what is accepted reads the same as with encoding/json, and
// comes back the same from its own encoding; nothing panics.
func FuzzDecodeJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.50,{"b":null}],"c":"\u00e9\ud83d\ude00"}`, `[[[]]]`, `"\ud800"`, "\"\xff\"", `{"a":1,"a":2}`, `1 2`, `nul`, `-`, `{"a":}`, "\ufeff1", `1e999`, strings.Repeat("[", 70)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		v, err := DecodeJSON(data)
		if !bytes.Equal(before, data) {
			t.Fatal("the text was changed")
		}
		if err != nil {
			if p, ok := err.(*ProblemError); !ok || p.Detail == "" || p.Code == "" || p.Pointer != "" && p.Pointer[0] != '/' {
				t.Fatalf("%#v", err)
			}
			return
		}
		var std any
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		if err := d.Decode(&std); err != nil || !reflect.DeepEqual(v, std) {
			t.Fatalf("%v: %#v, encoding/json %#v", err, v, std)
		}
		again, err := DecodeJSON(EncodeJSON(v))
		if err != nil || !reflect.DeepEqual(v, again) {
			t.Fatalf("%v: %#v, again %#v", err, v, again)
		}
		if checked, changed, err := asValue(v, MaxJSONDepth); err != nil || changed || !reflect.DeepEqual(v, checked) {
			t.Fatalf("not a value: %v %v", changed, err)
		}
	})
}
