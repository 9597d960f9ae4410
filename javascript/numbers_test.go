package javascript

import "testing"

func TestNumbers_survive_a_program(t *testing.T) {
	t.Parallel()
	const given = `{"a":{"id":7615917337495251231,"near":9007199254740993,"list":[18446744073709551615,-9007199254740993],"price":52.520006599999998,"plain":19.990,"safe":9007199254740994,"text":"bigint:7"}}`
	for _, c := range []struct{ code, want string }{
		{"({a}) => a", `{"id":7615917337495251231,"near":9007199254740993,"list":[18446744073709551615,-9007199254740993],"price":52.520006599999998,"plain":19.990,"safe":9007199254740994,"text":"bigint:7"}`},
		{"({a}) => [a.plain + 1, 19.99, a.plain * 1]", `[20.99,19.990,19.990]`},
		{"({a}) => `${a.id}`", `"7615917337495251231"`},
		{"({a}) => a.id + 1n", `7615917337495251232`},
		{"({a}) => Number(a.near)", `9007199254740992`},
		{"({a}) => a.near > a.safe", `false`},
		{"({a}) => ({[a.id]: a.id})", `{"7615917337495251231":7615917337495251231}`},
		{"({a}) => [a.price * 2, a.price]", `[105.04001319999999,52.520006599999998]`},
		{"() => 2n ** 70n", `1180591620717411303424`},
		{"({a}) => typeof a.id + typeof a.safe", `"bigintnumber"`},
	} {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			a := runHere(t, "export default "+c.code, given)
			if a.Error != nil || a.Value != c.want {
				t.Errorf("got %s %v, want %s", a.Value, a.Error, c.want)
			}
		})
	}
}

func TestNumbers_that_cannot_be_exact_are_errors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ code, given, want string }{
		{"({a}) => a", `{"a":1e400}`, "The number 1e400 in the inputs does not fit JavaScript's numbers; pass it as text."},
		{"({a}) => a", `{"a":[0.1,0.10000000000000000001,0.10000000000000000002]}`, "The numbers 0.10000000000000000001 and 0.10000000000000000002 in the inputs are the same in JavaScript; pass them as texts."},
		{"({a}) => a", `{"a":[0.1,0.10000000000000000001]}`, "The numbers 0.1 and 0.10000000000000000001 in the inputs are the same in JavaScript; pass them as texts."},
		{"({a}) => a + 1", `{"a":7615917337495251231}`, "TypeError: cannot convert bigint to number. A whole number of the inputs that is too large for JavaScript's numbers is a BigInt. Compute with BigInts, or convert it with Number(), which rounds it."},
	} {
		t.Run(c.given, func(t *testing.T) {
			t.Parallel()
			a := runHere(t, "export default "+c.code, c.given)
			if a.Error == nil || a.Error.Message != c.want {
				t.Errorf("got %s %v, want %s", a.Value, a.Error, c.want)
			}
		})
	}
}

// runHere runs a program in this process.
func runHere(t *testing.T, source, inputs string) *answer {
	t.Helper()
	m, err := newMachine(func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.vm.Close() }()
	return m.run(Program{Source: source, Inputs: []byte(inputs)})
}
