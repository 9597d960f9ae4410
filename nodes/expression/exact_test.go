package expression

import (
	"testing"

	"sluice/flow"
)

func TestEval_passes_values_on_exactly(t *testing.T) {
	t.Parallel()
	const given = `{"price":19.990,"id":18446744073709551615,"near":18446744073709551614,"huge":1e400,"tiny":1e-400,"one":1.0,"z":[{"b":2.50,"a":[7615917337495251231]}],"n":5,"t":"x"}`
	for _, c := range []struct{ expression, want string }{
		{"value", given},
		{"value.price", "19.990"},
		{"value.id", "18446744073709551615"},
		{"value.huge", "1e400"},
		{"value.tiny", "1e-400"},
		{"value.one", "1.0"},
		{"value.z[0].b", "2.50"},
		{"value.z[0]", `{"b":2.50,"a":[7615917337495251231]}`},
		{`value["z"][0]["a"][0]`, "7615917337495251231"},
		{"value.n > 3 ? value.id : value.price", "18446744073709551615"},
		{"value.n > 9 ? value.id : value.n > 3 ? value.price : 0.0", "19.990"},
		{"[value.price, value.id, 1]", "[19.990,18446744073709551615,1]"},
		{`{"second": value.id, "first": value.price, "all": value.z}`, `{"second":18446744073709551615,"first":19.990,"all":[{"b":2.50,"a":[7615917337495251231]}]}`},
		{`{"b": {"d": 1, "c": 2}, "a": 3}`, `{"b":{"d":1,"c":2},"a":3}`},
		{"value.z.map(item, item.b)", "[2.50]"},
		{"value.z.filter(item, item.b > 2.0)", `[{"b":2.50,"a":[7615917337495251231]}]`},
		{`value.z.map(item, {"y": item.b, "x": item.a})`, `[{"y":2.50,"x":[7615917337495251231]}]`},
		// Where it computes, it computes with doubles.
		{"value.price * 2.0", "39.98"},
		{"value.z[0].b + 0.25", "2.75"},
		{"value.z.map(item, item.b * 2.0)[0] + 1.0", "6"},
		{"value.one + 1", "2"},
		{`string(value.one)`, `"1"`},
	} {
		t.Run(c.expression, func(t *testing.T) {
			t.Parallel()
			if got := evalText(t, c.expression, given); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestEval_compares_exactly(t *testing.T) {
	t.Parallel()
	const given = `{"a":18446744073709551614,"b":18446744073709551615,"c":9007199254740993,"d":9007199254740992,"e":0.1,"f":0.10000000000000000001,"g":1e400,"h":1e401,"one":1.0,
		"list":[18446744073709551614,1.0,{"id":18446744073709551615}],"object":{"id":18446744073709551614},"same":{"id":18446744073709551614},"other":{"id":18446744073709551615}}`
	for expression, want := range map[string]string{
		"value.a == 18446744073709551615u":   "false",
		"value.b == 18446744073709551615u":   "true",
		"value.a == value.b":                 "false",
		"value.a != value.b":                 "true",
		"value.a < value.b":                  "true",
		"value.a >= value.b":                 "false",
		"value.c > value.d":                  "true",
		"value.c == value.d":                 "false",
		"value.e == value.f":                 "false",
		"value.e < value.f":                  "true",
		"value.g < value.h":                  "true",
		"value.g == value.h":                 "false",
		"value.one == 1":                     "true",
		"1 == value.one":                     "true",
		"value.one == 1.0 && value.one <= 1": "true",
		"value.b in value.list":              "false",
		"value.a in value.list":              "true",
		"1 in value.list":                    "true",
		"value.other in value.list":          "true",
		`{"id": value.b} in value.list`:      "true",
		"value.object == value.same":         "true",
		"value.object == value.other":        "false",
		"[value.a] == [value.b]":             "false",
		`"id" in value.object`:               "true",
		"value.list.exists(x, x == value.b)": "false",
		"value.list.exists(x, x == value.a)": "true",
		`"a" < "b" && [1] == [1] && 2 > 1.5`: "true",
		`timestamp("2024-01-01T00:00:00Z") < timestamp("2025-01-01T00:00:00Z")`: "true",
	} {
		t.Run(expression, func(t *testing.T) {
			t.Parallel()
			if got := evalText(t, expression, given); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// evalText evaluates an expression over value, which is given as JSON, and returns its result as
// JSON.
func evalText(t *testing.T, source, given string) string {
	t.Helper()
	v, err := flow.DecodeJSON([]byte(given))
	if err != nil {
		t.Fatal(err)
	}
	e, err := Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	result, err := e.Eval(t.Context(), map[string]any{"value": v})
	if err != nil {
		t.Fatal(err)
	}
	return string(flow.EncodeJSON(result))
}
