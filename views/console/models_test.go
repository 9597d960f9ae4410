package console

import (
	"strings"
	"testing"
)

func TestSortCards(t *testing.T) {
	t.Parallel()
	cards := []ModelCard{
		{ID: "a/large", Title: "large", Price: "$3 / $15", Context: "1M"}, {ID: "b/unknown", Title: "Unknown"},
		{ID: "c/small", Title: "Small", Price: "$0.25 / $2", Context: "128K"}, {ID: "d/local", Title: "local", Price: "Free", Context: "8,192"},
	}
	for _, c := range []struct {
		by   ModelSort
		want string
	}{
		{"", "a/large b/unknown c/small d/local"}, {SortModelName, "a/large d/local c/small b/unknown"},
		{SortModelPrice, "d/local c/small a/large b/unknown"}, {SortModelContext, "a/large c/small d/local b/unknown"},
	} {
		sorted := append([]ModelCard(nil), cards...)
		SortCards(sorted, c.by)
		var ids []string
		for _, card := range sorted {
			ids = append(ids, card.ID)
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("by %q: %s, want %s", c.by, got, c.want)
		}
	}
	for filter, want := range map[string]string{"": "a/large b/unknown c/small d/local", "free": "d/local", "1": "c/small d/local", "5": "a/large c/small d/local"} {
		var ids []string
		for i := range cards {
			if cards[i].Costs(filter) {
				ids = append(ids, cards[i].ID)
			}
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("price %q: %s, want %s", filter, got, want)
		}
	}
}
