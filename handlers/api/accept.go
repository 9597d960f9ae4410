package api

import (
	"strconv"
	"strings"
)

const (
	TypeJSON    = "application/json"
	TypeStream  = "text/event-stream"
	typeProblem = "application/problem+json"
	typeForm    = "multipart/form-data"
	typeBytes   = "application/octet-stream"
)

// chooseType returns the offer that the Accept header likes best, or "" when
// it takes none. Among equals the one that was named most exactly wins, then
// the one named first, then the order of the offers.
func ChooseType(accept []string, offers []string) string {
	if len(accept) == 0 {
		return offers[0]
	}
	ranges := parseAccept(strings.Join(accept, ","))
	if len(ranges) == 0 {
		return offers[0]
	}
	best, bestRange := "", mediaRange{place: len(ranges)}
	for _, offer := range offers {
		if r, ok := match(ranges, offer); ok && r.quality > 0 && (best == "" || r.beats(bestRange)) {
			best, bestRange = offer, r
		}
	}
	return best
}

// mediaRange is one element of an Accept header.
type mediaRange struct {
	text    string
	quality float64
	exact   int // 2 for a type, 1 for type/*, 0 for */*
	place   int
}

func (r mediaRange) beats(o mediaRange) bool {
	if r.quality != o.quality {
		return r.quality > o.quality
	}
	if r.exact != o.exact {
		return r.exact > o.exact
	}
	return r.place < o.place
}

// match is the most exact range that holds for an offer.
func match(ranges []mediaRange, offer string) (best mediaRange, ok bool) {
	for _, r := range ranges {
		prefix, open := strings.CutSuffix(r.text, "*")
		holds := r.text == offer || r.text == "*/*" || open && strings.HasSuffix(prefix, "/") && strings.HasPrefix(offer, prefix)
		if holds && (!ok || r.exact > best.exact) {
			best, ok = r, true
		}
	}
	return best, ok
}

func parseAccept(s string) []mediaRange {
	var list []mediaRange
	for part := range strings.SplitSeq(s, ",") {
		text, params, _ := strings.Cut(part, ";")
		text = strings.ToLower(strings.TrimSpace(text))
		if text == "" {
			continue
		}
		r := mediaRange{text: text, quality: quality(params), exact: 2, place: len(list)}
		if text == "*/*" {
			r.exact = 0
		} else if strings.HasSuffix(text, "/*") {
			r.exact = 1
		}
		list = append(list, r)
	}
	return list
}

// quality reads q=; a value that is none counts as 1, as if it were absent.
func quality(params string) float64 {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(name, "q") {
			if q, err := strconv.ParseFloat(value, 64); err == nil && q >= 0 && q <= 1 {
				return q
			}
		}
	}
	return 1
}
