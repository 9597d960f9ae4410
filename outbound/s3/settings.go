// Package s3 stores objects in one bucket of an S3-compatible object storage. It owns the signatures
// of requests, the sources of access keys, retries, and the reading of errors. It must not know what
// the objects are.
//
// Its connections may reach private addresses and follow no redirects, because the operator chose the
// endpoint. No flow can use them.
package s3

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Settings say where a bucket is.
type Settings struct {
	Bucket   string
	Prefix   string // of all keys; empty or ending with "/"
	Endpoint *url.URL
	Region   string
	// PathStyle puts the name of the bucket into the path of URLs instead of the host name.
	PathStyle bool
	// ReadOnly is set if nothing new is to be stored, while objects are moved away.
	ReadOnly bool
}

var (
	bucketForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	prefixForm = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$`)
	regionForm = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)
)

// parameters are the names that the query of a URL of settings may have.
var parameters = []string{"endpoint", "path_style", "readonly", "region"}

// ParseSettings parses a URL such as
// s3://BUCKET/PREFIX?endpoint=https://storage.example.com&region=eu-central-1&path_style=true.
func ParseSettings(text string) (s Settings, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.User != nil || u.Fragment != "" {
		return s, errors.New("write it as s3://BUCKET/PREFIX?endpoint=URL&region=REGION; access keys have settings of their own")
	}
	s.Bucket, s.Prefix = u.Host, strings.Trim(u.Path, "/")
	if !bucketForm.MatchString(s.Bucket) {
		return s, fmt.Errorf("%q is not the name of a bucket", s.Bucket)
	}
	if s.Prefix != "" {
		if !prefixForm.MatchString(s.Prefix) || slices.Contains(strings.Split(s.Prefix, "/"), "..") {
			return s, fmt.Errorf("the prefix %q may only contain letters, digits, '_', '.', '-' and '/'", s.Prefix)
		}
		s.Prefix += "/"
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return s, errors.New("the part after '?' cannot be read")
	}
	for name, values := range query {
		if !slices.Contains(parameters, name) || len(values) > 1 {
			return s, fmt.Errorf("%q is unknown or given twice; there are %s", name, strings.Join(parameters, ", "))
		}
	}
	s.Region = cmp.Or(query.Get("region"), os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), "us-east-1")
	if !regionForm.MatchString(s.Region) {
		return s, fmt.Errorf("%q is not a region", s.Region)
	}
	if s.Endpoint, err = parseEndpoint(cmp.Or(query.Get("endpoint"), "https://s3."+s.Region+".amazonaws.com")); err != nil {
		return s, err
	}
	if s.ReadOnly, err = parseSwitch(query, "readonly"); err != nil {
		return s, err
	}
	if s.PathStyle, err = parseSwitch(query, "path_style"); err != nil {
		return s, err
	}
	// Certificates for *.endpoint do not cover names with dots, and an IP address has no subdomains.
	s.PathStyle = s.PathStyle || strings.Contains(s.Bucket, ".") || net.ParseIP(s.Endpoint.Hostname()) != nil || s.Endpoint.Hostname() == "localhost"
	return s, nil
}

func parseEndpoint(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, fmt.Errorf("the endpoint %q is not a URL such as https://storage.example.com, without a path", text)
	}
	u.Path = ""
	return u, nil
}

// parseSwitch reads a parameter that is "true" or "false"; the default is false.
func parseSwitch(query url.Values, name string) (bool, error) {
	switch value := query.Get(name); value {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, fmt.Errorf("%s is %q; write true or false", name, value)
	}
}

// urlOf returns the URL of a key, or of the bucket if the key is empty.
func (s *Settings) urlOf(key string) *url.URL {
	u := *s.Endpoint
	u.Path = "/"
	if s.PathStyle {
		u.Path += s.Bucket + "/"
	} else {
		u.Host = s.Bucket + "." + u.Host
	}
	if key != "" {
		u.Path += s.Prefix + key
	}
	return &u
}

// Name returns the bucket and prefix for messages.
func (s *Settings) Name() string { return s.Bucket + "/" + s.Prefix + " at " + s.Endpoint.Host }
