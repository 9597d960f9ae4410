package openai

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestModelName_finds_the_member(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*maxShortText)
	for name, c := range map[string]struct {
		body, model string
		valid       bool
	}{
		"first":                    {`{"model":"a","messages":[]}`, "a", true},
		"last":                     {`{"messages":[{"model":"b"},[]],"n":1.5e3, "model" : "a" }`, "a", true},
		"with escapes":             {`{"\u006dodel":"\u00e9\"\n"}`, "é\"\n", true},
		"missing":                  {`{"messages":[]}`, "", true},
		"not a text":               {`{"model":{"model":"a"}}`, "", true},
		"after a long text":        {`{"a":"` + long + `","` + long + `":1,"model":"a"}`, "a", true},
		"after a long number":      {`{"a":1` + strings.Repeat("0", 3*maxShortText) + `,"model":"a"}`, "a", true},
		"after many spaces":        {`{"a":` + strings.Repeat(" ", 3*maxShortText) + `12.5,"model":` + strings.Repeat("\n", 3*maxShortText) + `"a"}`, "a", true},
		"after escapes at the cut": {`{"a":"` + long[:maxShortText-3] + strings.Repeat(`\u00e9`, 5) + `","b":"` + long[:maxShortText-1] + `\"\\","c":"` + strings.Repeat(`\ud83d\ude00`, maxShortText) + `","model":"a"}`, "a", true},
		"in a list":                {`[{"model":"a"}]`, "", false},
		"cut":                      {`{"messages":[{`, "", false},
	} {
		if model, valid := modelName(iotest.HalfReader(strings.NewReader(c.body))); model != c.model || valid != c.valid {
			t.Errorf("%s: %q, %v", name, model, valid)
		}
	}
}

// TestModelName_skips_long_texts checks that what a decoder gets of a body does not grow with its texts.
func TestModelName_skips_long_texts(t *testing.T) {
	t.Parallel()
	text := `["` + strings.Repeat(`x\n\u00e9é`, 1<<18) + `",` + strings.Repeat("1", 1<<20) + `]`
	if kept, err := io.ReadAll(newShortTexts(strings.NewReader(text))); err != nil || len(kept) > 4*maxShortText {
		t.Errorf("%d of %d bytes are kept: %v", len(kept), len(text), err)
	}
}
