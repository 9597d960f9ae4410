package main

import (
	"fmt"
	"strconv"
	"strings"

	"sluice/flow"
)

// Special values of quotaBytes and quotaCount.
const (
	quotaUnset     = 0
	quotaUnlimited = -1
	quotaDefault   = -2 // the server's default applies; for commands only
)

// quotaBytes is an amount of storage as an operator writes it: a size such as 1GiB, or a
// word that quotaWord reads. The zero value means that it is not set, so "unlimited" is
// negative here, unlike in the store, where it is 0.
type quotaBytes int64

// quotaCount is a number of flows or runs as an operator writes it.
type quotaCount int64

// quotaWord reads the special values: an empty text, "unlimited" and "default". 0 also means
// unlimited, as in other limits.
func quotaWord(text string) (n int64, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "":
		return quotaUnset, true
	case "unlimited", "0":
		return quotaUnlimited, true
	case "default":
		return quotaDefault, true
	}
	return 0, false
}

// UnmarshalText reads "1GiB", "unlimited" or "default".
func (q *quotaBytes) UnmarshalText(text []byte) error {
	if n, ok := quotaWord(string(text)); ok {
		*q = quotaBytes(n)
		return nil
	}
	var s size
	if err := s.UnmarshalText(text); err != nil {
		return fmt.Errorf("%q is not a quota; write a size such as 1GiB, or unlimited", text)
	}
	*q = quotaBytes(s)
	return nil
}

// UnmarshalText reads "10000", "10,000", "unlimited" or "default".
func (q *quotaCount) UnmarshalText(text []byte) error {
	n, ok := quotaWord(string(text))
	if !ok {
		n, ok = flow.ParseCount(string(text))
	}
	if !ok || n > 1e12 {
		return fmt.Errorf("%q is not a quota; write a whole number, or unlimited", text)
	}
	*q = quotaCount(n)
	return nil
}

// String returns the setting as "sluice doctor" shows it.
func (q quotaBytes) String() string {
	if q > 0 {
		return flow.Size(int64(q))
	}
	return quotaNames[q]
}

// String returns the setting as "sluice doctor" shows it.
func (q quotaCount) String() string {
	if q > 0 {
		return strconv.FormatInt(int64(q), 10)
	}
	return quotaNames[quotaBytes(q)]
}

// quotaNames has the texts of the special values.
var quotaNames = map[quotaBytes]string{quotaUnset: "", quotaUnlimited: "unlimited", quotaDefault: "default"}

// quota returns the server's default quota for workspaces. With open sign-up, where anyone
// can store data, it is limited unless the operator removes the limits. It does not apply
// to the default workspace; see db.Config.
func (c *Config) quota() flow.Storage {
	var q flow.Storage
	if c.Signup == "open" {
		q = flow.SignupQuota
	}
	for kind, n := range map[flow.QuotaUnit]int64{flow.QuotaBytes: int64(c.QuotaBytes), flow.QuotaFlows: int64(c.QuotaFlows), flow.QuotaRuns: int64(c.QuotaRuns)} {
		switch n {
		case quotaUnset, quotaDefault:
		case quotaUnlimited:
			q.Set(kind, 0)
		default:
			q.Set(kind, n)
		}
	}
	return q
}
