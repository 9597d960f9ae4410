package snippets

import (
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/value"
)

// FuzzTexts checks that literals round-trip, in the languages that Go code can parse.
func FuzzTexts(f *testing.F) {
	for _, s := range []string{"", `'"\`, "a\x00\x01\x1f\x7f", "line\r\n\tnext", "\u2028\u202e\ufeff😀\U000e0001", "${x} #{x} $HOME %s `id`", `\u000a'''"""`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "\uFFFD")
		var back string
		if err := json.Unmarshal([]byte(jsonText(s)), &back); err != nil || back != s {
			t.Errorf("JSON: %s is %q (%v), wanted %q", jsonText(s), back, err, s)
		}
		if back, err := strconv.Unquote(goText(s)); err != nil || back != s {
			t.Errorf("Go: %s is %q (%v), wanted %q", goText(s), back, err, s)
		}
		if back, ok := unshell(shellText(s)); !ok || back != strings.ReplaceAll(s, "\x00", "") {
			t.Errorf("shell: %s is %q, wanted %q", shellText(s), back, s)
		}
		for name, text := range map[string]string{
			"Python": pythonText(s), "JavaScript": scriptText(s), "PHP": phpText(s), "Ruby": rubyText(s), "Java": javaText(s), "C#": csharpText(s),
		} {
			if fault := literalProblem(text); fault != "" {
				t.Errorf("%s: %s %s", name, text, fault)
			}
		}
	})
}

// unshell reads single-quoted words and \' between them, as sh does.
func unshell(s string) (text string, ok bool) {
	var b strings.Builder
	for s != "" {
		if rest, found := strings.CutPrefix(s, `\'`); found {
			b.WriteByte('\'')
			s = rest
			continue
		}
		word, rest, found := strings.Cut(strings.TrimPrefix(s, "'"), "'")
		if !strings.HasPrefix(s, "'") || !found {
			return "", false
		}
		b.WriteString(word)
		s = rest
	}
	return b.String(), true
}

// literalProblem returns the problem of a literal that ends early or has a line break, or "".
func literalProblem(literal string) string {
	mark, inside := literal[0], literal[1:len(literal)-1]
	if literal[len(literal)-1] != mark || len(literal) < 2 {
		return "does not end"
	}
	for i := 0; i < len(inside); i++ {
		switch {
		case inside[i] == '\\' && i == len(inside)-1:
			return "escapes its end"
		case inside[i] == '\\':
			i++
		case inside[i] == mark, inside[i] == '\n', inside[i] == '\r', inside[i] < ' ':
			return "ends at byte " + strconv.Itoa(i+1)
		}
	}
	return ""
}

// TestBodies_round_trip checks that the JSON of a body decodes to that body, with and without
// files.
func TestBodies_round_trip(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		fields := []field{{"a-b", plain(anyValue(random, 4))}, {"photo", attachment(anyText(random))}, {"", plain(anyValue(random, 4))}}
		parts := pieces(fields, 0)
		want := value.Canonical(map[string]any{"a-b": fields[0].Value, "photo": "here", "": fields[2].Value})
		if len(parts) != 3 || parts[1] != string(fields[1].Value.(attachment)) {
			t.Fatalf("the pieces are %q", parts)
		}
		got, err := flow.DecodeJSON([]byte(parts[0] + `"here"` + parts[2]))
		if err != nil || string(value.Canonical(got)) != string(want) {
			t.Fatalf("got %s (%v), wanted %s", flow.EncodeJSON(got), err, want)
		}
	}
}

// TestPythonLiterals_round_trip evaluates values with Python, whose objects and lists have the
// same form as in the other languages.
func TestPythonLiterals_round_trip(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("omitted: python3 is not installed") // the end-to-end tests require it
	}
	random := rand.New(rand.NewPCG(3, 4))
	program, want := "import json\n", ""
	for range 200 {
		v := plain(anyValue(random, 4))
		program += "print(json.dumps(" + asPython.value(v, 0) + "))\n"
		want += string(flow.EncodeJSON(v)) + "\n"
	}
	cmd := exec.CommandContext(t.Context(), "python3", "-")
	cmd.Stdin = strings.NewReader(program)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	wanted := strings.Split(want, "\n")
	for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		got, err := flow.DecodeJSON([]byte(line))
		if err != nil || string(flow.EncodeJSON(got)) != wanted[i] {
			t.Errorf("got %s (%v), wanted %s", line, err, wanted[i])
		}
	}
}

func anyValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(8); {
	case n == 0:
		return nil
	case n == 1:
		return r.IntN(2) == 0
	case n == 2:
		return r.Int64() - 1<<62
	case n < 5 || depth == 0:
		return anyText(r)
	case n == 5:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = anyValue(r, depth-1)
		}
		return list
	}
	m := map[string]any{}
	for range r.IntN(4) {
		m[anyText(r)] = anyValue(r, depth-1)
	}
	return m
}

func anyText(r *rand.Rand) string {
	alphabet := []rune("ab'\"\\`$#{}%\n\r\t\x01\x7f\u2028é漢😀\U000e0001")
	text := make([]rune, r.IntN(12))
	for i := range text {
		text[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(text)
}

// TestNumbers_keep_their_digits checks which numbers each language can represent.
func TestNumbers_keep_their_digits(t *testing.T) {
	t.Parallel()
	for n, want := range map[json.Number][3]bool{ // any whole number, 64 bits, a double
		"0": {true, true, true}, "-1.5": {true, true, true}, "9007199254740991": {true, true, true}, "9007199254740993": {true, true, false},
		"-9223372036854775808": {true, false, false}, "18446744073709551616": {true, false, false}, "0.1": {true, true, true}, "1e21": {true, true, true},
		"3.14159265358979323846": {}, "1e400": {}, "1e-400": {}, "0e999999999": {true, true, true}, "1E-7": {true, true, true},
	} {
		got := [3]bool{fitsNumber(n, anyWhole), fitsNumber(n, int64Whole), fitsNumber(n, doubleWhole)}
		if got != want {
			t.Errorf("%s: %v, wanted %v", n, got, want)
		}
	}
}

// TestHighlight checks that the tokens concatenate to the code.
func TestHighlight(t *testing.T) {
	t.Parallel()
	for _, l := range Languages() {
		for _, m := range Modes() {
			for _, c := range []Call{ticket(), photo()} {
				code, err := Render(l.ID, m, c)
				if err != nil {
					t.Fatal(err)
				}
				checkTokens(t, l.ID, code, "s")
				if m == ModeStart {
					checkTokens(t, l.ID, code, "c", "k", "s")
				}
			}
		}
	}
	checkTokens(t, "json", `{"a": ["b", 1, true, null]}`, "nt", "s", "m", "k")
	checkTokens(t, "http", "POST /v1/files HTTP/1.1\nAuthorization: Bearer x\n\n{\"a\": 1}\n", "k", "nt", "m")
	checkTokens(t, "sh", "curl -d '{}' # so\n", "s", "c")
	checkTokens(t, "text", "just words\n")
	checkTokens(t, "brainfuck", "+[.]")
	checkTokens(t, "go", "")
	checkTokens(t, "http", "")
	for id := range lexerNames {
		checkTokens(t, id, "\"'`<?php \x00\xff /* ${ #{\r\n")
	}
}

func checkTokens(t *testing.T, lang, code string, classes ...string) {
	t.Helper()
	var b strings.Builder
	last := "none"
	for _, token := range Highlight(lang, code) {
		b.WriteString(token.Text)
		if token.Class == last {
			t.Errorf("%s: two pieces of class %q in a row", lang, last)
		}
		last = token.Class
		classes = slices.DeleteFunc(classes, func(c string) bool { return c == last })
	}
	if b.String() != code || len(classes) > 0 {
		t.Errorf("%s: got %q, wanted %q; without %q", lang, b.String(), code, classes)
	}
}
