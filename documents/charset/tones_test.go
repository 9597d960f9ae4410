package charset

import "golang.org/x/text/unicode/norm"

// decomposeTones writes the tones of Vietnamese as characters after the letter, as Windows-1258 has them.
func decomposeTones(text string) string {
	var b []rune
	for _, r := range norm.NFC.String(text) {
		parts := []rune(norm.NFD.String(string(r)))
		if len(parts) == 1 {
			b = append(b, r)
			continue
		}
		tone := rune(0)
		letter := parts[:1:1]
		for _, m := range parts[1:] {
			switch m {
			case 0x300, 0x301, 0x303, 0x309, 0x323:
				tone = m
			default:
				letter = append(letter, m)
			}
		}
		b = append(b, []rune(norm.NFC.String(string(letter)))...)
		if tone != 0 {
			b = append(b, tone)
		}
	}
	return string(b)
}
