package hosted

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxTitle       = 60  // bytes
	maxDescription = 240 // bytes; about two lines under a field
)

// acronyms are the words with a special capitalization.
var acronyms = map[string]string{
	"api": "API", "url": "URL", "id": "ID", "hf": "HF", "cfg": "CFG", "lora": "LoRA", "loras": "LoRAs", "sdxl": "SDXL", "fps": "FPS",
	"nsfw": "NSFW", "clip": "CLIP", "vae": "VAE", "gpu": "GPU", "json": "JSON", "svg": "SVG", "html": "HTML", "ocr": "OCR", "vad": "VAD",
	"dpi": "DPI", "sd": "SD", "llm": "LLM", "tts": "TTS", "srt": "SRT", "iou": "IoU", "hdr": "HDR", "pdf": "PDF", "ai": "AI", "xl": "XL",
	"img2img": "img2img", "flux": "FLUX",
}

// fieldTitle returns the author's title of a field, or one made of its name. Generators use
// the capitalized name as the title of fields without one, which is not an author's title.
func fieldTitle(name string, s map[string]any) string {
	given, _ := s["title"].(string)
	if given = oneLine(given, maxTitle); given != "" && letters(given) != letters(name) {
		return given
	}
	return titleOf(name)
}

// letters returns the letters and digits of a text in lowercase, for comparing names
// that differ only in case and punctuation.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// titleOf makes a name readable: "num_outputs" becomes "Num outputs".
func titleOf(name string) string {
	words := strings.FieldsFunc(spaced(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' || unicode.IsSpace(r) })
	for i, w := range words {
		if known, ok := acronyms[strings.ToLower(w)]; ok {
			words[i] = known
		} else if i == 0 {
			first, size := utf8.DecodeRuneInString(w)
			words[i] = string(unicode.ToUpper(first)) + w[size:]
		}
	}
	if len(words) == 0 {
		return oneLine(name, maxTitle)
	}
	return oneLine(strings.Join(words, " "), maxTitle)
}

// spaced inserts a space before each capital that follows a lowercase letter.
func spaced(name string) string {
	var b strings.Builder
	last := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			b.WriteByte(' ')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
		last = r
	}
	return b.String()
}

// fieldDescription returns the description in the schema of a field as plain text, or
// "".
func fieldDescription(s map[string]any) string {
	text, _ := s["description"].(string)
	return sentences(text)
}

var (
	// markdownLink and the patterns below find markup in descriptions, which are shown as
	// plain text. Their repetitions are bounded, because the texts come from strangers
	// and matching must not become slow.
	markdownLink = regexp.MustCompile(`!?\[([^\]]{0,200})\]\([^)]{0,500}\)`)
	htmlTag      = regexp.MustCompile(`</?[A-Za-z][^>]{0,200}>`)
	sentenceEnd  = regexp.MustCompile(`[.!?]["')]?\s+`)
)

// sentences returns the beginning of a description as plain text: two sentences, or as much
// of them as fits under a field.
func sentences(text string) string {
	if len(text) > 8*maxDescription { // bounds the work, not the result
		text = text[:8*maxDescription]
	}
	text = markdownLink.ReplaceAllString(text, "$1")
	text = htmlTag.ReplaceAllString(text, " ")
	text = strings.NewReplacer("`", "", "**", "", "__", "").Replace(text)
	text = oneLine(text, 8*maxDescription)
	if ends := sentenceEnd.FindAllStringIndex(text, 2); len(ends) == 2 {
		text = strings.TrimSpace(text[:ends[1][1]])
	}
	if len(text) <= maxDescription {
		return text
	}
	if ends := sentenceEnd.FindStringIndex(text); ends != nil && ends[1] <= maxDescription && ends[1] >= 20 {
		return strings.TrimSpace(text[:ends[1]])
	}
	cut := oneLine(text, maxDescription)
	if space := strings.LastIndexByte(cut, ' '); space > maxDescription/2 {
		cut = cut[:space] + "…"
	}
	return cut
}
