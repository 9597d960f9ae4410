package flow

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Terms are the settings of a key in one line, such as "run, read · all flows ·
// 600 requests a minute · expires 21 Nov 2027".
func (k *Key) Terms() string {
	scopes := make([]string, len(k.Scopes))
	for i, s := range k.Scopes {
		scopes[i] = string(s)
	}
	return strings.Join(slices.Concat([]string{strings.Join(scopes, ", "), k.flowWords()}, k.Limits(), k.expiryWords()), " · ")
}

func (k *Key) flowWords() string {
	if len(k.Flows) == 0 {
		return "all flows"
	}
	return Count(len(k.Flows), "flow")
}

// Limits are those that are set, in words.
func (k *Key) Limits() []string {
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

func (k *Key) expiryWords() []string {
	if k.ExpiresAt.IsZero() {
		return nil
	}
	return []string{"expires " + dayWords(k.ExpiresAt)}
}

func dayWords(at time.Time) string { return at.UTC().Format("2 Jan 2006") }

// momentWords is for what ends at an hour.
func momentWords(at time.Time) string { return at.UTC().Format("2 Jan 2006, 15:04 UTC") }

// ChangesOfKey says what differs, for the audit log.
func ChangesOfKey(a, b *Key) []string {
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
	differ("dollars a day", a.USDPerDay.orNoLimit(), b.USDPerDay.orNoLimit())
	differ("models without a price", allowedWord(a.AllowUnpriced), allowedWord(b.AllowUnpriced))
	if !a.ExpiresAt.Equal(b.ExpiresAt) {
		differ("expiry", orNever(a.ExpiresAt), orNever(b.ExpiresAt))
	}
	return list
}

func orAll(flows []string) string {
	if len(flows) == 0 {
		return "all"
	}
	return strings.Join(flows, ", ")
}

func orNone(n int64) string {
	if n == 0 {
		return "no limit"
	}
	return strconv.FormatInt(n, 10)
}

func orNever(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return momentWords(at)
}

// RollWords say what became of the text before.
func RollWords(k *Key, now time.Time) string {
	words := k.Previous.Prefix + "… to " + k.Prefix + "…; "
	if !now.Before(k.Previous.Until) {
		return words + "the old one stopped at once"
	}
	return words + "the old one works until " + momentWords(k.Previous.Until)
}

func (k *Key) LastUse() string {
	if k.LastUsedAt.IsZero() {
		return k.Prefix + "…, never used"
	}
	return k.Prefix + "…, last used " + momentWords(k.LastUsedAt) + " from " + k.LastUsedIP
}
