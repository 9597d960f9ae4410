package prices

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"
)

// File is a price list as JSON. Its providers have the format of the data of
// genai-prices (https://github.com/pydantic/genai-prices), so that its data.json can
// be loaded as it is.
type File struct {
	Source    string     `json:"source"`
	Date      string     `json:"date"` // of the data: 2006-01-02
	Providers []Provider `json:"providers"`
}

// Provider is a provider and its models. The first model that matches a name counts.
type Provider struct {
	ID     string  `json:"id"`
	Models []Model `json:"models"`
}

// Model is a model with its prices: an object of rates, or a list of them with
// constraints.
type Model struct {
	ID     string          `json:"id"`
	Match  Match           `json:"match"`
	Prices json.RawMessage `json:"prices"`
}

// Match is a condition for the name of a model. Exactly one exported field is set. Names
// are compared in lowercase.
type Match struct {
	Or         []Match `json:"or,omitempty"`
	And        []Match `json:"and,omitempty"`
	Equals     string  `json:"equals,omitempty"`
	StartsWith string  `json:"starts_with,omitempty"`
	EndsWith   string  `json:"ends_with,omitempty"`
	Contains   string  `json:"contains,omitempty"`
	Regex      string  `json:"regex,omitempty"`

	regex *regexp.Regexp
	not   bool // inverts regex: names that it matches are excluded
}

// compile compiles the regular expressions of a match. It rewrites a negative lookahead,
// which Go does not support, as an inverted expression.
func (m *Match) compile() (err error) {
	for _, list := range [][]Match{m.Or, m.And} {
		for i := range list {
			if err := list[i].compile(); err != nil {
				return err
			}
		}
	}
	pattern, isNegative := strings.CutPrefix(m.Regex, "^(?!")
	if isNegative && strings.HasSuffix(pattern, ")") { // Go has no lookahead
		pattern, m.not = "^"+strings.TrimSuffix(pattern, ")"), true
	} else {
		pattern = m.Regex
	}
	if m.Regex != "" {
		m.regex, err = regexp.Compile("(?i)" + pattern)
	}
	return err
}

// matches reports whether the lowercase name of a model meets the condition.
func (m *Match) matches(name string) bool {
	lower := strings.ToLower
	switch {
	case m.Or != nil:
		for i := range m.Or {
			if m.Or[i].matches(name) {
				return true
			}
		}
		return false
	case m.And != nil:
		for i := range m.And {
			if !m.And[i].matches(name) {
				return false
			}
		}
		return true
	case m.Equals != "":
		return name == lower(m.Equals)
	case m.StartsWith != "":
		return strings.HasPrefix(name, lower(m.StartsWith))
	case m.EndsWith != "":
		return strings.HasSuffix(name, lower(m.EndsWith))
	case m.Contains != "":
		return strings.Contains(name, lower(m.Contains))
	}
	return m.regex != nil && m.regex.MatchString(name) != m.not
}

// rates are the prices of a model by unit; input_mtok is dollars per million input
// tokens. Other units than those of tokens and requests, such as hours of audio, are
// ignored.
type rates map[string]rate

// rate is a price that may depend on the number of all input tokens of a call.
type rate struct {
	Base  float64
	Tiers []tier
}

// tier is the price of a call with more than Start input tokens. It applies to all tokens
// of the call, not only to those above Start.
type tier struct {
	Start int64   `json:"start"`
	Price float64 `json:"price"`
}

// UnmarshalJSON reads a number, or an object with a base and tiers.
func (r *rate) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var tiered struct {
			Base  float64 `json:"base"`
			Tiers []tier  `json:"tiers"`
		}
		err := json.Unmarshal(data, &tiered)
		r.Base, r.Tiers = tiered.Base, tiered.Tiers
		return err
	}
	return json.Unmarshal(data, &r.Base)
}

// conditional is a set of prices that applies from a date on, or at certain hours of each
// day. Without a constraint it always applies.
type conditional struct {
	Constraint *struct {
		Start     string `json:"start_date"` // 2006-01-02
		StartTime string `json:"start_time"` // 15:04:05Z or with an offset
		EndTime   string `json:"end_time"`
	} `json:"constraint"`
	Prices rates `json:"prices"`
}

// readPrices reads the prices of a model. The last entry that applies takes precedence.
func readPrices(data json.RawMessage) (list []conditional, err error) {
	if len(data) > 0 && data[0] == '[' {
		err = json.Unmarshal(data, &list)
	} else {
		list = make([]conditional, 1)
		err = json.Unmarshal(data, &list[0].Prices)
	}
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("there are no prices")
	}
	return list, err
}

// applies reports whether the prices are valid at a time.
func (c *conditional) applies(at time.Time) (bool, error) {
	switch {
	case c.Constraint == nil:
		return true, nil
	case c.Constraint.Start != "":
		start, err := time.Parse(time.DateOnly, c.Constraint.Start)
		return !at.Before(start), err
	}
	from, err := timeOfDay(c.Constraint.StartTime)
	if err != nil {
		return false, err
	}
	to, err := timeOfDay(c.Constraint.EndTime)
	now := at.UTC().Sub(at.UTC().Truncate(24 * time.Hour))
	if to < from {
		return now >= from || now < to, err
	}
	return now >= from && now < to, err
}

// timeOfDay returns the time since midnight in UTC.
func timeOfDay(s string) (time.Duration, error) {
	t, err := time.Parse("15:04:05Z07:00", s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time of day such as 16:30:00Z", s)
	}
	t = t.UTC()
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second, nil
}

// tokenUnits are the units by which chat and embedding models charge.
var tokenUnits = map[string]bool{
	"input_mtok": true, "output_mtok": true, "cache_read_mtok": true, "cache_write_mtok": true, "cache_write_1h_mtok": true,
	"output_reasoning_mtok": true, "requests_kcount": true,
}

// KeepTokens removes units other than tokenUnits, and models without any other price, to
// keep the list small.
func (p *Provider) KeepTokens() {
	var kept []Model
	for _, m := range p.Models {
		var v any
		if json.Unmarshal(m.Prices, &v) != nil {
			continue
		}
		list, isList := v.([]any)
		if !isList {
			list = []any{map[string]any{"prices": v}}
		}
		for _, item := range list {
			units, _ := item.(map[string]any)["prices"].(map[string]any)
			maps.DeleteFunc(units, func(name string, _ any) bool { return !tokenUnits[name] })
			if len(units) == 0 {
				v = nil
			}
		}
		if v == nil {
			continue
		}
		if data, err := json.Marshal(v); err == nil {
			m.Prices = data
			kept = append(kept, m)
		}
	}
	p.Models = kept
}
