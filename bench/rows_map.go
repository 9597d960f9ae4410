package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"slices"
	"time"
)

// mapping returns a flow that runs another one for every item of a list. Its results go to
// a file, so that no response carries them.
func mapping(child string) []byte {
	config := object{"flow": child, "over": []string{"name"}, "concurrency": 64, "results": "file", "on_item_error": "keep"}
	return document("Map", []object{node("list", "input", object{"name": "list", "type": "list"}), node("each", "map", config), node("done", "output", object{"name": "done"})},
		"list.value", "each.input.name", "each.succeeded", "done.value")
}

// delaying returns a flow that waits for an hour.
func delaying() []byte {
	return document("Delay", []object{nameInput(), node("wait", "delay", object{"duration": "1h"}), textOutput()}, "name.value", "wait.value", "wait.value", "out.value")
}

// mapRow measures child runs: how fast the items of one list are, compared with runs that
// callers start, what they take of the memory, and what other workspaces notice of them.
func (b *benchmark) mapRow() {
	for _, on := range b.on {
		if on.instances > 1 {
			continue
		}
		env := []string{"SLUICE_SIGNUP=open", "SLUICE_QUOTA_BYTES=unlimited", "SLUICE_QUOTA_RUNS=unlimited"}
		if on.postgres {
			env = append(env, "DATABASE_URL="+b.database(), "SLUICE_MASTER_KEY="+masterKey)
		}
		s := must(b.newServer(env...))
		func() {
			defer s.kill()
			b.mapOn(s, on)
		}()
	}
}

// mapOn compares a map over many items with as many runs that a client starts:
// throughput, processor time and peak memory. It then measures neighbors, ten times as
// many items, and delays.
func (b *benchmark) mapOn(s *server, on platform) {
	must(s.command([]byte("bench pass phrase\n"), "user", "add", "--email", "owner@example.com", "--password-stdin"))
	child := must(s.publish(greeting()))
	mapID, key := s.prepare(mapping(child))
	call := waiting(child, key, greeted)
	must(requireCorrect(drive([]string{s.addr}, parallel, warmUp, 0, call)))
	for _, items := range []int{b.items, b.items} { // twice, because the speed of machines changes
		s.forgetPeak()
		idle := s.cpuTime()
		plain := must(requireCorrect(drive([]string{s.addr}, parallel, 0, items, call)))
		before := s.peak()
		s.forgetPeak()
		cpu := s.cpuTime()
		plainCPU := (cpu.server - idle.server) / time.Duration(items)
		var took time.Duration
		b.profiling(s, func() { took = s.runMap(mapID, key, items) })
		b.add(fmt.Sprintf("%s items of input → template → output through one map, %s", count(float64(items)), on.title()),
			fmt.Sprintf("%s items/s, %.0f %% of %s runs/s by %d callers; peak memory %+.0f MiB", count(float64(items)/took.Seconds()),
				100*float64(items)/took.Seconds()/plain.rate(), count(plain.rate()), parallel, s.peak()-before),
			"≥ 60 %, ≤ 20 MiB more", cpu.since(s, items)+"; for a plain run "+ms(plainCPU))
	}
	b.neighborOfMap(s, on, mapID, key)
	s.forgetPeak()
	took, before := s.runMap(mapID, key, 10*b.items), s.peak()
	b.add(fmt.Sprintf("%s items through one map, %s", count(float64(10*b.items)), on.title()),
		fmt.Sprintf("%s items/s; peak memory %.0f MiB", count(float64(10*b.items)/took.Seconds()), before), "memory as with a tenth of the items", "")
	b.delays(s, on, key)
}

// neighborOfMap measures short runs of another workspace while a map runs.
func (b *benchmark) neighborOfMap(s *server, on platform, mapID, key string) {
	id, other := must2(s.guest())
	call := waiting(id, other, greeted)
	must(requireCorrect(drive([]string{s.addr}, 1, warmUp, 0, call)))
	alone := must(requireCorrect(drive([]string{s.addr}, 1, 2*time.Second, 0, call)))
	ended := make(chan time.Duration, 1)
	go func() { ended <- s.runMap(mapID, key, 5*b.items) }()
	var times []time.Duration
	for took := time.Duration(0); took == 0; {
		select {
		case took = <-ended:
		default:
			l := must(requireCorrect(drive([]string{s.addr}, 1, time.Second, 0, call)))
			times = append(times, l.times...)
		}
	}
	slices.Sort(times)
	l := &load{times: times}
	b.add(fmt.Sprintf("a short run of another workspace beside a map of %s items, %s", count(float64(5*b.items)), on.title()),
		fmt.Sprintf("p50 %s, p95 %s, p99 %s", ms(l.percentile(.5)), ms(l.percentile(.95)), ms(l.percentile(.99))), "p95 ≤ 600 ms", "alone p95 "+ms(alone.percentile(.95)))
}

// delays starts runs that wait for an hour.
func (b *benchmark) delays(s *server, on platform, key string) {
	u := &burst{server: s, flowID: must(s.publish(delaying())), key: key, last: map[int]string{}}
	var sizes []string
	for range 2 {
		l := must(requireCorrect(u.accept(parallel, 5*b.items)))
		b.errors += l.errors
		w := must(dial(s.addr))
		for bytes.Contains(u.get(w, "/runs?limit=1&status=queued"), []byte(`"run_id"`)) || bytes.Contains(u.get(w, "/runs?limit=1&status=running"), []byte(`"run_id"`)) {
			time.Sleep(100 * time.Millisecond)
		}
		w.close()
		time.Sleep(settleTime)
		sizes = append(sizes, fmt.Sprintf("%.0f MiB", s.rss()))
	}
	b.add(fmt.Sprintf("memory with %s and %s runs that wait in a delay, %s", count(float64(5*b.items)), count(float64(10*b.items)), on.title()),
		fmt.Sprintf("%s and %s", sizes[0], sizes[1]), "equal", "")
}

// runMap maps a list of names and returns how long that took.
func (s *server) runMap(id, key string, items int) time.Duration {
	names := make([]string, items)
	for i := range names {
		names[i] = fmt.Sprintf("m%d", i)
	}
	list := must(json.Marshal(object{"list": names}))
	w := must(dial(s.addr))
	defer w.close()
	start := time.Now()
	status, body, err := w.post(head("POST", "/v1/flow/"+id+"/run", key), list)
	if err != nil || status != 202 {
		check(unexpected(status, body, err))
	}
	_, rest, _ := bytes.Cut(body, []byte(`"run_id":"`))
	runID, _, _ := bytes.Cut(rest, []byte(`"`))
	path := "/v1/flow/" + id + "/run/" + string(runID)
	for waiting := head("GET", path+"?wait=60", key); err == nil; {
		if status, body, err = w.get(waiting); status != 200 || !bytes.Contains(body, []byte(`"ended_at":null`)) {
			break
		}
	}
	if err == nil {
		status, body, err = w.get(head("GET", path+"/result", key))
	}
	if want := fmt.Sprintf(`"done":%d`, items); err != nil || status != 200 || !bytes.Contains(body, []byte(want)) {
		check(unexpected(status, body, err))
	}
	return time.Since(start)
}

// forgetPeak lets peak begin at the memory that the process has now; see proc_pid_clear_refs(5).
func (s *server) forgetPeak() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("5"), 0)
}

// keyText finds the secret of a new key on the page that shows it once.
var keyText = regexp.MustCompile(`slu_[A-Za-z0-9_-]{20,}`)

// guest signs up, which makes a workspace, and publishes the greeting flow there.
func (s *server) guest() (flowID, key string, err error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return "", "", err
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if _, err := text(browser.PostForm("http://"+s.addr+"/sign-up", url.Values{"name": {"Kim"}, "email": {"kim@example.com"}, "password": {"another pass phrase"}, "workspace": {"Guests"}})); err != nil {
		return "", "", err
	}
	page, err := text(browser.PostForm("http://"+s.addr+"/keys", url.Values{"name": {"bench"}, "scope": {"run", "read", "manage", "edit"}, "reach": {"all"}, "expires": {"never"}}))
	if key = keyText.FindString(page); err != nil || key == "" {
		return "", "", fmt.Errorf("no key was created: %w\n%.500s", err, page)
	}
	w, err := dial(s.addr)
	if err != nil {
		return "", "", err
	}
	defer w.close()
	status, body, err := w.post(head("POST", "/v1/apply", key), must(json.Marshal(object{"documents": []json.RawMessage{greeting()}, "publish": true})))
	if err != nil || status != 200 {
		return "", "", unexpected(status, body, err)
	}
	return "greet", key, nil
}

// text reads the body of a response. It takes the results of a call of net/http, and
// returns an error of that call as it is.
func text(resp *http.Response, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return string(data), err
}

// must2 is must for two results.
func must2[T, U any](v T, u U, err error) (T, U) {
	check(err)
	return v, u
}
