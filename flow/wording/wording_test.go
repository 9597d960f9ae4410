package wording

import "testing"

func TestSentence_ends_once_and_keeps_every_letter(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                "",
		" a model failed ":                "A model failed.",
		"änderung":                        "Änderung.",
		"Done.":                           "Done.",
		"Really?":                         "Really?",
		`no field "x"; did you mean "y"?`: `No field "x"; did you mean "y"?`,
		`say "stop."`:                     `Say "stop."`,
		`its name is "x"`:                 `Its name is "x".`,
		"fails (see the log)":             "Fails (see the log).",
		"5 items":                         "5 items.",
		"完了。":                             "完了。",
		"\xff broken":                     "\xff broken.",
	} {
		if got := Sentence(in); got != want {
			t.Errorf("Sentence(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCuts_fall_between_characters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, got, want string }{
		{"Truncate of a short text", Truncate("äöü", 3), "äöü"},
		{"Truncate of a long text", Truncate("äöüß", 3), "äöü…"},
		{"Fit of a short text", Fit("äöü", 3), "äöü"},
		{"Fit of a long text", Fit("ä üß", 3), "ä…"},
		{"CutBytes in a character", CutBytes("aäö", 4), "aä"},
		{"CutBytes of a short text", CutBytes("aä", 3), "aä"},
		{"CutBytes of bytes that are no characters", CutBytes("\x80\x80\x80\x80\x80\x80", 5), "\x80"},
		{"OneLine", OneLine(" a\r\n\tb  c "), "a b c"},
	} {
		if c.got != c.want {
			t.Errorf("%s is %q, want %q", c.name, c.got, c.want)
		}
	}
}

func TestDistance_counts_changed_bytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"flow", "flwo", 2}, {"same", "same", 0}} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := Distance(c.b, c.a); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}

func TestList_says_how_many_names_are_left_out(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]string{1: "a and 2 more", 2: "a, b and 1 more", 3: "a, b, c", 4: "a, b, c"} {
		if got := List([]string{"a", "b", "c"}, most); got != want {
			t.Errorf("%d: %q, want %q", most, got, want)
		}
	}
}
