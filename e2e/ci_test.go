package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/e2e/need"
)

// repository is a git repository whose bare origin runs the scripts of docs/ci.md: the
// check for a branch, the deployment for main.
type repository struct {
	*remoteShell
	origin string
}

// ciHook is the CI system: a hook of the origin that checks out what was pushed.
const ciHook = `#!/bin/sh
while read -r old new ref; do
	job=$(mktemp -d)
	git archive "$new" | tar -x -C "$job"
	script=ci/check.sh
	test "$ref" = refs/heads/main && script=ci/deploy.sh
	(cd "$job" && sh "$script") && echo "job passed" || echo "job failed"
	rm -rf "$job"
done
`

func newRepository(t *testing.T, r *remoteShell) *repository {
	t.Helper()
	bin := filepath.Dir(sluice)
	r.env = append(r.env, "PATH="+bin+":"+os.Getenv("PATH"), "REPOSITORY=acme/flows", "TMPDIR="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
	repo := &repository{r, filepath.Join(t.TempDir(), "flows.git")}
	repo.git("init", "-q", "--bare", "-b", "main", repo.origin)
	if err := os.WriteFile(filepath.Join(repo.origin, "hooks", "post-receive"), []byte(ciHook), 0o755); err != nil {
		t.Fatal(err)
	}
	repo.git("init", "-q", "-b", "main")
	repo.git("remote", "add", "origin", repo.origin)
	scripts := shellScripts(t, "../docs/ci.md")
	r.write("ci/check.sh", scripts[0])
	r.write("ci/deploy.sh", scripts[1])
	return repo
}

// shellScripts returns the code samples of a page that are whole scripts.
func shellScripts(t *testing.T, page string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "\n```sh\n")[1:] {
		if code, _, _ := strings.Cut(part, "```"); strings.HasPrefix(code, "#!/bin/sh\n") {
			list = append(list, code)
		}
	}
	if len(list) != 2 {
		t.Fatalf("%s has %d scripts, wanted the check and the deployment", page, len(list))
	}
	return list
}

// git runs git and returns all that it prints, including the log of the job that a push
// starts.
func (r *repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// push commits all files and pushes them to a branch. It returns the log of the job.
func (r *repository) push(branch string) string {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-qm", "Change flows")
	return r.git("push", "-q", "--force", "origin", "HEAD:refs/heads/"+branch)
}

// TestContinuousIntegration follows docs/ci.md: a change of one of 20 flows goes from a commit
// through the check of its branch to a run of the version that the merge published.
func TestContinuousIntegration(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	_, err := exec.LookPath("git")
	need.Tool(t, "git is not installed", err == nil)
	s := newServer(t)
	repo := newRepository(t, remoteTo(t, s, "edit,read,run"))
	for i := range 20 {
		name := fmt.Sprintf("Flow %02d", i)
		repo.write(fmt.Sprintf("flows/flow-%02d.flow.json", i), greet(name, "Hello", "name"))
	}
	repo.must("flow", "fmt", "flows")

	if log := repo.push("main"); !strings.Contains(log, "job passed") || strings.Count(log, "created") != 20 {
		t.Fatalf("the first deployment:\n%s", log)
	}
	says := func(word string) {
		t.Helper()
		if out := repo.must("flow", "run", "flow-07", "-i", "name=Ada"); out != "text: "+word+" Ada!\n" {
			t.Errorf("the run printed %q, wanted %s", out, word)
		}
	}
	says("Hello")

	file := "flows/flow-07.flow.json"
	first := repo.read(file)
	repo.write(file, strings.Replace(first, "Hello", "Good morning", 1))
	if log := repo.push("morning"); !strings.Contains(log, "job passed") || !strings.Contains(log, "19 flows without changes") || !strings.Contains(log, "remote: flow-07") {
		t.Errorf("the check of the branch:\n%s", log)
	}
	says("Hello") // a check changes nothing
	log := repo.git("push", "-q", "origin", "HEAD:refs/heads/main")
	if !strings.Contains(log, "job passed") || strings.Count(log, "unchanged") != 19 || !strings.Contains(log, "flow-07  v2") {
		t.Errorf("the deployment:\n%s", log)
	}
	says("Good morning")

	// A breaking change fails both jobs.
	repo.write(file, strings.Replace(repo.read(file), `"name": "name"`, `"name": "person"`, 1))
	for _, branch := range []string{"rename", "main"} {
		if log := repo.push(branch); !strings.Contains(log, "job failed") || !strings.Contains(log, `key "test"`) {
			t.Errorf("the job of %s:\n%s", branch, log)
		}
		repo.write("README.md", "Flows, pushed to "+branch)
	}
	says("Good morning")

	// The flow of a deleted file is archived.
	repo.git("revert", "--no-edit", "HEAD~1")
	repo.git("rm", "-q", "flows/flow-19.flow.json")
	if log := repo.push("main"); !strings.Contains(log, "job passed") || !strings.Contains(log, "archived   flow-19") || strings.Count(log, "archived") != 1 {
		t.Errorf("the deployment:\n%s", log)
	}
}
