// Package command reads a command line that is declared as tagged structs. It
// owns commands, flags, arguments, their environment variables and defaults,
// and the text of --help; it does not run commands.
//
// A field is a command if it is tagged cmd, an argument if it is tagged arg and
// a flag otherwise. Other tags are
//
//	help         one sentence or two; {values} stands for what the method Values of the type returns
//	name         instead of the name of the field in kebab case
//	aliases      other names of a command, separated by commas; not in the help
//	default      value of a flag; on a command: selected if no command is named, with "withargs" also for
//	             arguments and flags that name no command
//	env          environment variable that sets a flag
//	enum         allowed values of a flag, separated by commas
//	placeholder  stands for the value in the help
//	required     for flags
//	optional     for arguments
//	short        one letter
//	sep          "none" for a repeated flag whose values may contain commas
//	type         "path" makes a path absolute; an "existingfile" must exist as well
//	hidden       not in the help
//
// A field that implements Declarer declares flags itself.
//
// Flags of the outermost struct are settings, which every command accepts. For example
//
//	var root struct {
//		Addr string   `env:"APP_ADDR" default:":80" help:"Address to listen on."`
//		List struct{} `cmd:"" help:"List everything."`
//		Key  struct {
//			Create keyCreate `cmd:"" help:"Create a key."`
//		} `cmd:"" help:"API keys."`
//	}
//
// declares the commands "list" and "key create", which both accept --addr. Parse returns the
// selected one with its fields filled in; the caller then calls a method of its struct.
//
// A value comes from the command line, else from the variable, else from the default.
// Types that implement encoding.TextUnmarshaler parse their own values; their errors are
// wrapped in usage errors that name the flag or the variable.
//
// The package exists because libraries that find methods by name through
// reflection, as kong does, make the linker keep every exported method of every
// type in the program.
package command

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Command is a command or a group of commands. A tree of them mirrors the tree of
// structs that declares the command line; Parse walks down it word by word.
type Command struct {
	Name     string
	Help     string
	Parent   *Command // nil for the program itself
	Children []*Command
	Flags    []*Flag
	Args     []*Flag // positional arguments, in order

	aliases []string
	chosen  *Command // the default child, or nil
	argsTo  *Command // the child that takes what names no command, or nil
	target  reflect.Value
}

// Flag is a flag or a positional argument. Both read values in the same way: a flag
// is found by its name, an argument by its position.
type Flag struct {
	Name     string
	Help     string
	Short    string // one letter, or empty
	Env      string // the variable that sets it, or empty
	Default  string
	Required bool
	Hidden   bool

	placeholder string
	enum        []string
	splitCommas bool   // a text may have several values, separated by commas
	kind        string // the tag type
	positional  bool
	set         bool // by the command line
	target      reflect.Value
}

// Declarer is a field whose flags are known only when the program starts, such as those for the
// body of a request. It is called with the tag of the field.
type Declarer interface {
	DeclareFlags(tag reflect.StructTag) []*Flag
}

// Bind returns the flag with the variable that it sets, a pointer to a type that fields can have.
// split is whether one text may have several values, separated by commas. placeholder, if it is not
// empty, stands for the value in the help; enum, if any, are the allowed values.
func (f Flag) Bind(to any, placeholder string, split bool, enum ...string) *Flag {
	f.target, f.placeholder, f.splitCommas, f.enum = reflect.ValueOf(to).Elem(), placeholder, split, enum
	if err := f.supported(); err != nil {
		panic(err)
	}
	return &f
}

// Given reports whether the flag is set: by the command line, its variable or its default.
func (f *Flag) Given() bool { return f.set }

// New returns the program that root, a pointer to a struct, declares. Parse fills in root, so
// it must be called only once. New panics if the declaration is malformed.
func New(name, help string, root any) *Command {
	c := &Command{Name: name, Help: help, target: reflect.ValueOf(root).Elem()}
	c.declare(c.target)
	return c
}

// declare adds the commands, flags and arguments that the fields of a struct declare.
func (c *Command) declare(v reflect.Value) {
	for i := range v.NumField() {
		field, target := v.Type().Field(i), v.Field(i)
		_, isCommand := field.Tag.Lookup("cmd")
		_, isArg := field.Tag.Lookup("arg")
		if field.IsExported() {
			if d, ok := target.Addr().Interface().(Declarer); ok {
				c.Flags = append(c.Flags, d.DeclareFlags(field.Tag)...)
				continue
			}
		}
		switch {
		case field.Anonymous:
			c.declare(target)
		case isCommand:
			c.addCommand(field, target)
		case isArg:
			c.Args = append(c.Args, newFlag(field, target, true))
		default:
			c.Flags = append(c.Flags, newFlag(field, target, false))
		}
	}
}

// addCommand adds a command and, recursively, its own flags and commands.
func (c *Command) addCommand(field reflect.StructField, target reflect.Value) {
	child := &Command{Name: nameOf(field), Help: field.Tag.Get("help"), Parent: c, aliases: list(field.Tag.Get("aliases")), target: target}
	if way, ok := field.Tag.Lookup("default"); ok {
		if c.chosen = child; way == "withargs" {
			c.argsTo = child
		}
	}
	child.declare(target)
	c.Children = append(c.Children, child)
}

// newFlag reads the tags of a field. It panics for an unsupported type, so that the first test
// that starts the program finds the wrong declaration.
func newFlag(field reflect.StructField, target reflect.Value, positional bool) *Flag {
	tag := field.Tag
	has := func(name string) bool { _, ok := tag.Lookup(name); return ok }
	f := &Flag{
		Name: nameOf(field), Help: tag.Get("help"), Short: tag.Get("short"), Env: tag.Get("env"), Default: tag.Get("default"),
		Required: has("required") || positional && !has("optional"), Hidden: has("hidden"),
		placeholder: tag.Get("placeholder"), enum: list(tag.Get("enum")), kind: tag.Get("type"), positional: positional, target: target,
	}
	if f.Repeated() && !positional && tag.Get("sep") != "none" {
		f.splitCommas = true
	}
	if err := f.supported(); err != nil {
		panic(err)
	}
	if v, ok := reflect.New(f.valueType()).Interface().(interface{ Values() string }); ok {
		f.Help = strings.Replace(f.Help, "{values}", v.Values(), 1)
	}
	return f
}

// list splits a text at commas. It returns nil for an empty text.
func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// wordBoundary matches between the words of a field's name: MaxFile, RPMLimit.
var wordBoundary = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// nameOf returns the tag name, or the field's name in kebab case.
func nameOf(field reflect.StructField) string {
	if name := field.Tag.Get("name"); name != "" {
		return name
	}
	return strings.ToLower(wordBoundary.ReplaceAllString(field.Name, "$1$3-$2$4"))
}

// Path returns the words that select the command: "sluice key create".
func (c *Command) Path() string {
	if c.Parent == nil {
		return c.Name
	}
	return c.Parent.Path() + " " + c.Name
}

// Leaves returns the commands under c that can be run, in order. It includes c
// itself if that has no children.
func (c *Command) Leaves() []*Command {
	if len(c.Children) == 0 {
		return []*Command{c}
	}
	var leaves []*Command
	for _, child := range c.Children {
		leaves = append(leaves, child.Leaves()...)
	}
	return leaves
}

// Target returns a copy of the struct that declares the command, with its flags and
// arguments filled in. Callers convert it to the interface of their commands.
func (c *Command) Target() any { return c.target.Interface() }

// settings returns the flags that every command takes.
func (c *Command) settings() []*Flag {
	for c.Parent != nil {
		c = c.Parent
	}
	return c.Flags
}

// child finds a command by name or alias.
func (c *Command) child(name string) *Command {
	for _, child := range c.Children {
		if child.Name == name || slices.Contains(child.aliases, name) {
			return child
		}
	}
	return nil
}

// IsBool reports whether the flag takes no value.
func (f *Flag) IsBool() bool { return f.target.Kind() == reflect.Bool }

// Repeated reports whether the flag or argument may be given several times.
func (f *Flag) Repeated() bool { return f.target.Kind() == reflect.Slice }

// Placeholder returns the placeholder of the value in the help.
func (f *Flag) Placeholder() string {
	more := ""
	if f.splitCommas {
		more = ",..."
	}
	switch {
	case f.placeholder != "":
		return f.placeholder + more
	case f.Default != "" && f.target.Kind() == reflect.String:
		return fmt.Sprintf("%q", f.Default)
	case f.Default != "":
		return f.Default + more
	case f.target.Kind() == reflect.String:
		return "STRING" + more
	}
	return strings.ToUpper(f.Name) + more
}

// Usage returns how the flag or argument is written: --name=STRING, <id> or
// [<query> ...].
func (f *Flag) Usage() string {
	if !f.positional {
		if f.IsBool() {
			return "--" + f.Name
		}
		return "--" + f.Name + "=" + f.Placeholder()
	}
	usage := "<" + f.Name + ">"
	if f.Repeated() {
		usage += " ..."
	}
	if !f.Required {
		usage = "[" + usage + "]"
	}
	return usage
}

// label names the flag or argument in errors.
func (f *Flag) label() string {
	if f.positional {
		return "<" + f.Name + ">"
	}
	return "--" + f.Name
}
