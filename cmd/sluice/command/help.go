package command

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Layout of the help, in characters.
const (
	indent       = "  "
	columnGap    = 4
	minLeftWidth = 30 // longer entries of the left column have a line of their own
)

// WriteHelp writes the help of a command or group, with its own flags, in lines of at most
// width characters. Only the help of the program lists the settings, under settingsTitle.
func (c *Command) WriteHelp(w io.Writer, settingsTitle string, width int) error {
	h := &helpText{width: width}
	h.line("Usage: " + c.usage())
	if c.Help != "" {
		h.line("")
		h.wrap(c.Help)
	}
	if len(c.Args) > 0 {
		rows := [][2]string{}
		for _, arg := range c.Args {
			rows = append(rows, [2]string{arg.Usage(), arg.Help})
		}
		h.table("Arguments:", rows)
	}
	if len(c.Children) > 0 {
		rows := [][2]string{}
		for _, leaf := range c.Leaves() {
			rows = append(rows, [2]string{strings.TrimPrefix(leaf.Path(), leaf.program().Name+" "), leaf.Help})
		}
		h.table("Commands:", rows)
	}
	h.flags(c)
	if c.Parent != nil && len(c.settings()) > 0 {
		h.line("")
		h.wrap(fmt.Sprintf("'%s --help' lists the settings that every command takes.", c.program().Name))
	}
	if c.Parent == nil {
		h.table(settingsTitle, settingRows(c.settings()))
		h.line("")
		h.wrap(fmt.Sprintf("Run '%s <command> --help' for more information on a command.", c.Name))
	}
	_, err := io.WriteString(w, h.b.String())
	return err
}

// usage returns the synopsis of the command: its path, required flags and arguments.
func (c *Command) usage() string {
	words := []string{c.Path()}
	if c.Parent != nil {
		for _, f := range c.Flags {
			if f.Required {
				words = append(words, f.Usage())
			}
		}
	}
	for _, arg := range c.Args {
		words = append(words, arg.Usage())
	}
	if len(c.Children) > 0 {
		words = append(words, "<command>")
	}
	return strings.Join(append(words, "[flags]"), " ")
}

// program returns the root of the tree.
func (c *Command) program() *Command {
	for c.Parent != nil {
		c = c.Parent
	}
	return c
}

// helpText builds a help text with lines of at most width characters.
type helpText struct {
	b     strings.Builder
	width int
}

// line adds a line without trailing spaces.
func (h *helpText) line(text string) { h.b.WriteString(strings.TrimRight(text, " ") + "\n") }

// wrap adds a text in lines of at most width characters.
func (h *helpText) wrap(text string) {
	for _, line := range wrap(text, h.width) {
		h.line(line)
	}
}

// flags lists the command's own flags.
func (h *helpText) flags(c *Command) {
	rows := [][2]string{{"-h, --help", "Show this help."}}
	if c.Parent != nil {
		for _, f := range c.Flags {
			rows = append(rows, [2]string{shortPrefix(f) + f.Usage(), f.Help})
		}
	}
	h.table("Flags:", rows)
}

// shortPrefix returns "-i, " or the same number of spaces, so that long names are aligned.
func shortPrefix(f *Flag) string {
	if f.Short == "" {
		return "    "
	}
	return "-" + f.Short + ", "
}

// settingRows returns the rows of the settings, each with its environment variable.
func settingRows(settings []*Flag) [][2]string {
	var rows [][2]string
	for _, f := range settings {
		if f.Hidden {
			continue
		}
		help := f.Help
		if f.Env != "" {
			help = strings.TrimSuffix(help, ".") + " ($" + f.Env + ")."
		}
		rows = append(rows, [2]string{f.Usage(), help})
	}
	return rows
}

// table writes a title and two columns. An entry that is too long for the left column
// has a line of its own, so that it does not squeeze the other rows.
func (h *helpText) table(title string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	h.line("")
	h.line(title)
	longest, left := max(minLeftWidth, 375*h.width/1000), 0
	for _, row := range rows {
		if n := utf8.RuneCountInString(row[0]); n < longest {
			left = max(left, n)
		}
	}
	offset := strings.Repeat(" ", len(indent)+left+columnGap)
	for _, row := range rows {
		lines := wrap(row[1], h.width-len(offset))
		first := indent + row[0]
		if n := utf8.RuneCountInString(row[0]); n < longest {
			first += strings.Repeat(" ", left+columnGap-n) + lines[0]
			lines = lines[1:]
		}
		h.line(first)
		for _, line := range lines {
			h.line(offset + line)
		}
	}
}

// wrap breaks a text into lines at spaces, so a word that is longer than a line is not
// split. It returns at least one line.
func wrap(text string, width int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}
