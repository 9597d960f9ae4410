package schedule

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed zones.txt
var zonesFile string

// Zones returns the IANA names of time zones that people choose from, by name: those of tz's zone.tab, and UTC.
var Zones = sync.OnceValue(func() []string { return strings.Fields(zonesFile) })

// findZone returns the IANA name of a zone that people write: "Berlin", "europe/berlin", "New York time", "UTC".
func findZone(text string) (name string, ok bool) {
	text = strings.TrimSpace(strings.TrimSuffix(strings.ToLower(strings.TrimSpace(text)), " time"))
	for _, name := range Zones() {
		if lower := strings.ToLower(name); lower == text || lower == strings.ReplaceAll(text, " ", "_") || strings.ToLower(City(name)) == text {
			return name, true
		}
	}
	return "", false
}
