package api

import (
	"cmp"
	"strconv"
	"strings"

	"sluice/handlers/api/openapi"
)

const (
	TypeJSON    = openapi.TypeJSON
	TypeStream  = openapi.TypeStream
	typeProblem = openapi.TypeProblem
	typeForm    = "multipart/form-data"
	typeBytes   = "application/octet-stream"
)

// ChooseType returns the offer that the Accept header prefers, or "" if it accepts
// no offer. Among equal qualities (RFC 9110, 12.5.1) the most specific range wins,
// then the first in the header, then the first offer.
func ChooseType(accept []string, offers []string) string {
	if len(accept) == 0 {
		return offers[0]
	}
	ranges := parseAccept(strings.Join(accept, ","))
	if len(ranges) == 0 {
		return offers[0]
	}
	best, bestRange := "", mediaRange{position: len(ranges)}
	for _, offer := range offers {
		if r, ok := match(ranges, offer); ok && r.quality > 0 && (best == "" || r.beats(bestRange)) {
			best, bestRange = offer, r
		}
	}
	return best
}

// mediaRange is one element of an Accept header.
type mediaRange struct {
	text        string
	quality     float64
	specificity int // 2 for a type, 1 for type/*, 0 for */*
	position    int // in the header
}

// beats reports whether r is preferred to o.
func (r mediaRange) beats(o mediaRange) bool {
	return cmp.Or(cmp.Compare(r.quality, o.quality), cmp.Compare(r.specificity, o.specificity), cmp.Compare(o.position, r.position)) > 0
}

// match returns the most specific range that matches an offer.
func match(ranges []mediaRange, offer string) (best mediaRange, ok bool) {
	for _, r := range ranges {
		prefix, wildcard := strings.CutSuffix(r.text, "*")
		matches := r.text == offer || r.text == "*/*" || wildcard && strings.HasSuffix(prefix, "/") && strings.HasPrefix(offer, prefix)
		if matches && (!ok || r.specificity > best.specificity) {
			best, ok = r, true
		}
	}
	return best, ok
}

// parseAccept returns the media ranges of an Accept header.
func parseAccept(s string) []mediaRange {
	var list []mediaRange
	for part := range strings.SplitSeq(s, ",") {
		text, params, _ := strings.Cut(part, ";")
		text = strings.ToLower(strings.TrimSpace(text))
		if text == "" {
			continue
		}
		r := mediaRange{text: text, quality: quality(params), specificity: 2, position: len(list)}
		if text == "*/*" {
			r.specificity = 0
		} else if strings.HasSuffix(text, "/*") {
			r.specificity = 1
		}
		list = append(list, r)
	}
	return list
}

// quality returns the q parameter. An invalid one counts as 1, as if it were absent.
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
