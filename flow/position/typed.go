package position

import "strings"

// TypedURL returns a URL that a person typed with every character percent-encoded that its
// path, query and fragment cannot hold (RFC 3986, appendix A): quotes, braces, letters outside
// of ASCII, and a % that does not begin an escape. Existing escapes stay. The host stays too.
func TypedURL(s string) string {
	scheme, rest, found := strings.Cut(s, "://")
	if !found {
		return s
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		return s
	}
	before, fragment, hasFragment := strings.Cut(rest[end:], "#")
	out := scheme + "://" + rest[:end] + encodeInvalid(before)
	if hasFragment {
		out += "#" + encodeInvalid(fragment)
	}
	return out
}

// TypedQuery is TypedURL for the part of a URL between ? and #.
func TypedQuery(s string) string { return encodeInvalid(s) }

// TypedForm returns a typed body of application/x-www-form-urlencoded with every character
// encoded that it cannot hold. White space around it, such as the last line break of a text
// area, is removed, and a space inside becomes +.
func TypedForm(s string) string {
	return encodeInvalid(strings.ReplaceAll(strings.TrimSpace(s), " ", "+"))
}

// encodeInvalid percent-encodes the bytes that are neither unreserved nor reserved in the path
// and the query of a URL.
func encodeInvalid(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if isValid(c) || c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

// isValid reports whether RFC 3986 allows a byte in the query: pchar, / and ?.
func isValid(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c != 0 && strings.IndexByte("-._~!$&'()*+,;=:@/?", c) >= 0
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
