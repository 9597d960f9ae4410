package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"sluice/cmd/sluice/command"
	"sluice/docs"
)

var update = flag.Bool("update", false, "write docs/cli.md and the settings of docs/configuration.md")

const cliHead = `# Command line

One program is the server and its tools. Every command has ` + "`--help`" + `.

Without a server in the settings, commands use the database of the server. They can run while it is up, and their changes apply immediately. Run them on its machine, with the same
` + "`SLUICE_DATA_DIR` or `DATABASE_URL`" + `.

` + "`sluice completion bash`" + `, ` + "`zsh` or `fish`" + ` prints a script that completes commands and flags. For bash, add ` + "`source <(sluice completion bash)`" + ` to ` + "`~/.bashrc`" + `.

## From another machine

Every command but ` + "`serve`, `migrate`, `backup`, `restore`, `compact`, `files`, `doctor`, `secrets` and `ready`" + ` works with a server anywhere, with an [API key](keys.md) of one workspace. It needs the scope ` + "`edit`" + ` to change flows, and ` + "`admin`" + ` for
keys, credentials, prices, limits, quotas and the audit log. Name the server in one of three ways:

` + "```sh" + `
export SLUICE_URL=https://sluice.example.com SLUICE_KEY=slu_…   # for CI
sluice flow list --server https://sluice.example.com --key slu_…
sluice login https://sluice.example.com                          # asks for the key, and keeps both for later commands
` + "```" + `

Save more servers with a name: after ` + "`sluice login --name prod https://sluice.example.com`" + `, every command takes ` + "`--server prod`" + ` (or ` + "`SLUICE_URL=prod`" + `) and the key that was saved with it. Before a command changes something on a server, it prints
the server's address to standard error.

` + "`login`" + ` saves to the configuration directory of the user, readable only by the user. Plain ` + "`http://`" + ` is accepted only on the same machine. Without a server, and wherever ` + "`SLUICE_DATA_DIR`" + ` or ` + "`DATABASE_URL`" + ` names
a database, commands use the database, or the server that runs on it.

What a key may not do is refused, with the reason:

| Command | Over HTTP |
|---|---|
| ` + "`user add`, `user remove`, `user password`" + ` | Refused: a key that sets passwords or makes owners would gain more than its own rights. |
| ` + "`credential hosts`, `credential add --any-host`" + ` | Refused: hosts change only together with the secret, so that a key cannot have a stored secret sent elsewhere. Use ` + "`credential add`" + `. |
| ` + "`credential add --base-url`" + ` | The address may be private only if ` + "`SLUICE_ALLOW_PRIVATE`" + ` allows it for everybody. |
| ` + "`flow import`" + ` | Documents with secrets in clear text are refused. |
| ` + "`flow limits`, `credential limits`, `price set`" + ` | A key with limits may only lower limits, and not change prices. |
| ` + "`workspace limits set`" + ` | Only with a [key of the operator](keys.md#what-else-a-key-may-manage). |
| ` + "`key secret`" + ` | Only of the key itself and of keys that it made. |
| ` + "`audit verify`" + ` | Of the workspace of the key; on the machine of the server, of all. |

` + "```sh" + `
sluice                                        # starts the server
sluice flow import greet.json --publish       # imports a flow and publishes it as an API
sluice key create --name website              # prints a new key
` + "```" + `

## Common to all commands

| | |
|---|---|
| Exit code | 0 success, 1 failure, 2 usage error or a setting that cannot work |
| Errors | one sentence on standard error, with the fix |
| ` + "`--json`" + ` | machine-readable output, where there is output |
| Settings | every command takes those of the server, as [flags or variables](configuration.md#settings) |

<!-- Written by "go test ./cmd/sluice -run TestReference -update" from the declarations of the commands. Edit those. -->
`

// TestReference compares the documentation of commands and settings with their
// declarations.
func TestReference(t *testing.T) {
	t.Parallel()
	compareOrUpdate(t, "cli", commandPage(newProgram(&cli{})))
	have, err := docs.Source("configuration")
	if err != nil {
		t.Fatal(err)
	}
	want, err := docs.Fill(have, "settings", settingsTable())
	if err != nil {
		t.Fatal(err)
	}
	compareOrUpdate(t, "configuration", want)
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(settingsTable()) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "`"); ok && !strings.Contains(string(readme), "`"+name+"`") {
			t.Errorf("README.md does not name %s", name)
		}
	}
}

// TestHelp checks that the help of a command lists its own flags only, and that the help
// of the program lists the server's settings.
func TestHelp(t *testing.T) {
	t.Parallel()
	help := func(t *testing.T, words ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(append(words, "--help"), nil, &out, &errs); code != exitOK || errs.Len() > 0 {
			t.Fatalf("exit %d: %s", code, &errs)
		}
		return out.String()
	}
	if !strings.Contains(help(t), "--data-dir") {
		t.Error("the help of the program does not list --data-dir")
	}
	for _, leaf := range newProgram(&cli{}).Leaves() {
		words := strings.Fields(leaf.Path())[1:]
		t.Run(strings.Join(words, " "), func(t *testing.T) {
			t.Parallel()
			text := help(t, words...)
			if strings.Contains(text, "--data-dir") {
				t.Errorf("it lists the server's settings:\n%s", text)
			}
			for _, f := range leaf.Flags {
				if !f.Hidden && !strings.Contains(text, "--"+f.Name) {
					t.Errorf("--%s is missing:\n%s", f.Name, text)
				}
			}
		})
	}
}

// compareOrUpdate compares a page with its generated text or, with -update, writes it.
func compareOrUpdate(t *testing.T, page, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile("../../docs/"+page+".md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := docs.Source(page); err != nil || have != want {
		t.Errorf("docs/%s.md is not what the declarations say; run go test ./cmd/sluice -run TestReference -update (%v)", page, err)
	}
}

// commandPage lists every command, grouped by its first word.
func commandPage(program *command.Command) string {
	var b strings.Builder
	b.WriteString(cliHead)
	for _, c := range program.Children {
		fmt.Fprintf(&b, "\n## `sluice %s`\n\n%s\n", c.Name, c.Help)
		if len(c.Children) == 0 {
			writeCommand(&b, c)
			continue
		}
		for _, leaf := range c.Leaves() {
			fmt.Fprintf(&b, "\n### `%s`\n\n%s\n", leaf.Path(), leaf.Help)
			writeCommand(&b, leaf)
		}
	}
	return b.String()
}

// writeCommand writes the usage of a command and its own flags.
func writeCommand(b *strings.Builder, c *command.Command) {
	usage := c.Path()
	var rows strings.Builder
	for _, arg := range c.Args {
		name := strings.ToUpper(strings.NewReplacer("<", "", ">", "", " ...", "…", "-", "_").Replace(arg.Usage()))
		usage += " " + name
		row(&rows, name, arg.Help)
	}
	for _, f := range c.Flags {
		name, help := f.Usage(), f.Help
		if f.Short != "" {
			name = "-" + f.Short + ", " + name
		}
		if f.Required {
			usage += " " + name
			help += " Required."
		}
		row(&rows, name, help)
	}
	fmt.Fprintf(b, "\n```sh\n%s\n```\n", usage)
	if rows.Len() > 0 {
		fmt.Fprintf(b, "\n| Argument | Description |\n|---|---|\n%s", rows.String())
	}
}

func row(b *strings.Builder, name, help string) {
	fmt.Fprintf(b, "| `%s` | %s |\n", strings.ReplaceAll(name, "|", `\|`), strings.ReplaceAll(help, "|", `\|`))
}

// settingsTable lists the settings of the server with their defaults.
func settingsTable() string {
	var b strings.Builder
	b.WriteString("| Variable | Default | Description |\n|---|---|---|\n")
	for f := range reflect.TypeFor[Config]().Fields() {
		if _, hidden := f.Tag.Lookup("hidden"); hidden || f.Tag.Get("env") == "" {
			continue
		}
		value := f.Tag.Get("default")
		if value != "" {
			value = "`" + value + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Tag.Get("env"), value, strings.ReplaceAll(f.Tag.Get("help"), "|", `\|`))
	}
	return b.String()
}
