package sorting

import (
	"cmp"
	"slices"
	"testing"
)

func TestBy_keeps_the_order_of_equal_elements(t *testing.T) {
	t.Parallel()
	type card struct{ rank, place int }
	var cards []card
	for i := range 100 {
		cards = append(cards, card{rank: i * 7 % 5, place: i})
	}
	By(cards, func(a, b card) int { return cmp.Compare(a.rank, b.rank) })
	if !slices.IsSortedFunc(cards, func(a, b card) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.place, b.place)) }) {
		t.Errorf("got %v", cards)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	if got := Keys(map[string]int{"b": 1, "a": 2, "": 3}); !slices.Equal(got, []string{"", "a", "b"}) {
		t.Errorf("got %q", got)
	}
	if got := Keys(map[string]int{}); got != nil {
		t.Errorf("got %#v for an empty map", got)
	}
}
