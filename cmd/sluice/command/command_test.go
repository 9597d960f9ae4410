package command

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// settings are accepted by every command of the program under test.
type settings struct {
	Dir     string `env:"COMMAND_TEST_DIR" default:"here" help:"Where." type:"path"`
	Workers int    `default:"4" help:"How many." placeholder:"N"`
	Log     string `default:"text" enum:"text,json" help:"Log style."`
	Secret  string `hidden:""`
}

type program struct {
	settings

	Serve struct{} `cmd:"" default:"" help:"Serve."`
	Key   struct {
		Create create `cmd:"" help:"Create a key."`
		Rotate struct {
			ID string `arg:""`
		} `cmd:"" aliases:"roll" help:"Rotate a key."`
	} `cmd:"" help:"Keys."`
	Run struct {
		Files []string `arg:"" name:"file"`
	} `cmd:"" help:"Run files."`
	Find struct {
		Words []string `arg:"" optional:""`
	} `cmd:"" help:"Find."`
	Read struct {
		File string `arg:"" type:"existingfile"`
	} `cmd:""`
	Check struct {
		Run struct {
			Files []string `arg:"" name:"file"`
			Depth int
		} `cmd:"" default:"withargs" help:"Check files."`
		Show struct{} `cmd:"" help:"Show a check."`
	} `cmd:"" help:"Checks."`
}

type create struct {
	Name      string        `required:"" help:"Its name."`
	Scope     []string      `default:"run,read" help:"Scopes." placeholder:"SCOPE"`
	Host      []string      `short:"H" sep:"none" help:"Hosts."`
	USDPerDay float64       `name:"usd-per-day"`
	Price     *float64      `help:"A price." placeholder:"USD"`
	Overlap   time.Duration `default:"24h"`
	MaxBytes  int64
	AsJSON    bool
}

func TestParse(t *testing.T) {
	t.Parallel()
	c := create{Name: "n", Scope: []string{"run", "read"}, Overlap: 24 * time.Hour}
	price := 1.5
	for line, want := range map[string]func() create{
		"key create --name n":                           func() create { return c },
		"key create --name=n --scope run --scope=a,b":   func() create { d := c; d.Scope = []string{"run", "a", "b"}; return d },
		"key create --name=n --scope=":                  func() create { d := c; d.Scope = nil; return d },
		"key create -H a,b --name n -Hc":                func() create { d := c; d.Host = []string{"a,b", "c"}; return d },
		"--workers 2 key --log=json create --name n":    func() create { return c },
		"key create --name n --price 1.5 --overlap=1h":  func() create { d := c; d.Price, d.Overlap = &price, time.Hour; return d },
		"key create --name n --max-bytes -1 --as-json":  func() create { d := c; d.MaxBytes, d.AsJSON = -1, true; return d },
		"key create --name n --usd-per-day 2 --workers": nil,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			var p program
			selected, err := New("test", "", &p).Parse(strings.Fields(line))
			if selected.Path() != "test key create" {
				t.Fatalf("selected %s", selected.Path())
			}
			if want == nil {
				if err == nil {
					t.Error("got no error")
				}
				return
			}
			got, w := selected.Target().(create), want()
			if got.Price != nil && w.Price != nil {
				*w.Price, got.Price = *got.Price, w.Price
			}
			if err != nil || strings.Join(got.Scope, "|") != strings.Join(w.Scope, "|") || strings.Join(got.Host, "|") != strings.Join(w.Host, "|") ||
				got.Name != w.Name || got.Price != w.Price || got.Overlap != w.Overlap || got.MaxBytes != w.MaxBytes || got.AsJSON != w.AsJSON {
				t.Errorf("got %+v, %v; want %+v", got, err, w)
			}
		})
	}
}

func TestParse_selects_command(t *testing.T) {
	t.Parallel()
	for line, path := range map[string]string{
		"": "test serve", "--workers=1": "test serve", "serve": "test serve", "key roll id": "test key rotate", "run a b --log json": "test run",
		"find": "test find", "find a b": "test find", "check a b": "test check run", "check --depth 3 show": "test check run", "check show": "test check show", "check --workers 1 show": "test check show", "check run show": "test check run",
	} {
		var p program
		if selected, err := New("test", "", &p).Parse(strings.Fields(line)); err != nil || selected.Path() != path {
			t.Errorf("%q selects %s, %v", line, selected.Path(), err)
		}
	}
}

func TestParse_reports_usage_errors(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"nonsense":                  `unexpected argument "nonsense"`,
		"serv":                      `unexpected argument "serv"; did you mean "serve"?`,
		"key":                       "missing command: create, rotate",
		"key create":                "missing flag --name=STRING",
		"key create --nam n":        `unknown flag --nam; did you mean "--name"?`,
		"key create -x":             "unknown flag -x",
		"key create --name":         "--name needs a value",
		"key create --max-bytes=x":  `--max-bytes: wanted a whole number, got "x"`,
		"key create --price=x":      `--price: wanted a number, got "x"`,
		"key create --overlap=x":    `--overlap: wanted a duration such as 30s or 24h, got "x"`,
		"key rotate":                "missing argument <id>",
		"key rotate a b":            `unexpected argument "b"`,
		"run":                       "missing argument <file>",
		"serve --log=xml":           `--log must be one of "text","json" but got "xml"`,
		"read /does/not/exist":      "<file>: stat /does/not/exist: no such file or directory",
		"read " + os.TempDir() + "": "is a directory",
		"check":                     "missing argument <file>",
		"check --dept 3 a":          `unknown flag --dept; did you mean "--depth"?`,
	} {
		var p program
		if _, err := New("test", "", &p).Parse(strings.Fields(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
}

// TestParse_prefers_flags_over_environment checks that flags override the environment, and both
// override defaults.
func TestParse_prefers_flags_over_environment(t *testing.T) {
	here, _ := filepath.Abs("here")
	for _, c := range []struct{ variable, flag, want string }{
		{"", "", here}, {"/env", "", "/env"}, {"/env", "--dir=/flag", "/flag"}, {"", "--dir=-", "-"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if c.variable != "" {
				t.Setenv("COMMAND_TEST_DIR", c.variable)
			}
			var p program
			if _, err := New("test", "", &p).Parse(strings.Fields(c.flag)); err != nil || p.Dir != c.want || p.Workers != 4 {
				t.Errorf("got %+v, %v", p.settings, err)
			}
		})
	}
}

const createHelp = `Usage: test key create --name=STRING [flags]

Create a key.

Flags:
  -h, --help                       Show this help.
      --name=STRING                Its name.
      --scope=SCOPE,...            Scopes.
  -H, --host=HOST                  Hosts.
      --usd-per-day=USD-PER-DAY
      --price=USD                  A price.
      --overlap=24h
      --max-bytes=MAX-BYTES
      --as-json

'test --help' lists the settings that every command takes.
`

const settingsHelp = `Settings:
  --dir="here"    Where ($COMMAND_TEST_DIR).
  --workers=N     How many.
  --log="text"    Log style.

Run 'test <command> --help' for more information on a
command.
`

func TestHelp(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"key create --help": createHelp, "--help key create": createHelp,
		"check -h": "Commands:\n  check run     Check files.\n  check show    Show a check.\n",
		"key -h":   "Usage: test key <command> [flags]\n\nKeys.\n\nCommands:\n  key create    Create a key.\n  key rotate    Rotate a key.\n",
		"--help":   settingsHelp,
		"find -h":  "Arguments:\n  [<words> ...]\n",
	} {
		var p program
		selected, err := New("test", "", &p).Parse(strings.Fields(line))
		var b strings.Builder
		if !errors.Is(err, ErrHelp) || selected.WriteHelp(&b, "Settings:", 60) != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%q: %v\n%s", line, err, &b)
		}
		for text := range strings.Lines(b.String()) {
			if len(strings.TrimSpace(text)) > 60 {
				t.Errorf("%q: the line is too long: %s", line, text)
			}
		}
	}
}
