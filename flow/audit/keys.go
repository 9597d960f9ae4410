package audit

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/wording"
)

// KeyTerms returns the settings of a key in one line, such as "run, read · all flows ·
// 600 requests a minute · expires 21 Nov 2027".
func KeyTerms(k *flow.Key) string {
	scopes := make([]string, len(k.Scopes))
	for i, s := range k.Scopes {
		scopes[i] = string(s)
	}
	return strings.Join(slices.Concat([]string{strings.Join(scopes, ", "), formatFlows(k)}, KeyLimits(k), formatExpiry(k)), " · ")
}

// formatFlows describes which flows a key can call. An empty list means all flows, so it
// must not read as "no flows".
func formatFlows(k *flow.Key) string {
	if len(k.Flows) == 0 {
		return "all flows"
	}
	return flow.Count(len(k.Flows), "flow")
}

// KeyLimits returns the limits of a key that are set, such as "600 requests a minute".
func KeyLimits(k *flow.Key) []string {
	var list []string
	for _, l := range []struct {
		n    int64
		what string
	}{{k.RPM, "requests a minute"}, {k.Concurrency, "runs at once"}, {k.RunsPerDay, "runs a day"}} {
		if l.n > 0 {
			list = append(list, strconv.FormatInt(l.n, 10)+" "+l.what)
		}
	}
	if k.USDPerDay > 0 {
		list = append(list, "$"+k.USDPerDay.String()+" a day")
	}
	return list
}

// formatExpiry returns the day on which a key expires, or nothing if it never does.
func formatExpiry(k *flow.Key) []string {
	if k.ExpiresAt.IsZero() {
		return nil
	}
	return []string{"expires " + wording.Day(k.ExpiresAt)}
}

// KeyChanges lists the settings in which two states of a key differ.
func KeyChanges(a, b *flow.Key) []string {
	var list []string
	differ := func(what, before, after string) {
		if before != after {
			list = append(list, what+" from "+before+" to "+after)
		}
	}
	differ("name", "“"+a.Name+"”", "“"+b.Name+"”")
	if !slices.Equal(a.Flows, b.Flows) {
		differ("flows", orAll(a.Flows), orAll(b.Flows))
	}
	differ("requests a minute", orNone(a.RPM), orNone(b.RPM))
	differ("runs at once", orNone(a.Concurrency), orNone(b.Concurrency))
	differ("runs a day", orNone(a.RunsPerDay), orNone(b.RunsPerDay))
	differ("dollars a day", dollars(a.USDPerDay), dollars(b.USDPerDay))
	differ("models without a price", formatAllowed(a.AllowUnpriced), formatAllowed(b.AllowUnpriced))
	if !a.ExpiresAt.Equal(b.ExpiresAt) {
		differ("expiry", orNever(a.ExpiresAt), orNever(b.ExpiresAt))
	}
	return list
}

// orAll joins the IDs of the flows that a key can call. An empty list means all.
func orAll(flows []string) string {
	if len(flows) == 0 {
		return "all"
	}
	return strings.Join(flows, ", ")
}

// orNever formats an expiry to the minute, in UTC. The zero time means never.
func orNever(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return wording.Moment(at)
}

// KeyRotation describes a rotation: the prefixes of the old and the new secret, and how
// long the old one works.
func KeyRotation(k *flow.Key, now time.Time) string {
	words := k.Previous.Prefix + "… to " + k.Prefix + "…; "
	if !now.Before(k.Previous.Until) {
		return words + "the old one stopped at once"
	}
	return words + "the old one works until " + wording.Moment(k.Previous.Until)
}

// KeyLastUse describes a key by its prefix and when and from which IP address it was last
// used.
func KeyLastUse(k *flow.Key) string {
	if k.LastUsedAt.IsZero() {
		return k.Prefix + "…, never used"
	}
	return k.Prefix + "…, last used " + wording.Moment(k.LastUsedAt) + " from " + k.LastUsedIP
}
