// The command generate finishes the templates that templ has generated, so that they become
// less machine code.
//
// A template is a function that only returns a closure, the code that writes the HTML. Such a
// function is cheap enough to inline, and with it the compiler copies the closure to each
// place that uses the template. That doubled the machine code of the builder's pages and the
// time to compile them.
//
// The closure is mostly the handling of buffers and errors, which package render does once for
// all. Code of templ that no rule below matches stays as it is, and works.
package main

import (
	"bytes"
	"go/format"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// template matches the first line of a generated template, and the directive if it is there.
var template = regexp.MustCompile(`(?m)^(?://go:noinline\n)?(func .*\) templ\.Component \{)$`)

// A rule replaces code of templ. All names that templ makes up begin with templ_7745c5c3_, written ~ here.
type rule struct {
	from *regexp.Regexp
	to   string
}

// replace returns the rule for a pattern, in which white space stands for any white space.
func replace(pattern, to string) rule {
	pattern = strings.Join(strings.Fields(pattern), `\s+`)
	return rule{regexp.MustCompile(strings.ReplaceAll(pattern, "~", "templ_7745c5c3_")), strings.ReplaceAll(to, "~", "templ_7745c5c3_")}
}

// failed matches the check of an error.
const failed = ` if ~Err != nil \{ return ~Err \}`

// value matches an expression, which MAKE turns into a string and WRITE writes.
const value = `var (~Var\d+) string ~Var\d+, ~Err = MAKE if ~Err != nil \{ return templ\.Error\{Err: ~Err, FileName: .+?, Line: \d+, Col: \d+\} \} _, ~Err = ~Buffer\.WriteString\(WRITE\)` + failed

var rules = []rule{
	replace(`templruntime\.GeneratedTemplate\(func\(~Input templruntime\.GeneratedComponentInput\) \(~Err error\) \{
		~W, ctx := ~Input\.Writer, ~Input\.Context (?:if ~CtxErr := ctx\.Err\(\); ~CtxErr != nil \{ return ~CtxErr \}\s)?
		~Buffer, ~IsBuffer := templruntime\.GetBuffer\(~W\)
		if !~IsBuffer \{ defer func\(\) \{ ~BufErr := templruntime\.ReleaseBuffer\(~Buffer\) if ~Err == nil \{ ~Err = ~BufErr \} \}\(\) \}
		ctx = templ\.InitializeContext\(ctx\)`,
		`render.Template(func(ctx render.Context, ~Buffer *render.Buffer) (~Err error) {`),
	expression("Text", `templ\.JoinStringErrs\((.*)\)`, `templ\.EscapeString\(~Var\d+\)`),
	expression("Attribute", `templruntime\.NewAttributeExpression\((.*)\)\.Resolve\(ctx\)`, `~Var\d+`),
	expression("URL", `templruntime\.NewAttributeExpression\((.*)\)\.ResolveURL\(ctx\)`, `~Var\d+`),
	replace(`~Err = templruntime\.WriteString\(~Buffer, \d+, (".*")\)`+failed, `~Buffer.WriteString(${1})`),
	// An element with classes or a list of attributes has a buffer of its own, for scripts and styles that precede it. Browsers
	// would refuse those here.
	replace(`~ElementWriter := ~Buffer ~Buffer := templ\.GetBuffer\(\) var ~ElementScripts \[\]templ\.ComponentScript`, ``),
	replace(`~Err = templ\.RenderScriptItems\(ctx, ~ElementWriter, ~ElementScripts\.\.\.\)`+failed+` _, ~Err = ~Buffer\.WriteTo\(~ElementWriter\)`+failed+` templ\.ReleaseBuffer\(~Buffer\)`, ``),
	replace(`~Err = templ\.RenderCSSItems\(ctx, ~\w+, ~Var\d+\.\.\.\)`+failed, ``),
	replace(`~Err = templruntime\.RenderAttributes\(ctx, ~Buffer, ~\w+, (".*?"), (.*)\)`+failed, `render.Attributes(ctx, ~Buffer, ${1}, ${2})`),
	replace(`~Err = (.*)\.Render\((ctx|templ\.WithChildren\(ctx, ~Var\d+\)), ~Buffer\)`+failed, `render.Component(${2}, ~Buffer, ${1})`),
}

// expression returns the rule for the value of an expression. One that also returns an error would not compile.
func expression(kind, make, writing string) rule {
	return replace(strings.NewReplacer("MAKE", make, "WRITE", writing).Replace(value), "render."+kind+"(~Buffer, ${2})")
}

func main() {
	log.SetFlags(0)
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_templ.go") {
			return err
		}
		return finish(path)
	})
	if err != nil {
		log.Fatal(err)
	}
}

// finish forbids inlining the templates in a file, and applies the rules.
func finish(path string) error {
	code, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	finished := template.ReplaceAll(code, []byte("//go:noinline\n$1"))
	for _, r := range rules {
		finished = r.from.ReplaceAll(finished, []byte(r.to))
	}
	finished, err = format.Source(imports(finished))
	if err != nil || bytes.Equal(finished, code) {
		return err
	}
	return os.WriteFile(path, finished, 0o644)
}

// imports adds the import of package render to a file that uses it.
func imports(code []byte) []byte {
	const runtime, render = "import templruntime \"github.com/a-h/templ/runtime\"\n", "import \"sluice/views/render\"\n"
	if !bytes.Contains(code, []byte(" render.")) || bytes.Contains(code, []byte(render)) {
		return code
	}
	return bytes.Replace(code, []byte(runtime), []byte(runtime+render), 1)
}
