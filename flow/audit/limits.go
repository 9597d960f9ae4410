// Package audit joins an act and its entry in the audit log in one write (Record), and formats
// changes for entries: the settings of a key, changes of them or of a flow's limits, and the last use
// of a key.
//
// It must not depend on how entries are stored or chained; package db does that.
package audit

import (
	"strconv"
	"strings"

	"sluice/flow"
)

// LimitChanges lists in which limits two states of a flow differ, in one line.
func LimitChanges(l, to flow.Limits) string {
	var list []string
	differ := func(what, before, after string) {
		if before != after {
			list = append(list, what+" from "+before+" to "+after)
		}
	}
	differ("runs at once", orNone(l.MaxRunning), orNone(to.MaxRunning))
	differ("waiting runs", orNone(l.MaxQueued), orNone(to.MaxQueued))
	differ("runs a day", orNone(l.RunsPerDay), orNone(to.RunsPerDay))
	differ("dollars a day", dollars(l.USDPerDay), dollars(to.USDPerDay))
	differ("models without a price", formatAllowed(l.AllowUnpriced), formatAllowed(to.AllowUnpriced))
	return strings.Join(list, ", ")
}

// orNone formats a limit. 0 means that there is no limit, so it must not read as "0".
func orNone(n int64) string {
	if n == 0 {
		return "no limit"
	}
	return strconv.FormatInt(n, 10)
}

// formatAllowed returns "allowed" or "not allowed".
func formatAllowed(is bool) string {
	if is {
		return "allowed"
	}
	return "not allowed"
}

// dollars formats a budget, where 0 means no limit.
func dollars(n flow.NanoUSD) string {
	if n == 0 {
		return "no limit"
	}
	return n.String()
}
