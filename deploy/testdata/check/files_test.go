// Package check checks the files for containers and CI against the types of the programs that read
// them. It is a module of its own, so that Sluice does not depend on these types.
package check

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// setting is the variable of a setting in the declaration of the command line.
var setting = regexp.MustCompile(`env:"([A-Z_]+)"`)

// settings returns the variables that Sluice reads.
func settings(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../../cmd/sluice/config.go")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range setting.FindAllStringSubmatch(string(text), -1) {
		known[m[1]] = true
	}
	if !known["DATABASE_URL"] || !known["SLUICE_ADDR"] {
		t.Fatalf("config.go declares %v", known)
	}
	return known
}

func TestCompose(t *testing.T) {
	t.Parallel()
	load := func(env ...string) (*cli.ProjectOptions, error) {
		return cli.NewProjectOptions([]string{"../../compose.yaml"}, cli.WithEnv(env), cli.WithResolvedPaths(true))
	}
	options, err := load("SLUICE_DOMAIN=flows.example.com", "SLUICE_MASTER_KEY=key", "POSTGRES_PASSWORD=word")
	if err != nil {
		t.Fatal(err)
	}
	p, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	known := settings(t)
	sluice := p.Services["sluice"]
	for name := range sluice.Environment {
		if !known[name] {
			t.Errorf("%s is not a setting of Sluice", name)
		}
	}
	if url := sluice.Environment["DATABASE_URL"]; url == nil || *url != "postgres://sluice:word@postgres:5432/sluice?sslmode=disable" {
		t.Errorf("DATABASE_URL is %v", url)
	}
	if grace := sluice.StopGracePeriod; grace == nil || time.Duration(*grace) < 40*time.Second {
		t.Errorf("the grace period is %v", grace)
	}
	if !sluice.ReadOnly || len(sluice.CapDrop) != 1 || len(sluice.Ports) > 0 || len(p.Services["postgres"].Ports) > 0 {
		t.Error("Sluice or PostgreSQL can do more, or be reached by more, than necessary")
	}
	network := p.Networks["inside"].Ipam.Config[0].Subnet
	if proxies := sluice.Environment["SLUICE_TRUSTED_PROXIES"]; proxies == nil || *proxies != network {
		t.Errorf("trusted are %v in the network %s", proxies, network)
	}
	for _, v := range p.Services["caddy"].Volumes {
		if v.Type == "bind" {
			if _, err := os.Stat(v.Source); err != nil {
				t.Error(err)
			}
		}
	}
	if options, err = load("SLUICE_DOMAIN=flows.example.com"); err == nil {
		_, err = options.LoadProject(context.Background())
	}
	if err == nil || !strings.Contains(err.Error(), "run deploy/compose-init first") {
		t.Errorf("without secrets: %v", err)
	}
}

// decode reads a manifest strictly into its type.
func decode[T any](t *testing.T, file string) T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../kubernetes", file))
	if err != nil {
		t.Fatal(err)
	}
	var into T
	if err := yaml.UnmarshalStrict(text, &into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return into
}

func TestKubernetes(t *testing.T) {
	t.Parallel()
	d := decode[apps.Deployment](t, "deployment.yaml")
	service := decode[core.Service](t, "service.yaml")
	budget := decode[policy.PodDisruptionBudget](t, "disruptionbudget.yaml")
	if d.APIVersion != "apps/v1" || d.Kind != "Deployment" || service.APIVersion != "v1" || service.Kind != "Service" || budget.APIVersion != "policy/v1" || budget.Kind != "PodDisruptionBudget" {
		t.Error("a kind or version does not fit its file")
	}
	labels := d.Spec.Template.Labels
	for name, selector := range map[string]map[string]string{"deployment": d.Spec.Selector.MatchLabels, "service": service.Spec.Selector, "disruption budget": budget.Spec.Selector.MatchLabels} {
		for key, value := range selector {
			if labels[key] != value {
				t.Errorf("the %s selects %s=%s, which no pod has", name, key, value)
			}
		}
	}
	pod := d.Spec.Template.Spec
	c := pod.Containers[0]
	ports := map[string]int32{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
	}
	for _, name := range []string{service.Spec.Ports[0].TargetPort.StrVal, c.StartupProbe.HTTPGet.Port.StrVal, c.LivenessProbe.HTTPGet.Port.StrVal, c.ReadinessProbe.HTTPGet.Port.StrVal} {
		if ports[name] != 8080 {
			t.Errorf("the port %q is %d", name, ports[name])
		}
	}
	env, known := map[string]string{}, settings(t)
	for _, e := range c.Env {
		env[e.Name] = e.Value
		if !known[e.Name] && e.Name != "POD_IP" {
			t.Errorf("%s is not a setting of Sluice", e.Name)
		}
	}
	if env["SLUICE_PEER_ADDR"] != "$(POD_IP):8081" || ports["peers"] != 8081 {
		t.Errorf("peers are asked at %s", env["SLUICE_PEER_ADDR"])
	}
	drain, err := time.ParseDuration(env["SLUICE_DRAIN_DELAY"])
	if grace := pod.TerminationGracePeriodSeconds; err != nil || grace == nil || float64(*grace) < 35+drain.Seconds() {
		t.Errorf("the grace period is too short: %v", err)
	}
	mounted := map[string]string{}
	for _, m := range c.VolumeMounts {
		mounted[m.Name] = m.MountPath
	}
	for _, v := range pod.Volumes {
		if mounted[v.Name] == "" {
			t.Errorf("the volume %s is not mounted", v.Name)
		}
		if v.Secret != nil && (*v.Secret.DefaultMode != 0o400 || env["SLUICE_MASTER_KEY_FILE"] != mounted[v.Name]+"/"+v.Secret.Items[0].Path) {
			t.Errorf("the master key has the mode %o", *v.Secret.DefaultMode)
		}
	}
	if s := c.SecurityContext; !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || s.Capabilities.Drop[0] != "ALL" || !*pod.SecurityContext.RunAsNonRoot || *pod.SecurityContext.FSGroup != *pod.SecurityContext.RunAsGroup {
		t.Error("the container may do more than necessary")
	}
	if mounted["data"] != "/data" || mounted["tmp"] != "/tmp" || *d.Spec.Replicas < 2 {
		t.Errorf("mounted are %v", mounted)
	}
	list := decode[struct {
		APIVersion, Kind, Namespace string
		Resources                   []string
		Images                      []struct{ Name, NewName, NewTag string }
	}](t, "kustomization.yaml")
	files, err := filepath.Glob("../../kubernetes/*.yaml")
	if err != nil || len(list.Resources) != len(files)-1 || list.Images[0].Name != c.Image {
		t.Errorf("the kustomization has %v and %v", list.Resources, list.Images)
	}
	for _, name := range list.Resources {
		if _, err := os.Stat(filepath.Join("../../kubernetes", name)); err != nil {
			t.Error(err)
		}
	}
}

func TestWorkflows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no workflows: %v", err)
	}
	// As a program, because its requirements disagree with those of this module.
	cmd := exec.Command("go", append([]string{"run", "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"}, files...)...)
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
