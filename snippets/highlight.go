package snippets

import (
	"embed"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
)

// Token is a piece of code and how it is colored: Class is chroma's short
// name ("c" comment, "k" keyword, "s" string, "m" number, "nf" function, "nt"
// name of a member) or "" for what is left as it is.
type Token struct{ Class, Text string }

// The definitions are chroma's own, copied because its package of lexers brings
// hundreds of others into the binary (2.7 MB). See lexers/LICENSE.
//
//go:embed lexers/*.xml
var lexerFiles embed.FS

// lexerNames says which definition colors a language.
var lexerNames = map[string]string{
	"curl": "bash", "sh": "bash", "shell": "bash", "bash": "bash", "json": "json", "python": "python", "javascript": "javascript", "js": "javascript",
	"typescript": "typescript", "ts": "typescript", "php": "php", "ruby": "ruby", "java": "java", "csharp": "csharp", "go": "go",
}

// lexers are read once each, when first used: a definition has many regular
// expressions.
var lexers = func() map[string]func() chroma.Lexer {
	m := map[string]func() chroma.Lexer{"go": sync.OnceValue(func() chroma.Lexer { return chroma.MustNewLexer(&chroma.Config{Name: "Go"}, goRules) })}
	for _, name := range lexerNames {
		if name != "go" {
			m[name] = sync.OnceValue(func() chroma.Lexer { return chroma.MustNewXMLLexer(lexerFiles, "lexers/"+name+".xml") })
		}
	}
	return m
}()

// goRules are what Go code needs, which chroma has in Go alone.
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

// maxHighlight is the longest code in bytes that is highlighted. The cost grows
// faster than the length; long code would take minutes.
const maxHighlight = 64 << 10

// Highlight cuts code into colored pieces, which together are the code. It
// knows the languages of Languages, json, sh, bash and http; anything else, and
// what is longer than maxHighlight, is one piece without a color.
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
	return whole(merge(tokens), code)
}

// class is the short name of the few groups that have a color.
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

// merge joins neighbours of the same color.
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

// whole is the tokens if they are the code to the byte. Some lexers add a line
// break at the end, which is taken off again.
func whole(tokens []Token, code string) []Token {
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

// highlightHTTP colors the first line and the names of headers of a message,
// and its body as JSON.
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
