package command

import (
	"fmt"
	"slices"
	"strings"
)

// Shells are the shells that Completion writes for.
var Shells = []string{"bash", "zsh", "fish"}

// Completion returns a script that completes commands and their own flags in a shell. Where a
// command takes an argument, the shell completes files. The script lists everything, so
// pressing Tab starts no process.
func (c *Command) Completion(shell string) (string, error) {
	switch shell {
	case "bash":
		return c.bashCompletion(), nil
	case "zsh": // its emulation of bash's completion runs the same function
		return "#compdef " + c.Name + "\nautoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" + c.bashCompletion(), nil
	case "fish":
		return c.fishCompletion(), nil
	}
	return "", fmt.Errorf("unknown shell %q; choose one of %s", shell, strings.Join(Shells, ", "))
}

// walk calls visit for c and all commands below it, parents first.
func (c *Command) walk(visit func(*Command)) {
	visit(c)
	for _, child := range c.Children {
		child.walk(visit)
	}
}

// candidates returns the words that may follow the command, and its flags.
func (c *Command) candidates() []string {
	words := slices.Sorted(slices.Values(c.names()))
	if c.Parent != nil {
		for _, f := range c.Flags {
			if !f.Hidden {
				words = append(words, "--"+f.Name)
			}
		}
	}
	return append(words, "--help")
}

// bashCompletion returns a function and its registration. Bash sets COMP_WORDS to the words of
// the line and COMP_CWORD to the index of the word at the cursor, and reads the candidates
// from COMPREPLY. If that is empty, "-o default" completes file names.
//
// The function finds the command in the words before the cursor and then offers the words
// that may follow it. It offers flags only after a hyphen, so that files are completed
// otherwise.
func (c *Command) bashCompletion() string {
	var known, offers strings.Builder
	c.walk(func(at *Command) {
		path := strings.TrimPrefix(at.Path(), c.Name)
		if at != c {
			fmt.Fprintf(&known, "      %q) path=\"$path $word\" ;;\n", path)
		}
		fmt.Fprintf(&offers, "    %q) words=%q ;;\n", path, strings.Join(at.candidates(), " "))
	})
	return strings.NewReplacer("NAME", c.Name, "KNOWN\n", known.String(), "OFFERS\n", offers.String()).Replace(`_NAME() {
  local current="${COMP_WORDS[COMP_CWORD]}" path="" words="" word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
KNOWN
    esac
  done
  case "$path" in
OFFERS
  esac
  [[ $current == -* ]] || words="${words%%--*}"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _NAME NAME
`)
}

// fishCompletion returns the fish commands that declare completions. Fish does not know nested
// commands, so each command and flag has a line with the condition under which it is
// offered: the words of its parent were typed.
func (c *Command) fishCompletion() string {
	var b strings.Builder
	c.walk(func(at *Command) {
		words := strings.Fields(at.Path())[1:]
		typed := "__fish_use_subcommand"
		if len(words) > 0 {
			typed = "__fish_seen_subcommand_from " + strings.Join(words, "; and __fish_seen_subcommand_from ")
		}
		if len(at.Children) > 0 && at != c {
			typed += "; and not __fish_seen_subcommand_from " + strings.Join(at.names(), " ")
		}
		for _, child := range at.Children {
			fmt.Fprintf(&b, "complete -c %s -f -n %s -a %s -d %s\n", c.Name, fishQuote(typed), child.Name, fishQuote(child.Help))
		}
		if at == c {
			return
		}
		for _, f := range at.Flags {
			if f.Hidden {
				continue
			}
			value := " -r"
			if f.IsBool() {
				value = ""
			}
			fmt.Fprintf(&b, "complete -c %s -n %s -l %s%s -d %s\n", c.Name, fishQuote(typed), f.Name, value, fishQuote(f.Help))
		}
	})
	return b.String()
}

// fishQuote quotes a text for fish, where only \ and ' are special in single quotes.
func fishQuote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}
