package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/term"

	"sluice/cmd/sluice/client"
	"sluice/flow"
)

// Login is a server and a key for it.
type Login struct {
	URL string `json:"url"`
	Key string `json:"key"`
}

// logins are the saved servers: one that commands use without --server, and others by name.
type logins struct {
	Login
	Servers map[string]Login `json:"servers,omitempty"`
}

// serverName is what a saved server may be called. No address looks like it.
var serverName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// The server and the key come from, in order of precedence:
//
//	--server, --key           for one command; a server by its address or its saved name
//	SLUICE_URL, SLUICE_KEY    for a job or a shell
//	sluice login              for a person, until "sluice logout"
//
// A key of higher precedence may be combined with an address of lower precedence, but a saved
// key is never sent to another address: a mistyped --server must not get it.

// ErrNoServer is returned by Connect if no server is configured and there is no saved login.
var ErrNoServer = errors.New("this command needs a server: give --server and --key, set SLUICE_URL and SLUICE_KEY, or use 'sluice login URL'")

// Connect returns a client of the given server, by its address or saved name, or, if that is empty,
// of the saved login. A saved key is only sent to the server that it was saved for. Before the
// client changes something, it names the server on errs.
func Connect(server, key string, errs io.Writer) (*client.Client, error) {
	all, err := savedLogins()
	if err != nil {
		return nil, err
	}
	saved, name := all.Login, ""
	if serverName.MatchString(server) {
		found, ok := all.Servers[server]
		if !ok {
			return nil, UsageError(fmt.Sprintf("there is no saved server %q; %s", server, all.names()))
		}
		saved, name, server = found, " ("+server+")", found.URL
	}
	if server == "" {
		server = saved.URL
	}
	if server == "" {
		return nil, ErrNoServer
	}
	base, err := baseURL(server)
	if err != nil {
		return nil, err
	}
	if key == "" && base == saved.URL {
		key = saved.Key
	}
	if key == "" { // saved under a name, and given by its address
		for _, name := range slices.Sorted(maps.Keys(all.Servers)) {
			if all.Servers[name].URL == base {
				return nil, UsageError(fmt.Sprintf("there is no key for %s; give --server %s, which has one", base, name))
			}
		}
	}
	if key == "" {
		return nil, UsageError(fmt.Sprintf("there is no key for %s; give --key, set SLUICE_KEY or use 'sluice login %s'", base, base))
	}
	return &client.Client{Base: base, Token: strings.TrimSpace(key), Remote: true, OnChange: func() { fmt.Fprintf(errs, "Server: %s%s\n", base, name) }}, nil
}

// names returns which servers are saved by name, as a sentence for an error.
func (l logins) names() string {
	if len(l.Servers) == 0 {
		return "save it with 'sluice login --name NAME URL'"
	}
	return "saved are " + strings.Join(slices.Sorted(maps.Keys(l.Servers)), ", ")
}

// baseURL returns scheme and host of a server. It accepts plain HTTP only on this machine,
// because the key is not encrypted in transit.
func baseURL(text string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", UsageError(fmt.Sprintf("%q is not the address of a server; write it like https://sluice.example.com", text))
	}
	ip, _ := netip.ParseAddr(u.Hostname())
	if u.Scheme == "http" && u.Hostname() != "localhost" && !ip.IsLoopback() {
		return "", UsageError(fmt.Sprintf("%s would send the key unencrypted; use https://%s", text, u.Host))
	}
	return u.Scheme + "://" + u.Host, nil
}

// loginFile returns the path of the saved login, in the user's configuration directory.
func loginFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "sluice", "login.json"), nil
}

// SavedLogin returns the login that "sluice login" saved without a name, or the zero value.
func SavedLogin() (Login, error) {
	l, err := savedLogins()
	return l.Login, err
}

// savedLogins returns all that "sluice login" saved.
func savedLogins() (logins, error) {
	path, err := loginFile()
	if err != nil {
		return logins{}, nil // a service without a home directory has no login
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return logins{}, nil
	}
	var l logins
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err != nil {
		return logins{}, fmt.Errorf("read the saved login: %w; 'sluice logout' removes it", err)
	}
	return l, nil
}

// LoginCmd checks a key and saves it for later commands.
type LoginCmd struct {
	URL  string `arg:"" help:"Address of the server, such as https://sluice.example.com."`
	Name string `help:"Save it under this name, for --server NAME. Without a name, it is the server of commands without --server."`
}

// Login saves the server and the key if the server accepts the key. The request also verifies
// that the address is that of a Sluice server. Without a key it reads one from standard input,
// because other users of the machine can see arguments in the list of processes.
func (c LoginCmd) Login(ctx context.Context, key string, s *Streams) error {
	base, err := baseURL(c.URL)
	if err != nil {
		return err
	}
	if c.Name != "" && !serverName.MatchString(c.Name) {
		return UsageError(fmt.Sprintf("%q cannot be the name of a server; use at most 40 lower-case letters, digits and hyphens", c.Name))
	}
	if key == "" {
		if key, err = readKey(s); err != nil {
			return err
		}
	}
	l := Login{base, strings.TrimSpace(key)}
	_, err = (&client.Client{Base: l.URL, Token: l.Key, Remote: true}).Call(ctx, "GET", "/v1/flow?limit=1", nil)
	if err != nil && !errors.Is(err, &flow.Error{Code: flow.CodeScopeMissing}) { // the key is valid, but may not list flows
		return err
	}
	all, err := savedLogins()
	if err != nil {
		return err
	}
	if c.Name == "" {
		all.Login = l
	} else {
		if all.Servers == nil {
			all.Servers = map[string]Login{}
		}
		all.Servers[c.Name] = l
	}
	if err := all.save(); err != nil {
		return err
	}
	if c.Name != "" {
		_, err = fmt.Fprintf(s.Out, "Logged in to %s. Commands use it with --server %s.\n", base, c.Name)
		return err
	}
	_, err = fmt.Fprintf(s.Out, "Logged in to %s.\n", base)
	return err
}

// readKey reads a key from standard input. On a terminal it prompts and does not echo.
func readKey(s *Streams) (string, error) {
	if f, ok := s.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(s.Err, "Key: ")
		text, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(s.Err)
		return string(text), err
	}
	text := ""
	if s.In != nil {
		text, _ = bufio.NewReader(s.In).ReadString('\n')
	}
	if strings.TrimSpace(text) == "" {
		return "", UsageError("write the key to standard input, or set SLUICE_KEY")
	}
	return text, nil
}

// save writes the logins so that only the user can read them. The file has its final mode
// before it gets its name, so that others can never open it.
func (l logins) save() error {
	path, err := loginFile()
	if err != nil {
		return err
	}
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return replaceFile(path, data, 0o600)
}

// Logout removes saved logins.
type Logout struct {
	Name string `help:"Forget only the server with this name."`
}

// Logout removes one login, or the file with all. The keys stay valid until they are revoked.
func (c Logout) Logout(s *Streams) error {
	path, err := loginFile()
	if err != nil {
		return err
	}
	if c.Name != "" {
		all, err := savedLogins()
		if err != nil {
			return err
		}
		if _, ok := all.Servers[c.Name]; !ok {
			return UsageError(fmt.Sprintf("there is no saved server %q; %s", c.Name, all.names()))
		}
		delete(all.Servers, c.Name)
		if err := all.save(); err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.Out, "Logged out of %s.\n", c.Name)
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err = fmt.Fprintln(s.Out, "Logged out.")
	return err
}
