package audit

import (
	"strconv"
	"strings"

	"sluice/flow"
)

// QuotaChanges lists in which quotas two states of a workspace differ, in one line.
func QuotaChanges(before, after flow.Storage) string {
	var list []string
	for _, k := range flow.QuotaUnits {
		if before.Get(k) != after.Get(k) {
			list = append(list, string(k)+" from "+quotaText(before, k)+" to "+quotaText(after, k))
		}
	}
	return strings.Join(list, ", ")
}

// quotaText returns the quota that the operator has set for a workspace, for display.
func quotaText(own flow.Storage, k flow.QuotaUnit) string {
	switch n := own.Get(k); {
	case n == flow.DefaultQuota:
		return "default"
	case n == 0:
		return "unlimited"
	case k == flow.QuotaBytes:
		return flow.Size(n)
	default:
		return strconv.FormatInt(n, 10)
	}
}
