package javascript

import (
	"errors"
	"strings"
	"testing"

	"sluice/e2e/need"
)

// TestLocales_are_not_ignored checks that a locale or an option is honored or refused, never
// ignored.
func TestLocales_are_not_ignored(t *testing.T) {
	t.Parallel()
	need.Time(t)
	for code, want := range map[string]string{
		// Refused, because there is no data of locales and time zones.
		`new Date().toLocaleString("en-US", {timeZone: "Europe/Berlin"})`:      "toLocaleString cannot honor",
		`new Date().toLocaleString(undefined, {timeZone: "Europe/Berlin"})`:    "toLocaleString cannot honor",
		`new Date().toLocaleString("de")`:                                      "toLocaleString cannot honor",
		`new Date().toLocaleDateString("de-DE")`:                               "toLocaleDateString cannot honor",
		`new Date().toLocaleDateString([], {month: "long"})`:                   "toLocaleDateString cannot honor",
		`new Date().toLocaleTimeString("en", {hour12: false})`:                 "toLocaleTimeString cannot honor",
		`(1234.5).toLocaleString("de-DE")`:                                     "toLocaleString cannot honor",
		`(1234.5).toLocaleString(undefined, {style: "percent"})`:               "toLocaleString cannot honor",
		`10n.toLocaleString("de-DE")`:                                          "toLocaleString cannot honor",
		`[1234.5].toLocaleString("de-DE")`:                                     "toLocaleString cannot honor",
		`new Float64Array([1234.5]).toLocaleString("de-DE")`:                   "toLocaleString cannot honor",
		`"i".toLocaleUpperCase("tr")`:                                          "cannot honor the locale tr",
		`"I".toLocaleLowerCase("az-Latn")`:                                     "cannot honor the locale az",
		`"I".toLocaleLowerCase(["lt"])`:                                        "cannot honor the locale lt",
		`new Intl.NumberFormat("de").format(1)`:                                "Intl",
		`Intl.DateTimeFormat("en", {timeZone: "Asia/Tokyo"}).format(0)`:        "Intl",
		`"a".localeCompare("b", "ja")`:                                         "the locale ja",
		`"a".localeCompare("b", "ru")`:                                         "the locale ru",
		`"a".localeCompare("b", "de-u-co-phonebk")`:                            "the locale de-u-co-phonebk",
		`"a".localeCompare("b", "not a locale")`:                               "the locale not a locale",
		`"a".localeCompare("b", "en", {sensitivity: "case"})`:                  "sensitivity: case",
		`"a".localeCompare("b", "en", {ignorePunctuation: true})`:              "ignorePunctuation",
		`"a".localeCompare("b", "en", {usage: "search"})`:                      "usage: search",
		`"a".localeCompare("b", "en", {collation: "phonebk"})`:                 "collation",
		`new Date().toLocaleString.call(new Date(), "en-US", {timeZone: "Z"})`: "toLocaleString cannot honor",
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			value, _, err := run(t, "export default () =>\n"+code, "{}")
			if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Message, want) || e.Line != 2 {
				t.Errorf("got %s, %+v", value, err)
			}
		})
	}
	for code, want := range map[string]string{
		`["ä", "z", "a", "Z", "A", "ö", "o"].sort((a, b) => a.localeCompare(b))`:                                          `["a","A","ä","o","ö","z","Z"]`,
		`["ä", "z", "a"].sort((a, b) => a.localeCompare(b, "sv"))`:                                                        `["a","z","ä"]`,
		`["ä", "z", "a"].sort((a, b) => a.localeCompare(b, "de-AT"))`:                                                     `["a","ä","z"]`,
		`["cz", "ch", "h", "i"].sort((a, b) => a.localeCompare(b, ["cs"]))`:                                               `["cz","h","ch","i"]`,
		`["å", "z", "aa", "ø", "æ"].sort((a, b) => a.localeCompare(b, "nb"))`:                                             `["z","æ","ø","å","aa"]`,
		`["a", "A"].sort((a, b) => a.localeCompare(b, "da"))`:                                                             `["A","a"]`,
		`["a", "A"].sort((a, b) => a.localeCompare(b, "en", {caseFirst: "upper"}))`:                                       `["A","a"]`,
		`["x10", "x2", "x1"].sort((a, b) => a.localeCompare(b, undefined, {numeric: true}))`:                              `["x1","x2","x10"]`,
		`["x10", "x2", "x1"].sort((a, b) => a.localeCompare(b))`:                                                          `["x1","x10","x2"]`,
		`["a".localeCompare("á", "en", {sensitivity: "base"}), "a".localeCompare("A", undefined, {sensitivity: "base"})]`: `[0,0]`,
		`["a".localeCompare("á", "en", {sensitivity: "accent"}), "a".localeCompare("A", "en", {sensitivity: "accent"})]`:  `[-1,0]`,
		`["a".localeCompare("a"), "a".localeCompare("B"), "résumé".localeCompare("resume"), "".localeCompare("a")]`:       `[0,-1,1,-1]`,
		`"e\u0301".localeCompare("é")`:                                                                                    `0`,
		`[10, 9, 1].map(String).sort("".localeCompare.call.bind("".localeCompare))`:                                       `["1","10","9"]`,
		`"straße".toLocaleUpperCase("de")`:                                                                                `"STRASSE"`,
		`["İ".toLocaleLowerCase().length, "I".toLocaleLowerCase("en-US")]`:                                                `[2,"i"]`,
		`["ﬁ".normalize("NFKC"), "e\u0301".normalize(), "é".normalize("NFD").length]`:                                     `["fi","é",2]`,
		`(1234.5).toLocaleString()`:         `"1234.5"`,
		`new Date(0).toLocaleString()`:      `"01/01/1970, 12:00:00 AM"`,
		`[1, new Date(0)].toLocaleString()`: `"1,01/01/1970, 12:00:00 AM"`,
		`[typeof Intl, "".localeCompare.name, "".localeCompare.length, Object.keys(String.prototype).length]`: `["undefined","localeCompare",3,0]`,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			if value, _, err := run(t, "export default () => "+code, "{}"); err != nil || value != want {
				t.Errorf("got %s, %v, want %s", value, err, want)
			}
		})
	}
}
