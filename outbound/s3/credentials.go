package s3

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// renewBefore is how long before their end temporary keys are replaced.
	renewBefore = 5 * time.Minute
	// sourceTimeout bounds a request for temporary keys.
	sourceTimeout = 5 * time.Second
	// maxAnswer bounds the answer to a request for temporary keys and other small answers, in bytes.
	maxAnswer = 1 << 20

	instanceAddr  = "169.254.169.254" // metadata of EC2 instances
	containerAddr = "169.254.170.2"   // metadata of ECS containers
)

// errNoCredentials is returned if no source has an access key.
var errNoCredentials = errors.New("there is no access key: set SLUICE_FILES_KEY_ID and SLUICE_FILES_SECRET, or AWS's own variables, or run with a role")

// Sources find access keys, in this order: those given, the variables AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY, a role by web identity, AWS's shared file, the container's role, the instance's
// role. Temporary ones are kept until they are about to end. It is safe for concurrent use.
type Sources struct {
	given    Credentials
	region   string
	env      func(string) string
	public   *http.Client // to the token service
	metadata *http.Client // to the two metadata addresses only
	hosts    struct{ instance, container string }

	mu      sync.Mutex
	current *Credentials
}

// NewSources returns the sources. given may be zero.
func NewSources(given Credentials, region string) *Sources {
	s := &Sources{given: given, region: region, env: os.Getenv}
	s.public = &http.Client{Timeout: 2 * sourceTimeout, CheckRedirect: noRedirect, Transport: newTransport(nil)}
	s.metadata = &http.Client{Timeout: sourceTimeout, CheckRedirect: noRedirect, Transport: newTransport(onlyMetadata)}
	s.hosts.instance, s.hosts.container = "http://"+instanceAddr, "http://"+containerAddr
	return s
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// onlyMetadata is the control function of a dialer that may reach the metadata services only.
func onlyMetadata(_, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil || target.Port() != 80 || target.Addr().String() != instanceAddr && target.Addr().String() != containerAddr {
		return errors.New("this client may reach the metadata services only")
	}
	return nil
}

// newTransport returns a transport whose dialer passes each resolved address to control.
func newTransport(control func(string, string, syscall.RawConn) error) *http.Transport {
	dialer := &net.Dialer{Timeout: sourceTimeout, Control: control}
	return &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: sourceTimeout, DisableCompression: true,
		MaxIdleConns: 256, MaxIdleConnsPerHost: 256, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		ExpectContinueTimeout: time.Second,
	}
}

// Find returns an access key. fresh is set after the storage has rejected the current one as expired.
func (s *Sources) Find(ctx context.Context, now time.Time, fresh bool) (*Credentials, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.current
	if c != nil && !fresh && (c.Expires.IsZero() || now.Add(renewBefore).Before(c.Expires)) {
		return c, nil
	}
	found, err := s.look(ctx)
	if err != nil && c != nil && now.Before(c.Expires) {
		return c, nil // the source is down for a moment, and the key is still valid
	}
	if err != nil {
		return nil, err
	}
	s.current = found
	return found, nil
}

// look asks the sources in their order.
func (s *Sources) look(ctx context.Context) (*Credentials, error) {
	if s.given.KeyID != "" {
		return &s.given, nil
	}
	if id := s.env("AWS_ACCESS_KEY_ID"); id != "" {
		return &Credentials{KeyID: id, Secret: s.env("AWS_SECRET_ACCESS_KEY"), Token: s.env("AWS_SESSION_TOKEN")}, nil
	}
	if file := s.env("AWS_WEB_IDENTITY_TOKEN_FILE"); file != "" {
		return s.webIdentity(ctx, file)
	}
	if c, err := s.sharedFile(); c != nil || err != nil {
		return c, err
	}
	if path := s.env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); path != "" {
		return s.role(ctx, s.hosts.container+"/"+strings.TrimPrefix(path, "/"), nil)
	}
	if strings.EqualFold(s.env("AWS_EC2_METADATA_DISABLED"), "true") {
		return nil, errNoCredentials
	}
	return s.instance(ctx)
}

// webIdentity exchanges the token in a file, such as that of a Kubernetes service account, for a key.
func (s *Sources) webIdentity(ctx context.Context, file string) (*Credentials, error) {
	token, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read AWS_WEB_IDENTITY_TOKEN_FILE: %w", err)
	}
	form := url.Values{"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "RoleArn": {s.env("AWS_ROLE_ARN")},
		"RoleSessionName": {cmp.Or(s.env("AWS_ROLE_SESSION_NAME"), "sluice")}, "WebIdentityToken": {strings.TrimSpace(string(token))}}
	endpoint := cmp.Or(s.env("AWS_ENDPOINT_URL_STS"), "https://sts."+s.region+".amazonaws.com")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(endpoint, "/")+"/", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	data, err := fetch(s.public, req)
	if err != nil {
		return nil, fmt.Errorf("assume the role AWS_ROLE_ARN: %w", err)
	}
	var answer struct {
		Key struct {
			ID      string    `xml:"AccessKeyId"`
			Secret  string    `xml:"SecretAccessKey"`
			Token   string    `xml:"SessionToken"`
			Expires time.Time `xml:"Expiration"`
		} `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
	}
	if err := xml.Unmarshal(data, &answer); err != nil || answer.Key.ID == "" {
		return nil, errors.New("assume the role AWS_ROLE_ARN: the answer has no access key")
	}
	return &Credentials{answer.Key.ID, answer.Key.Secret, answer.Key.Token, answer.Key.Expires}, nil
}

// sharedFile reads the profile AWS_PROFILE from AWS's shared credentials file. It returns nil if there
// is no file or no such profile.
func (s *Sources) sharedFile() (*Credentials, error) {
	path := s.env("AWS_SHARED_CREDENTIALS_FILE")
	if home := s.env("HOME"); path == "" && home != "" {
		path = filepath.Join(home, ".aws", "credentials")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil //nolint:nilerr // most machines have none
	}
	defer f.Close()
	var c Credentials
	profile, section := cmp.Or(s.env("AWS_PROFILE"), "default"), ""
	for lines := bufio.NewScanner(io.LimitReader(f, maxAnswer)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			section = strings.TrimSpace(strings.Trim(line, "[]"))
			continue
		}
		name, value, found := strings.Cut(line, "=")
		if section != profile || !found {
			continue
		}
		switch value = strings.TrimSpace(value); strings.TrimSpace(name) {
		case "aws_access_key_id":
			c.KeyID = value
		case "aws_secret_access_key":
			c.Secret = value
		case "aws_session_token":
			c.Token = value
		}
	}
	if c.KeyID == "" {
		return nil, nil
	}
	return &c, nil
}

// instance returns the key of the instance's role. It first gets a token (IMDSv2), which requests that
// were forwarded from elsewhere cannot do.
func (s *Sources) instance(ctx context.Context) (*Credentials, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, s.hosts.instance+"/latest/api/token", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-aws-ec2-metadata-token-ttl-seconds", "60")
	token, err := fetch(s.metadata, req)
	if err != nil {
		return nil, fmt.Errorf("%w (no instance role either: %w)", errNoCredentials, err)
	}
	header := http.Header{"X-Aws-Ec2-Metadata-Token": {string(token)}}
	const path = "/latest/meta-data/iam/security-credentials/"
	if req, err = http.NewRequestWithContext(ctx, http.MethodGet, s.hosts.instance+path, nil); err != nil {
		return nil, err
	}
	req.Header = header
	roles, err := fetch(s.metadata, req)
	if err != nil {
		return nil, fmt.Errorf("find the role of the instance: %w", err)
	}
	role, _, _ := strings.Cut(strings.TrimSpace(string(roles)), "\n")
	return s.role(ctx, s.hosts.instance+path+url.PathEscape(role), header)
}

// role reads a key from a metadata service.
func (s *Sources) role(ctx context.Context, address string, header http.Header) (*Credentials, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header
	}
	data, err := fetch(s.metadata, req)
	if err != nil {
		return nil, fmt.Errorf("get the access key of the role: %w", err)
	}
	var key struct {
		AccessKeyID     string `json:"AccessKeyId"`
		SecretAccessKey string
		Token           string
		Expiration      time.Time
	}
	if err := json.Unmarshal(data, &key); err != nil || key.AccessKeyID == "" {
		return nil, errors.New("get the access key of the role: the answer has none")
	}
	return &Credentials{key.AccessKeyID, key.SecretAccessKey, key.Token, key.Expiration}, nil
}

// fetch returns the body of a response with status 200.
func fetch(client *http.Client, req *http.Request) ([]byte, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered with status %d", req.URL.Host, resp.StatusCode)
	}
	return data, err
}
