package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"sluice/flow/wording"
	"strings"

	"github.com/spf13/pflag"
)

// ErrHelp is returned by Parse if the command line asks for help.
var ErrHelp = errors.New("help requested")

// Parse reads the arguments of the program and returns the command that they select, with its
// flags filled in from the arguments, the environment and the defaults, in this order of
// precedence. With ErrHelp or another error it returns the command or group parsed so far.
func (c *Command) Parse(args []string) (*Command, error) {
	help := false
	for len(c.Children) > 0 {
		words, err := c.parseFlags(args, false, &help)
		if c.argsTo != nil && (err != nil || len(words) > 0 && c.child(words[0]) == nil) {
			c = c.argsTo
			break
		}
		if err != nil {
			return c, err
		}
		if len(words) == 0 {
			break
		}
		child := c.child(words[0])
		if child == nil {
			return c, fmt.Errorf("unexpected argument %q%s", words[0], didYouMean(words[0], c.names()))
		}
		c, args = child, words[1:]
	}
	if len(c.Children) > 0 && (help || c.chosen == nil) {
		if help {
			return c, ErrHelp
		}
		return c, fmt.Errorf("missing command: %s", strings.Join(c.names(), ", "))
	}
	if len(c.Children) > 0 {
		c, args = c.chosen, nil
	}
	words, err := c.parseFlags(args, true, &help)
	switch {
	case err != nil:
		return c, err
	case help:
		return c, ErrHelp
	}
	return c, cmp.Or(c.assign(words), c.applyDefaults())
}

// names returns the names of the children.
func (c *Command) names() []string {
	names := make([]string, len(c.Children))
	for i, child := range c.Children {
		names[i] = child.Name
	}
	return names
}

// parseFlags reads flags up to the first word or, if interspersed, among all words, and
// returns the remaining arguments. Settings may therefore precede or follow the name of a
// command.
func (c *Command) parseFlags(args []string, interspersed bool, help *bool) ([]string, error) {
	set := pflag.NewFlagSet(c.Name, pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.SetInterspersed(interspersed)
	asked := set.BoolP("help", "h", false, "")
	names := []string{"--help"}
	for _, f := range c.allFlags() {
		p := set.VarPF(f, f.Name, f.Short, f.Help)
		if f.IsBool() {
			p.NoOptDefVal = "true"
		}
		names = append(names, "--"+f.Name)
	}
	err := set.Parse(args)
	*help = *help || *asked
	return set.Args(), plainError(err, names)
}

// allFlags returns the command's own flags and the settings.
func (c *Command) allFlags() []*Flag {
	if c.Parent == nil {
		return c.Flags
	}
	return append(append([]*Flag(nil), c.Flags...), c.settings()...)
}

// plainError rewords the errors of package pflag in the style of the other usage errors.
func plainError(err error, names []string) error {
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := "--" + e.GetSpecifiedName()
		if e.GetSpecifiedShortnames() != "" {
			return fmt.Errorf("unknown flag -%s", e.GetSpecifiedName())
		}
		return fmt.Errorf("unknown flag %s%s", name, didYouMean(name, names))
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Errorf("--%s needs a value", e.GetFlag().Name)
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Errorf("--%s: %w", e.GetFlag().Name, e.Unwrap())
	}
	return err
}

// assign fills in the positional arguments.
func (c *Command) assign(words []string) error {
	for _, arg := range c.Args {
		for len(words) > 0 {
			if err := arg.Set(words[0]); err != nil {
				return fmt.Errorf("%s: %w", arg.label(), err)
			}
			if words = words[1:]; !arg.Repeated() {
				break
			}
		}
		if arg.Required && !arg.set {
			return fmt.Errorf("missing argument %s", arg.label())
		}
	}
	if len(words) > 0 {
		return fmt.Errorf("unexpected argument %q", words[0])
	}
	return nil
}

// applyDefaults sets the flags that the command line does not set, and validates all flags.
func (c *Command) applyDefaults() error {
	for _, f := range c.allFlags() {
		if err := f.applyDefault(); err != nil {
			return err
		}
	}
	return nil
}

// applyDefault sets a flag that the command line does not set from its variable or its
// default. Errors name the variable if the value came from it.
func (f *Flag) applyDefault() error {
	value, fromEnv := os.LookupEnv(f.Env)
	source := ""
	switch {
	case f.set:
	case f.Env != "" && fromEnv:
		source = fmt.Sprintf(" (from %s=%q)", f.Env, value)
		if err := f.Set(value); err != nil {
			return fmt.Errorf("%s: %w%s", f.label(), err, source)
		}
	case f.Default != "":
		if err := f.Set(f.Default); err != nil {
			return fmt.Errorf("%s: %w", f.label(), err)
		}
	case f.Required:
		return fmt.Errorf("missing flag %s", f.Usage())
	}
	if err := f.checkEnum(); err != nil {
		return fmt.Errorf("%w%s", err, source)
	}
	return nil
}

// didYouMean suggests known names for a mistyped one: those that start with it, and those
// within a Levenshtein distance of two.
func didYouMean(name string, known []string) string {
	var similar []string
	for _, k := range known {
		if name != "" && strings.HasPrefix(k, name) || wording.Distance(k, name) <= 2 {
			similar = append(similar, fmt.Sprintf("%q", k))
		}
	}
	switch len(similar) {
	case 0:
		return ""
	case 1:
		return "; did you mean " + similar[0] + "?"
	}
	return "; did you mean one of " + strings.Join(similar, ", ") + "?"
}
