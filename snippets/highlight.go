package snippets

import (
	"embed"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
)

// Token is a piece of code with its class for highlighting. Class is chroma's short name ("c"
// comment, "k" keyword, "s" string, "m" number, "nf" function, "nt" name of a member) or ""
// for plain text.
type Token struct{ Class, Text string }

// lexerFiles has copies of chroma's definitions. Chroma's lexer package would add hundreds of
// others to the binary (2.7 MB). See lexers/LICENSE.
//
//go:embed lexers/*.xml
var lexerFiles embed.FS

// lexerNames maps a language to its definition.
var lexerNames = map[string]string{
	"curl": "bash", "sh": "bash", "shell": "bash", "bash": "bash", "json": "json", "python": "python", "javascript": "javascript", "js": "javascript",
	"typescript": "typescript", "ts": "typescript", "php": "php", "ruby": "ruby", "java": "java", "csharp": "csharp", "go": "go",
}

// lexers are compiled at their first use, because a definition has many regular expressions.
var lexers = func() map[string]func() chroma.Lexer {
	m := map[string]func() chroma.Lexer{"go": sync.OnceValue(func() chroma.Lexer { return chroma.MustNewLexer(&chroma.Config{Name: "Go"}, goRules) })}
	for _, name := range lexerNames {
		if name != "go" {
			m[name] = sync.OnceValue(func() chroma.Lexer { return chroma.MustNewXMLLexer(lexerFiles, "lexers/"+name+".xml") })
		}
	}
	return m
}()

// goRules returns the rules for Go, which chroma defines only in Go code.
func goRules() chroma.Rules {
	return chroma.Rules{"root": {
		{Pattern: `//[^\n]*|/\*(.|\n)*?\*/`, Type: chroma.Comment},
		{Pattern: "`[^`]*`|\"(\\\\.|[^\"\\\\\\n])*\"|'(\\\\.|[^'\\\\\\n])+'", Type: chroma.LiteralString},
		{Pattern: `(break|case|chan|const|continue|default|defer|else|fallthrough|for|func|go|goto|if|import|interface|map|package|range|return|select|struct|switch|type|var|true|false|nil|iota)\b`, Type: chroma.Keyword},
		{Pattern: `[A-Za-z_]\w*(?=\()`, Type: chroma.NameFunction},
		{Pattern: `[A-Za-z_]\w*`, Type: chroma.Name},
		{Pattern: `\d[\w.]*`, Type: chroma.LiteralNumber},
		{Pattern: `\s+|.`, Type: chroma.Text},
	}}
}

// maxHighlight is the maximum length in bytes of code that is highlighted. The cost grows
// faster than linearly; long code would take minutes.
const maxHighlight = 16 << 10

// Highlight splits code into tokens, whose texts concatenate to the code. It supports the
// languages of Languages, json, sh, bash and http. Code in other languages or longer than
// maxHighlight is a single plain token.
func Highlight(lang, code string) []Token {
	if lang == "http" {
		return highlightHTTP(code)
	}
	lexer := lexers[lexerNames[lang]]
	if lexer == nil || code == "" || len(code) > maxHighlight {
		return merge([]Token{{Text: code}})
	}
	it, err := lexer().Tokenise(&chroma.TokeniseOptions{State: "root"}, code)
	if err != nil {
		return []Token{{Text: code}}
	}
	var tokens []Token
	for t := it(); t != chroma.EOF; t = it() {
		tokens = append(tokens, Token{class(t.Type), t.Value})
	}
	return matchCode(merge(tokens), code)
}

// class returns the short name of a token type that is highlighted, or "".
func class(t chroma.TokenType) string {
	switch {
	case t.InCategory(chroma.Comment):
		return "c"
	case t.InCategory(chroma.Keyword):
		return "k"
	case t.InSubCategory(chroma.LiteralString):
		return "s"
	case t.InSubCategory(chroma.LiteralNumber):
		return "m"
	case t == chroma.NameFunction, t == chroma.NameBuiltin:
		return "nf"
	case t == chroma.NameTag:
		return "nt"
	}
	return ""
}

// merge joins adjacent tokens of the same class.
func merge(tokens []Token) (merged []Token) {
	for _, t := range tokens {
		last := len(merged) - 1
		switch {
		case t.Text == "":
		case last >= 0 && merged[last].Class == t.Class:
			merged[last].Text += t.Text
		default:
			merged = append(merged, t)
		}
	}
	return merged
}

// matchCode removes the line break that some lexers add at the end. If the tokens do not
// concatenate to the code, it returns the code as a single plain token.
func matchCode(tokens []Token, code string) []Token {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(t.Text)
	}
	text := b.String()
	if last := len(tokens) - 1; text == code+"\n" {
		tokens[last].Text = strings.TrimSuffix(tokens[last].Text, "\n")
		return merge(tokens)
	}
	if text != code {
		return []Token{{Text: code}}
	}
	return tokens
}

// highlightHTTP highlights the first line and the header names of an HTTP message, and its
// body as JSON.
func highlightHTTP(code string) []Token {
	head, body, _ := strings.Cut(code, "\n\n")
	var tokens []Token
	for i, line := range strings.SplitAfter(head, "\n") {
		name, value, isHeader := strings.Cut(line, ":")
		method, rest, _ := strings.Cut(line, " ")
		switch {
		case i == 0:
			tokens = append(tokens, Token{"k", method}, Token{"", line[len(method) : len(line)-len(rest)]}, Token{"", rest})
		case isHeader:
			tokens = append(tokens, Token{"nt", name}, Token{"", ":" + value})
		default:
			tokens = append(tokens, Token{"", line})
		}
	}
	if len(head) < len(code) {
		tokens = append(append(tokens, Token{"", "\n\n"}), Highlight("json", body)...)
	}
	return merge(tokens)
}
