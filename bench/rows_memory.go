package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	smallMemory    = "SLUICE_MEMORY=512MiB"
	denseRuns      = 80               // runs that read a dense answer
	denseAnswer    = 9 << 20          // bytes of JSON
	longChats      = 24               // conversations with a long message
	longMessage    = 10 << 20         // bytes of text
	largeCallers   = 32               // requests to each route, in parallel
	largeBody      = 31 << 20         // bytes of JSON
	mostAdded      = 64               // MiB that they may add
	memoryPatience = 15 * time.Minute // until everything must have ended
	neighborPause  = 50 * time.Millisecond
)

// crowded is a server with little memory and two workspaces: in one runs and requests need much
// memory, and a neighbor in the other one starts small runs.
type crowded struct {
	*server
	key, cookie string // of the workspace that needs much
	neighbor    call
}

// memoryRow measures servers with 512 MiB whose work would need several GiB at once: one with runs
// that read large answers and conversations with long messages, another one with large requests to
// every route. Everything must end, or be refused with 413 or 503, and the runs of the neighbor must
// stay fast.
func (b *benchmark) memoryRow() {
	for _, measure := range []func(*crowded, *benchmark){(*crowded).runLarge, (*crowded).sendLarge} {
		onServer(func(b *benchmark, s *server) { measure(newCrowded(s), b) },
			smallMemory, allowLoopback, "SLUICE_SIGNUP=open", "SLUICE_QUOTA_BYTES=unlimited", "SLUICE_QUOTA_RUNS=unlimited")(b)
	}
}

// newCrowded signs the owner of a new server in and creates the keys and the flow of the neighbor.
func newCrowded(s *server) *crowded {
	must(s.command([]byte("bench pass phrase\n"), "user", "add", "--email", "owner@example.com", "--password-stdin"))
	c := &crowded{server: s, cookie: s.signIn("owner@example.com", "bench pass phrase")}
	c.key = must(s.command(nil, "key", "create", "--name", "bench", "--scope", "run,read,edit,approve,admin"))
	id, key := must2(s.guest())
	c.neighbor = waiting(id, key, greeted)
	return c
}

// runLarge measures runs that need much memory.
func (c *crowded) runLarge(b *benchmark) {
	answer := dense(`{"id":123456,"ok":true}`, denseAnswer)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(answer)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"read"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer upstream.Close()
	c.readDense(b, upstream.URL)
	c.chatLong(b, upstream.URL+"/v1")
}

// readDense measures runs that read a dense answer and return it.
func (c *crowded) readDense(b *benchmark, url string) {
	id := must(c.publish(document("Read", []object{node("read", "http_request", object{"method": "GET", "url": url + "/dense"}), node("out", "output", object{"name": "body"})},
		"read.body", "out.value")))
	var failed int
	b.profiling(c.server, func() {
		l := c.watch(func(*crowd) {
			for range denseRuns {
				if status, body := c.send(http.MethodPost, "/v1/flow/"+id+"/run", "application/json", []byte("{}"), false); status/100 != 2 {
					check(unexpected(status, body, nil))
				}
			}
			failed = c.awaitRuns(id)
		})
		b.errors += failed
		b.addCrowd(fmt.Sprintf("%d runs that each read %d MiB of dense JSON", denseRuns, denseAnswer>>20), fmt.Sprintf("%d of %d succeeded", denseRuns-failed, denseRuns), "≤ 512 MiB", l)
	})
}

// awaitRuns waits until all runs of a flow have ended and returns how many did not succeed. It lists
// only runs without outputs, because lists contain them.
func (c *crowded) awaitRuns(id string) (failed int) {
	with := func(state string) (n int) {
		status, body := c.send(http.MethodGet, "/v1/flow/"+id+"/runs?limit=100&status="+state, "", nil, false)
		for ; status == http.StatusServiceUnavailable; time.Sleep(time.Second) { // runs of the workspace have the memory
			status, body = c.send(http.MethodGet, "/v1/flow/"+id+"/runs?limit=100&status="+state, "", nil, false)
		}
		if status != http.StatusOK {
			check(unexpected(status, body, nil))
		}
		return bytes.Count(body, []byte(`"run_id"`))
	}
	for start := time.Now(); with("queued")+with("running") > 0; time.Sleep(200 * time.Millisecond) {
		if time.Since(start) > memoryPatience {
			check(fmt.Errorf("the runs have not ended after %s", memoryPatience))
		}
	}
	return with("failed") + with("canceled")
}

// chatLong measures conversations with a long message. Clients repeat requests that the server
// refuses with 503, as it asks them to.
func (c *crowded) chatLong(b *benchmark, url string) {
	must(c.command([]byte("no secret"), "credential", "add", "--name", "bench", "--provider", "openai_compatible", "--base-url", url))
	must(c.publish(chatting("bench")))
	body := must(json.Marshal(object{"model": "ask", "messages": []object{{"role": "user", "content": strings.Repeat("a long text ", longMessage/12)}}}))
	var refused, wrong int
	l := c.watch(func(r *crowd) {
		r.each(longChats, func(int) {
			for {
				status, answer := c.send(http.MethodPost, "/v1/chat/completions", "application/json", body, false)
				if status == http.StatusServiceUnavailable {
					r.count(&refused)
					time.Sleep(time.Second)
					continue
				}
				if status != http.StatusOK || !bytes.Contains(answer, []byte(`"content":"read"`)) {
					r.count(&wrong)
					fmt.Fprintf(os.Stderr, "  %v\n", unexpected(status, answer, nil))
				}
				return
			}
		})
	})
	b.errors += wrong
	b.addCrowd(fmt.Sprintf("%d chats with a message of %d MiB, at once", longChats, longMessage>>20),
		fmt.Sprintf("%d of %d succeeded, after %d refusals with 503", longChats-wrong, longChats, refused), "≤ 512 MiB", l)
}

// large is a request of about largeBody bytes.
type large struct {
	name, method, path, contentType string
	body                            []byte
}

// largeRequests returns requests of dense JSON to every route that reads a body. A list of texts has
// fewer than 1,000,000 values; one of long texts takes little more memory than it has bytes, so that
// routes that accept 32 MiB decode it.
func (c *crowded) largeRequests() (list []large) {
	texts := dense(`"a text of about thirty characters"`, largeBody)
	long := dense(`"`+strings.Repeat("a long text ", 100)+`"`, largeBody)
	id := must(c.publish(greeting()))
	const boundary = "bench"
	part := func(disposition string) []byte {
		return append([]byte("--"+boundary+"\r\nContent-Disposition: form-data; "+disposition+"\r\n\r\n"), append(slices.Clone(texts), "\r\n--"+boundary+"--\r\n"...)...)
	}
	within := func(before string, list []byte, after string) []byte {
		return slices.Concat([]byte(before), list, []byte(after))
	}
	asJSON, asForm, asParts := "application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary="+boundary
	for name, values := range map[string][]byte{"": texts, ", long texts": long} {
		list = append(list,
			large{"chat" + name, http.MethodPost, "/v1/chat/completions", asJSON, within(`{"model":"greet","messages":`, values, "}")},
			large{"chat, model at the end" + name, http.MethodPost, "/v1/chat/completions", asJSON, within(`{"messages":`, values, `,"model":"greet"}`)},
			large{"apply" + name, http.MethodPost, "/v1/apply", asJSON, within(`{"documents":`, values, "}")},
			large{"import" + name, http.MethodPost, "/v1/flow/import", asJSON, within(`{"documents":`, values, "}")})
	}
	list = append(list,
		large{"chat, one text", http.MethodPost, "/v1/chat/completions", asJSON, within(`{"messages":"`, bytes.Repeat([]byte("x"), largeBody), `","model":"greet"}`)},
		large{"MCP", http.MethodPost, "/mcp", asJSON, within(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"name":`, texts, "}}}")},
		large{"upload", http.MethodPost, "/v1/files", asParts, part(`name="file"; filename="list.json"`)},
		large{"edits of the builder", http.MethodPost, "/flows/" + id + "/ops", asJSON, within(`{"ops":`, texts, "}")},
		large{"run of the builder", http.MethodPost, "/flows/" + id + "/run", asParts, part(`name="in.name"`)},
		large{"import page", http.MethodPost, "/flows/import", asParts, part(`name="file"; filename="flow.json"`)},
		large{"sign-in", http.MethodPost, "/sign-in", asForm, texts})
	body := within(`{"list":`, texts, "}")
	for _, r := range c.bodyRoutes() {
		method, path, _ := strings.Cut(r, " ")
		list = append(list, large{r, method, strings.ReplaceAll(path, "{flow_id}", id), asJSON, body})
	}
	return list
}

// bodyRoutes returns the routes of the API that read JSON, as "POST /v1/apply", except those with requests of
// their own.
func (c *crowded) bodyRoutes() (list []string) {
	status, text := c.send(http.MethodGet, "/v1/openapi.json", "", nil, false)
	var api struct {
		Paths map[string]map[string]struct {
			RequestBody struct{ Content map[string]any }
		}
	}
	if status != http.StatusOK {
		check(unexpected(status, text, nil))
	}
	check(json.Unmarshal(text, &api))
	for path, item := range api.Paths {
		for method, operation := range item {
			if operation.RequestBody.Content["application/json"] != nil && path != "/v1/apply" && path != "/v1/flow/import" {
				list = append(list, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(list)
	if len(list) < 10 {
		check(fmt.Errorf("only %d routes read a body: %q", len(list), list))
	}
	return list
}

// sendLarge measures large requests to every route that reads a body. Half of them do not say how long they are.
func (c *crowded) sendLarge(b *benchmark) {
	for _, r := range c.largeRequests() {
		statuses := map[int]int{}
		l := c.watch(func(w *crowd) {
			w.each(largeCallers, func(i int) {
				status, answer := c.send(r.method, r.path, r.contentType, r.body, i%2 == 1)
				w.mu.Lock()
				defer w.mu.Unlock()
				if statuses[status]++; status == 0 || status >= 500 && status != http.StatusServiceUnavailable {
					b.errors++
					fmt.Fprintf(os.Stderr, "  %v\n", unexpected(status, answer, nil))
				}
			})
		})
		if l.peak-l.before > mostAdded {
			b.errors++
		}
		b.addCrowd(fmt.Sprintf("%d requests of %d MiB at once: %s", largeCallers, largeBody>>20, r.name), "status "+strings.Trim(fmt.Sprint(statuses), "map[]"), fmt.Sprintf("adds ≤ %d MiB", mostAdded), l)
	}
}

// dense returns a JSON list of about a size in bytes, which repeats an item. Decoded, it takes several
// times as much memory.
func dense(item string, size int) []byte {
	return []byte("[" + strings.Repeat(item+",", size/(len(item)+1)) + item + "]")
}

// send sends a request with the key, or to the dashboard with the cookie. A chunked one does not say
// how long it is. The status is 0 if no response arrived.
func (c *crowded) send(method, path, contentType string, body []byte, chunked bool) (status int, answer []byte) {
	r := must(http.NewRequest(method, "http://"+c.addr+path, bytes.NewReader(body)))
	if chunked {
		r.ContentLength = -1
	}
	r.Header.Set("Content-Type", contentType)
	if strings.HasPrefix(path, "/v1/") || path == "/mcp" {
		r.Header.Set("Authorization", "Bearer "+c.key)
		r.Header.Set("Accept", "application/json, text/event-stream")
	} else {
		r.Header.Set("Cookie", c.cookie)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		return 0, []byte(err.Error())
	}
	return resp.StatusCode, answer
}

// crowd is work that needs much memory, and what it meant for the server and the neighbor.
type crowd struct {
	mu       sync.Mutex
	took     time.Duration
	before   float64 // MiB of memory before
	peak     float64 // MiB at most
	neighbor *load
}

// each calls f several times at once.
func (w *crowd) each(n int, f func(i int)) {
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { f(i) })
	}
	running.Wait()
}

// count adds one to a counter that callers share.
func (w *crowd) count(n *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*n++
}

// watch does work while the neighbor starts small runs.
func (c *crowded) watch(work func(*crowd)) *crowd {
	time.Sleep(settleTime)
	c.forgetPeak()
	w, stop := &crowd{before: c.rss(), neighbor: &load{}}, make(chan struct{})
	var neighbor sync.WaitGroup
	neighbor.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(neighborPause):
			}
			one, err := drive([]string{c.addr}, 1, 0, 1, c.neighbor) // on a new connection, as after an error
			if err != nil {
				w.neighbor.errors++
				continue
			}
			w.neighbor.times, w.neighbor.errors = append(w.neighbor.times, one.times...), w.neighbor.errors+one.errors
		}
	})
	start := time.Now()
	defer func() {
		w.took = time.Since(start)
		close(stop)
		neighbor.Wait()
		slices.Sort(w.neighbor.times)
		w.peak = c.peak()
	}()
	work(w)
	return w
}

// addCrowd adds a line of the table.
func (b *benchmark) addCrowd(what, result, want string, w *crowd) {
	if w.peak == 0 {
		check(fmt.Errorf("%s: the server was killed", what))
	}
	b.errors += w.neighbor.errors
	b.add(what+", 512 MiB", fmt.Sprintf("%s; %.1f s; at most %.0f MiB (%.0f more than before); a neighbor's run p50 %s, p95 %s, %d errors", result, w.took.Seconds(), w.peak, w.peak-w.before,
		ms(w.neighbor.percentile(.5)), ms(w.neighbor.percentile(.95)), w.neighbor.errors), want+"; p95 ≤ 1 s", "")
}
