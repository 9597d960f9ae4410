package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// sourcesWith returns sources with the given variables, whose metadata services are a server for tests.
func sourcesWith(t *testing.T, env map[string]string, metadata http.HandlerFunc) *Sources {
	t.Helper()
	server := httptest.NewServer(metadata)
	t.Cleanup(server.Close)
	s := NewSources(Credentials{}, "eu-central-1")
	s.env = func(name string) string { return env[name] }
	s.metadata = server.Client()
	s.hosts.instance, s.hosts.container = server.URL, server.URL
	if env["AWS_ENDPOINT_URL_STS"] == "server" {
		env["AWS_ENDPOINT_URL_STS"] = server.URL
	}
	return s
}

func none(w http.ResponseWriter, _ *http.Request) { http.Error(w, "nothing here", 404) }

func TestSources(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	shared := write("credentials", "[default]\naws_access_key_id = D\naws_secret_access_key = DS\n[other]\naws_access_key_id=O\naws_secret_access_key=OS\naws_session_token=OT\n")
	token := write("token", "the-token\n")
	role := func(w http.ResponseWriter) {
		fmt.Fprint(w, `{"AccessKeyId":"R","SecretAccessKey":"RS","Token":"RT","Expiration":"2030-01-01T00:00:00Z"}`)
	}
	for name, test := range map[string]struct {
		env      map[string]string
		metadata http.HandlerFunc
		want     string // key, secret, token
	}{
		"variables":       {map[string]string{"AWS_ACCESS_KEY_ID": "E", "AWS_SECRET_ACCESS_KEY": "ES", "AWS_SHARED_CREDENTIALS_FILE": shared}, none, "E ES "},
		"shared file":     {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": shared}, none, "D DS "},
		"another profile": {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": shared, "AWS_PROFILE": "other"}, none, "O OS OT"},
		"web identity": {map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ROLE_ARN": "arn:x", "AWS_ENDPOINT_URL_STS": "server"}, func(w http.ResponseWriter, r *http.Request) {
			if r.FormValue("WebIdentityToken") != "the-token" || r.FormValue("RoleArn") != "arn:x" || r.FormValue("Action") != "AssumeRoleWithWebIdentity" {
				http.Error(w, "wrong request", 400)
				return
			}
			fmt.Fprint(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>
				<SessionToken>WT</SessionToken><SecretAccessKey>WS</SecretAccessKey><Expiration>2030-01-01T00:00:00Z</Expiration><AccessKeyId>W</AccessKeyId>
				</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`)
		}, "W WS WT"},
		"container": {map[string]string{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/creds"}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/creds" {
				role(w)
			}
		}, "R RS RT"},
		"instance": {map[string]string{}, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
				fmt.Fprint(w, "session")
			case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "session":
				http.Error(w, "no token", http.StatusUnauthorized)
			case r.URL.Path == "/latest/meta-data/iam/security-credentials/":
				fmt.Fprint(w, "my-role")
			case strings.HasSuffix(r.URL.Path, "/my-role"):
				role(w)
			}
		}, "R RS RT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := sourcesWith(t, test.env, test.metadata).Find(t.Context(), time.Now(), false)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.KeyID + " " + c.Secret + " " + c.Token; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if _, err := sourcesWith(t, map[string]string{}, none).Find(t.Context(), time.Now(), false); !errors.Is(err, errNoCredentials) {
		t.Errorf("without any source: %v", err)
	}
}

// TestSources_renew checks that temporary keys are renewed before they end and after a refusal, and are
// used to their end while the source is down.
func TestSources_renew(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var asked atomic.Int64
	var down atomic.Bool
	s := sourcesWith(t, map[string]string{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/creds"}, func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			http.Error(w, "down", 500)
			return
		}
		fmt.Fprintf(w, `{"AccessKeyId":"R%d","SecretAccessKey":"s","Expiration":%q}`, asked.Add(1), now.Add(time.Hour).Format(time.RFC3339))
	})
	want := func(at time.Time, fresh bool, id string) {
		t.Helper()
		c, err := s.Find(t.Context(), at, fresh)
		if err != nil || c.KeyID != id {
			t.Errorf("got %v, %v; want %s", c, err, id)
		}
	}
	want(now, false, "R1")
	want(now.Add(50*time.Minute), false, "R1")
	want(now.Add(50*time.Minute), true, "R2")
	want(now.Add(56*time.Minute), false, "R3")
	down.Store(true)
	want(now.Add(59*time.Minute), false, "R3")
	if _, err := s.Find(t.Context(), now.Add(2*time.Hour), false); err == nil {
		t.Error("an expired key is used")
	}
}

// TestMetadata_client_reaches_nothing_else checks that the client of the metadata services connects to no
// other address.
func TestMetadata_client_reaches_nothing_else(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(none))
	t.Cleanup(server.Close)
	req, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL, nil)
	if _, err := NewSources(Credentials{}, "x").metadata.Do(req); err == nil || !strings.Contains(err.Error(), "metadata services only") {
		t.Errorf("got %v", err)
	}
	for address, ok := range map[string]bool{"169.254.169.254:80": true, "169.254.170.2:80": true, "169.254.169.254:8080": false, "169.254.169.253:80": false, "[::1]:80": false} {
		if err := onlyMetadata("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}
