package builtin

import (
	"math"
	"testing"
)

// TestVader compares scores with those that VADER's authors publish.
func TestVader(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text     string
		compound float64
	}{
		{"VADER is smart, handsome, and funny.", 0.8316},
		{"VADER is smart, handsome, and funny!", 0.8439},
		{"VADER is very smart, handsome, and funny.", 0.8545},
		{"VADER is VERY SMART, handsome, and FUNNY.", 0.9227},
		{"VADER is VERY SMART, handsome, and FUNNY!!!", 0.9342},
		{"VADER is VERY SMART, uber handsome, and FRIGGIN FUNNY!!!", 0.9469},
		{"VADER is not smart, handsome, nor funny.", -0.7424},
		{"The book was good.", 0.4404},
		{"At least it isn't a horrible book.", 0.431},
		{"The book was only kind of good.", 0.3832},
		{"The plot was good, but the characters are uncompelling and the dialog is not great.", -0.7042},
		{"Today SUX!", -0.5461},
		{"Today only kinda sux! But I'll get by, lol", 0.5249},
		{"Make sure you :) or :D today!", 0.8633},
		{"Not bad at all", 0.431},
	} {
		if got := lexicon().score(c.text).Compound; math.Abs(got-c.compound) > 0.00005 {
			t.Errorf("%q: got %.4f, want %.4f", c.text, got, c.compound)
		}
	}
}
