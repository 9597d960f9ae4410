package console

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"sluice/flow/wording"
	"sluice/views/components"
)

// ScopeWords explain a scope to users who grant it.
type ScopeWords struct{ Scope, Title, Text string }

// Scopes explain all scopes, in the form and in docs/keys.md.
var Scopes = []ScopeWords{
	{"run", "Run", "Start, cancel and rerun runs, upload files, and read the runs that it started."},
	{"read", "Read", "Read all runs of its flows, whatever started them, and the inputs that the flows need."},
	{"manage", "Manage runs", "Delete runs and files, resend webhooks, run drafts and past versions."},
	{"edit", "Edit", "Create, change, publish and archive flows."},
	{"approve", "Approve", "Answer the approvals that runs wait for."},
	{"admin", "Admin", "Create keys with no more access than this one, and manage credentials. Can’t read secrets."},
}

// Values of an expiry besides a number of days.
const (
	ExpiryNever = "never"
	ExpiryDate  = "date"
	ExpiryKeep  = "keep"
)

// expiryDays are the expiries offered, in days.
var expiryDays = []int{7, 30, 90, 365}

// expiries are the choices for the expiry of a key. The expiry of an existing key comes
// first, so that saving the form without a choice does not change it.
func (f KeyForm) expiries() []components.Option {
	var list []components.Option
	if k := f.Existing; k != nil && !k.ExpiresAt.IsZero() {
		list = append(list, components.Option{Value: ExpiryKeep, Label: "As it is: " + wording.Moment(k.ExpiresAt)})
	}
	list = append(list, components.Option{Value: ExpiryNever, Label: "Never"})
	for _, n := range expiryDays {
		list = append(list, components.Option{Value: strconv.Itoa(n), Label: "In " + strconv.Itoa(n) + " days, on " + wording.Day(f.Now.AddDate(0, 0, n))})
	}
	return append(list, components.Option{Value: ExpiryDate, Label: "Custom date…"})
}

// tomorrow returns the first day that a key can expire on.
func (f KeyForm) tomorrow() string { return f.Now.UTC().Add(24 * time.Hour).Format(time.DateOnly) }

// field returns a text field with its error. Its ID includes Within, because a page can
// have this form more than once.
func (f KeyForm) field(name, label string) components.Field {
	return components.Field{ID: f.name(name), Name: name, Label: label, Error: f.Errors[name], Autocomplete: "off"}
}

func (f KeyForm) nameField() components.Field {
	d := f.field("name", "Name")
	d.Value, d.Help, d.Placeholder = f.Name, "What it is for. Shown in lists, never to callers.", "Website, production"
	d.Attrs = map[string]any{"maxlength": "100"}
	return d
}

// limit returns the number field of a limit; leaving it empty means no limit. All
// limits are whole numbers except for usd_per_day.
func (f KeyForm) limit(name, label, value string) components.Field {
	d := f.field(name, label)
	d.Value, d.Optional, d.Type, d.Placeholder = value, true, "number", "No limit"
	d.Attrs = map[string]any{"min": "1", "step": "1", "inputmode": "numeric"}
	if name == "usd_per_day" {
		d.Attrs = map[string]any{"min": "0", "step": "any", "inputmode": "decimal"}
	}
	return d
}

// limits returns the fields of the four limits: requests a minute, concurrent runs,
// runs a day and dollars a day.
func (f KeyForm) limits() []components.Field {
	return []components.Field{
		f.limit("rpm", "Requests per minute", f.RPM), f.limit("concurrency", "Runs at once", f.Concurrency),
		f.limit("runs_per_day", "Runs per day", f.RunsPerDay), f.limit("usd_per_day", "Dollars per day", f.USDPerDay),
	}
}

func (f KeyForm) expiryField() components.Field {
	d := f.field("expires", "Expires")
	d.Value, d.Options = cmp.Or(f.Expiry, ExpiryNever), f.expiries()
	return d
}

// dateField returns the field for a custom expiry. The key works until the end of that
// day in UTC; today is not offered.
func (f KeyForm) dateField() components.Field {
	d := f.field("date", "Last day")
	d.Type, d.Value, d.Either, d.Help = "date", f.Date, true, "The key expires at the end of this day (UTC)."
	d.Attrs = map[string]any{"min": f.tomorrow()}
	return d
}

// name returns the name of a form field, with the prefix of the form.
func (f KeyForm) name(field string) string { return f.Within + "key-" + field }

func (f KeyForm) has(s string) bool     { return slices.Contains(f.Scopes, s) }
func (f KeyForm) chosen(id string) bool { return slices.Contains(f.Flows, id) }

// failed returns the ID of the element with a field's error, for aria-describedby, or
// "" if the field has no error.
func (f KeyForm) failed(name string) string {
	if f.Errors[name] != "" {
		return f.name(name) + "-error"
	}
	return ""
}

// optioned reports whether the optional settings have an error or differ from the defaults, so
// that they must be unfolded.
func (f KeyForm) optioned() bool {
	for name := range f.Errors {
		if name != "name" && name != "" {
			return true
		}
	}
	return false
}

// Overlaps are the periods for which a rotated key or secret stays valid.
var Overlaps = []components.Option{{Value: "0", Label: "not at all"}, {Value: "1h", Label: "for an hour"}, {Value: OverlapUsual, Label: "for 24 hours"}, {Value: "168h", Label: "for 7 days"}}

// OverlapUsual is the default: a day, in which callers can switch.
const OverlapUsual = "24h"
