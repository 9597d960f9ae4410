package documents

import (
	"strconv"
	"strings"
)

// customFormat begins the name of a format that is given by its first number, such as 001.
const customFormat = "custom:"

// formatNumber writes a number in a format of ST_NumberFormat (ECMA-376, section 17.18.59). An unknown format and a number
// that the format cannot write are decimal.
func formatNumber(n int, format string) string {
	if first, custom := strings.CutPrefix(format, customFormat); custom {
		return padded(n, len(first))
	}
	if f := numberFormats[format]; f != nil {
		if s := f(n); s != "" {
			return s
		}
	}
	return strconv.Itoa(n)
}

// numberFormats are the formats that are not decimal. Each returns "" for a number that it cannot write.
var numberFormats = map[string]func(int) string{
	"upperRoman":                   roman,
	"lowerRoman":                   func(n int) string { return strings.ToLower(roman(n)) },
	"upperLetter":                  letters("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
	"lowerLetter":                  letters("abcdefghijklmnopqrstuvwxyz"),
	"russianUpper":                 letters("АБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЫЭЮЯ"),
	"russianLower":                 letters("абвгдежзиклмнопрстуфхцчшщыэюя"),
	"hebrew2":                      letters("אבגדהוזחטיכלמנסעפצקרשת"),
	"arabicAlpha":                  letters("أبتثجحخدذرزسشصضطظعغفقكلمنهوي"),
	"arabicAbjad":                  letters("أبجدهوزحطيكلمنسعفصقرشتثخذضظغ"),
	"thaiLetters":                  letters("กขคงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรลวศษสหฬอฮ"),
	"aiueo":                        oneOf("アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"),
	"aiueoFullWidth":               oneOf("アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"),
	"iroha":                        oneOf("イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセス"),
	"irohaFullWidth":               oneOf("イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセス"),
	"ganada":                       oneOf("가나다라마바사아자차카타파하"),
	"chosung":                      oneOf("ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ"),
	"ideographTraditional":         oneOf("甲乙丙丁戊己庚辛壬癸"),
	"ideographZodiac":              oneOf("子丑寅卯辰巳午未申酉戌亥"),
	"decimalEnclosedCircle":        oneOf("①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳㉑㉒㉓㉔㉕㉖㉗㉘㉙㉚㉛㉜㉝㉞㉟㊱㊲㊳㊴㊵㊶㊷㊸㊹㊺㊻㊼㊽㊾㊿"),
	"decimalEnclosedCircleChinese": oneOf("①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"),
	"decimalEnclosedFullstop":      oneOf("⒈⒉⒊⒋⒌⒍⒎⒏⒐⒑⒒⒓⒔⒕⒖⒗⒘⒙⒚⒛"),
	"decimalEnclosedParen":         oneOf("⑴⑵⑶⑷⑸⑹⑺⑻⑼⑽⑾⑿⒀⒁⒂⒃⒄⒅⒆⒇"),
	"ideographEnclosedCircle":      oneOf("㊀㊁㊂㊃㊄㊅㊆㊇㊈㊉"),
	"decimalZero":                  func(n int) string { return padded(n, 2) },
	"decimalFullWidth":             digits("０１２３４５６７８９"),
	"decimalFullWidth2":            digits("０１２３４５６７８９"),
	"hindiNumbers":                 digits("०१२३४५६७८९"),
	"thaiNumbers":                  digits("๐๑๒๓๔๕๖๗๘๙"),
	"ideographDigital":             digits("〇一二三四五六七八九"),
	"koreanDigital":                digits("영일이삼사오육칠팔구"),
	"koreanDigital2":               digits("零一二三四五六七八九"),
	"taiwaneseDigital":             digits("○一二三四五六七八九"),
	"japaneseDigitalTenThousand":   digits("〇一二三四五六七八九"),
	"chineseCounting":              counting("零一二三四五六七八九", "十百千"),
	"chineseCountingThousand":      counting("零一二三四五六七八九", "十百千"),
	"taiwaneseCounting":            counting("零一二三四五六七八九", "十百千"),
	"taiwaneseCountingThousand":    counting("零一二三四五六七八九", "十百千"),
	"japaneseCounting":             counting("〇一二三四五六七八九", "十百千"),
	"koreanCounting":               counting("영일이삼사오육칠팔구", "십백천"),
	"chineseLegalSimplified":       counting("零壹贰叁肆伍陆柒捌玖", "拾佰仟"),
	"ideographLegalTraditional":    counting("零壹貳參肆伍陸柒捌玖", "拾佰仟"),
	"japaneseLegal":                counting("〇壱弐参四伍六七八九", "拾百阡"),
	"hebrew1":                      hebrewNumber,
	"hex":                          func(n int) string { return strings.ToUpper(strconv.FormatInt(int64(n), 16)) },
	"numberInDash":                 func(n int) string { return "- " + strconv.Itoa(n) + " -" },
	"ordinal":                      ordinal,
	"cardinalText":                 cardinalText,
	"ordinalText":                  ordinalText,
	"chicago":                      letters("*†‡§"),
}

// roman writes a number in capital Roman numerals, up to 3999 as usual and with more M beyond.
func roman(n int) string {
	if n < 1 || n > 32767 {
		return ""
	}
	var b strings.Builder
	for _, step := range []struct {
		value int
		sign  string
	}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}} {
		for ; n >= step.value; n -= step.value {
			b.WriteString(step.sign)
		}
	}
	return b.String()
}

// letters is a format that writes numbers as Word does with letters: a to z, then aa, bb and so on.
func letters(all string) func(int) string {
	return func(n int) string {
		list := []rune(all)
		if n < 1 || n > 40*len(list) {
			return ""
		}
		return strings.Repeat(string(list[(n-1)%len(list)]), (n-1)/len(list)+1)
	}
}

// oneOf is a format that has a sign for each number, up to the last one.
func oneOf(signs string) func(int) string {
	return func(n int) string {
		list := []rune(signs)
		if n < 1 || n > len(list) {
			return ""
		}
		return string(list[n-1])
	}
}

// padded writes a number with leading zeros.
func padded(n, width int) string {
	s := strconv.Itoa(n)
	return strings.Repeat("0", max(0, width-len(s))) + s
}

// digits is a format with other decimal digits. The first one is zero.
func digits(all string) func(int) string {
	return func(n int) string {
		list := []rune(all)
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return list[r-'0']
			}
			return r
		}, strconv.Itoa(n))
	}
}

// counting is the Chinese way to write a number below 10,000: 25 is "two ten five". The one of ten to nineteen is left out;
// Japanese and Korean also leave it out in 110, and write no zero in 101.
func counting(digits, units string) func(int) string {
	return func(n int) string {
		if n < 1 || n > 9999 {
			return ""
		}
		digit, unit := []rune(digits), []rune(units)
		var b strings.Builder
		zero, chinese := false, digit[0] == '零'
		for i, power := 3, 1000; i >= 0; i, power = i-1, power/10 {
			d := n / power % 10
			if d == 0 {
				zero = b.Len() > 0
				continue
			}
			if zero && chinese {
				b.WriteRune(digit[0])
			}
			zero = false
			if one := i > 0 && d == 1; !one || chinese && (i > 1 || b.Len() > 0) {
				b.WriteRune(digit[d])
			}
			if i > 0 {
				b.WriteRune(unit[i-1])
			}
		}
		return b.String()
	}
}

// hebrewNumber writes a number up to 999 in Hebrew letters, where 15 and 16 are written 9+6 and 9+7.
func hebrewNumber(n int) string {
	if n < 1 || n > 999 {
		return ""
	}
	var b strings.Builder
	for ; n >= 400; n -= 400 {
		b.WriteRune('ת')
	}
	if n >= 100 {
		b.WriteRune([]rune("קרש")[n/100-1])
		n %= 100
	}
	switch n {
	case 15:
		return b.String() + "טו"
	case 16:
		return b.String() + "טז"
	}
	if n >= 10 {
		b.WriteRune([]rune("יכלמנסעפצ")[n/10-1])
		n %= 10
	}
	if n > 0 {
		b.WriteRune([]rune("אבגדהוזחט")[n-1])
	}
	return b.String()
}

// ordinal writes 1st, 2nd, 3rd, 4th.
func ordinal(n int) string {
	ending := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			ending = "st"
		case 2:
			ending = "nd"
		case 3:
			ending = "rd"
		}
	}
	return strconv.Itoa(n) + ending
}

// English number words.
var (
	smallNumbers  = strings.Fields("Zero One Two Three Four Five Six Seven Eight Nine Ten Eleven Twelve Thirteen Fourteen Fifteen Sixteen Seventeen Eighteen Nineteen")
	smallOrdinals = strings.Fields("Zeroth First Second Third Fourth Fifth Sixth Seventh Eighth Ninth Tenth Eleventh Twelfth Thirteenth Fourteenth Fifteenth Sixteenth Seventeenth Eighteenth Nineteenth")
	tens          = strings.Fields("Zero Ten Twenty Thirty Forty Fifty Sixty Seventy Eighty Ninety")
)

// cardinalText writes a number below 100 in English words; Word uses the language of the text.
func cardinalText(n int) string {
	switch {
	case n < 0 || n > 99:
		return ""
	case n < 20:
		return smallNumbers[n]
	case n%10 == 0:
		return tens[n/10]
	}
	return tens[n/10] + "-" + strings.ToLower(smallNumbers[n%10])
}

// ordinalText writes a number below 100 as an English ordinal.
func ordinalText(n int) string {
	switch {
	case n < 0 || n > 99:
		return ""
	case n < 20:
		return smallOrdinals[n]
	case n%10 == 0:
		return strings.TrimSuffix(tens[n/10], "y") + "ieth"
	}
	return tens[n/10] + "-" + strings.ToLower(smallOrdinals[n%10])
}
