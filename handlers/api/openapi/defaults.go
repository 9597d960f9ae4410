package openapi

import (
	"slices"
	"strings"

	"sluice/flow"
)

// withoutDefaults moves the defaults of optional members from the schemas of a document into their descriptions. Generators of clients
// take a default as a promise that the member is there: openapi-typescript makes it required, so that a call that leaves out an optional
// input does not compile.
func withoutDefaults(v any) {
	switch v := v.(type) {
	case *flow.Object:
		if properties, ok := v.Get("properties").(*flow.Object); ok {
			required, _ := v.Get("required").([]any)
			for name, member := range properties.All() {
				if m, ok := member.(*flow.Object); ok && m.Has("default") && !slices.Contains(required, any(name)) {
					text, _ := m.Get("description").(string)
					m.Set("description", strings.TrimSpace(text+" Default: "+string(flow.EncodeJSON(m.Get("default")))+"."))
					m.Delete("default")
				}
			}
		}
		for name, member := range v.All() {
			if name != "example" && name != "examples" && name != "default" { // values, not schemas
				withoutDefaults(member)
			}
		}
	case []any:
		for _, element := range v {
			withoutDefaults(element)
		}
	}
}
