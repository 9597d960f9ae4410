package providers

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

func answerJSON(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
}

func TestEmbed(t *testing.T) {
	t.Parallel()
	u := setup(t, func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, `{"object":"list","data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2]}],"model":"e","usage":{"prompt_tokens":5,"total_tokens":5}}`)
	})
	r, err := u.client.Embed(brief(t), u.at("openai"), EmbedRequest{Model: "e", Texts: []string{"a", "b"}, Dimensions: 2})
	if err != nil || !reflect.DeepEqual(r, &EmbedResult{Vectors: [][]float64{{1, 2}, {3, 4}}, Usage: Usage{InputTokens: 5}}) {
		t.Fatalf("got %+v, %v", r, err)
	}
	want := map[string]any{"model": "e", "input": []any{"a", "b"}, "encoding_format": "float", "dimensions": 2.0}
	if sent := u.last(t); sent.path != "/v1/embeddings" || !reflect.DeepEqual(sent.json(t), want) {
		t.Errorf("sent %s %s", sent.path, sent.body)
	}
}

func TestEmbedRefuses(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"too few":      `{"data":[{"index":0,"embedding":[1]}]}`,
		"the same":     `{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}`,
		"out of range": `{"data":[{"index":0,"embedding":[1]},{"index":7,"embedding":[1]}]}`,
		"nothing":      `{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[1]}]}`,
		"no JSON":      `<html>`,
	} {
		u := setup(t, func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, answer) })
		_, err := u.client.Embed(brief(t), u.at("openai"), EmbedRequest{Model: "e", Texts: []string{"a", "b"}})
		if e := failure(t, err); e.Class != ClassBadAnswer {
			t.Errorf("%s: got %s %q", name, e.Class, e.Message)
		}
	}
}

var png = "\x89PNG\r\n\x1a\n" + strings.Repeat("pixels", 2000)

func readBlob(t *testing.T, b Blob) string {
	t.Helper()
	data, err := io.ReadAll(b.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestImage(t *testing.T) {
	t.Parallel()
	t.Run("generates", func(t *testing.T) {
		t.Parallel()
		u := setup(t, func(w http.ResponseWriter, _ *http.Request) {
			escaped := strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(png)), "/", `\/`)
			answerJSON(w, fmt.Sprintf(`{"created":1, "note":"a \"b64_json\": b", "data": [ {"b64_json" : "%s","revised_prompt":"cat"}, {"b64_json":"data:image/jpeg;base64,/9j/"} ],"usage":{"input_tokens":3,"output_tokens":400}}`, escaped))
		})
		r, err := u.client.Image(brief(t), u.at("openai"), ImageRequest{Model: "i", Prompt: "a cat", Size: "1024x1024", Quality: "low", Background: "transparent", Format: "png", Count: 2, Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Images) != 2 || r.Images[0].MIME != "image/png" || r.Images[1].MIME != "image/jpeg" || r.Usage != (Usage{InputTokens: 3, OutputTokens: 400}) {
			t.Fatalf("got %+v", r)
		}
		if readBlob(t, r.Images[0]) != png || readBlob(t, r.Images[1]) != "\xff\xd8\xff" {
			t.Error("the pictures differ from those sent")
		}
		want := map[string]any{"model": "i", "prompt": "a cat", "size": "1024x1024", "quality": "low", "background": "transparent", "output_format": "png", "n": 2.0}
		if sent := u.last(t); sent.path != "/v1/images/generations" || sent.header.Get("Idempotency-Key") != "k" || !reflect.DeepEqual(sent.json(t), want) {
			t.Errorf("sent %s %s", sent.path, sent.body)
		}
	})
	t.Run("has the parameters of a provider", func(t *testing.T) {
		t.Parallel()
		for provider, want := range map[string]map[string]any{
			"together": {"model": "i", "prompt": "p", "width": 640.0, "height": 480.0},
			"gemini":   {"model": "i", "prompt": "p", "size": "640x480", "response_format": "b64_json"},
		} {
			u := setup(t, func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, `{"data":[{"b64_json":"AAAA"}]}`) })
			r, err := u.client.Image(brief(t), u.at(provider), ImageRequest{Model: "i", Prompt: "p", Size: "640x480"})
			if err != nil {
				t.Fatal(err)
			}
			readBlob(t, r.Images[0])
			if got := u.last(t).json(t); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: sent %v", provider, got)
			}
		}
	})
	t.Run("edits", func(t *testing.T) {
		t.Parallel()
		u := setup(t, func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, `{"data":[{"b64_json":"AAAA"}]}`) })
		r, err := u.client.Image(brief(t), u.at("openai"), ImageRequest{Model: "i", Prompt: "p", Images: []Media{
			{Name: `c"at.png`, MIME: "image/png", Size: 3, Open: content("cat")}, {Name: "dog.png", MIME: "image/png", Open: content("dog")},
		}, Mask: &Media{Name: "mask.png", MIME: "image/png", Size: 4, Open: content("mask")}})
		if err != nil {
			t.Fatal(err)
		}
		readBlob(t, r.Images[0])
		got := formOf(t, u.last(t))
		want := []string{"image[] c_at.png image/png cat", "image[] dog.png image/png dog", "mask mask.png image/png mask", "model=i", "prompt=p"}
		if !reflect.DeepEqual(got, want) || u.last(t).path != "/v1/images/edits" {
			t.Errorf("sent %q to %s", got, u.last(t).path)
		}
	})
	t.Run("fetches what the answer points to, with the secret only at home", func(t *testing.T) {
		t.Parallel()
		cdn := setup(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/moved" {
				http.Redirect(w, r, "/cat.webp", http.StatusFound)
				return
			}
			w.Header().Set("Content-Type", "image/webp")
			_, _ = io.WriteString(w, "webp")
		})
		var u *upstream
		u = setup(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/files/1.png" {
				w.Header().Set("Content-Type", "image/png")
				_, _ = io.WriteString(w, "own")
				return
			}
			answerJSON(w, `{"data":[{"url":"`+cdn.URL+`/moved"},{"url":"`+u.URL+`/files/1.png"}]}`)
		})
		r, err := u.client.Image(brief(t), u.at("openai"), ImageRequest{Model: "i", Prompt: "p", Count: 2})
		if err != nil {
			t.Fatal(err)
		}
		if r.Images[0].MIME != "image/webp" || readBlob(t, r.Images[0]) != "webp" || readBlob(t, r.Images[1]) != "own" {
			t.Errorf("got %+v", r.Images)
		}
		for _, c := range cdn.asked() {
			if len(c.header["Authorization"]) > 0 {
				t.Error("another host got the secret")
			}
		}
		if u.last(t).header.Get("Authorization") != "Bearer "+secret {
			t.Error("the own host did not get the secret")
		}
	})
}

// formOf lists the parts of a multipart body, files first by name.
func formOf(t *testing.T, c call) []string {
	t.Helper()
	_, params, err := mime.ParseMediaType(c.header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	form, err := multipart.NewReader(strings.NewReader(string(c.body)), params["boundary"]).ReadForm(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, name := range []string{"image", "image[]", "mask", "file"} {
		for _, f := range form.File[name] {
			in, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			data, _ := io.ReadAll(in)
			list = append(list, name+" "+f.Filename+" "+f.Header.Get("Content-Type")+" "+string(data))
		}
	}
	for _, name := range []string{"language", "model", "prompt", "response_format"} {
		for _, v := range form.Value[name] {
			list = append(list, name+"="+v)
		}
	}
	return list
}

func TestSpeech(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	u := setup(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "audio/wav")
		_, _ = io.WriteString(w, "RIFF")
		w.(http.Flusher).Flush()
		<-release
		_, _ = io.WriteString(w, " sound")
	})
	b, err := u.client.Speech(brief(t), u.at("openai"), SpeechRequest{Model: "tts", Text: "Hi", Voice: "coral", Instructions: "calm", Format: "wav", Speed: 1.5, Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	front := make([]byte, 4)
	if _, err := io.ReadFull(b.Body, front); err != nil || string(front) != "RIFF" || b.MIME != "audio/wav" {
		t.Fatalf("got %q %q, %v", front, b.MIME, err)
	}
	close(release) // the body streamed before the answer was complete
	if rest := readBlob(t, *b); rest != " sound" {
		t.Errorf("got %q", rest)
	}
	want := map[string]any{"model": "tts", "input": "Hi", "voice": "coral", "instructions": "calm", "response_format": "wav", "speed": 1.5}
	if sent := u.last(t); sent.path != "/v1/audio/speech" || !reflect.DeepEqual(sent.json(t), want) {
		t.Errorf("sent %s %s", sent.path, sent.body)
	}
}

func TestSpeechWithoutType(t *testing.T) {
	t.Parallel()
	u := setup(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Input string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = io.WriteString(w, "ID3")
	})
	b, err := u.client.Speech(brief(t), u.at("openai_compatible"), SpeechRequest{Model: "tts", Text: "Hi"})
	if err != nil || b.MIME != "audio/mpeg" || readBlob(t, *b) != "ID3" {
		t.Fatalf("got %+v, %v", b, err)
	}
}

func TestTranscribe(t *testing.T) {
	t.Parallel()
	sound := Media{Name: "talk.mp3", MIME: "audio/mpeg", Size: 5, Open: content("sound")}
	for _, c := range []struct {
		name, model, answer string
		sent                []string
		want                TranscribeResult
	}{
		{"verbose", "whisper-1", `{"task":"transcribe","language":"german","duration":2.5,"text":"Guten Tag","segments":[]}`,
			[]string{"file talk.mp3 audio/mpeg sound", "language=de", "model=whisper-1", "prompt=Sluice", "response_format=verbose_json"},
			TranscribeResult{Text: "Guten Tag", Language: "german", Seconds: 2.5}},
		{"plain", "gpt-transcribe", `{"text":"","usage":{"type":"tokens","input_tokens":14,"output_tokens":45,"total_tokens":59}}`,
			[]string{"file talk.mp3 audio/mpeg sound", "language=de", "model=gpt-transcribe", "prompt=Sluice"},
			TranscribeResult{Usage: Usage{InputTokens: 14, OutputTokens: 45}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := setup(t, func(w http.ResponseWriter, r *http.Request) { answerJSON(w, c.answer) })
			r, err := u.client.Transcribe(brief(t), u.at("openai"), TranscribeRequest{Model: c.model, Audio: sound, Language: "de", Prompt: "Sluice"})
			if err != nil || *r != c.want {
				t.Fatalf("got %+v, %v", r, err)
			}
			if got := formOf(t, u.last(t)); !reflect.DeepEqual(got, c.sent) || u.last(t).path != "/v1/audio/transcriptions" {
				t.Errorf("sent %q", got)
			}
			if u.last(t).header.Get("Content-Length") == "" {
				t.Error("the length was not said although it was known")
			}
		})
	}
}

func TestUploadCannotBeRead(t *testing.T) {
	t.Parallel()
	u := setup(t, func(http.ResponseWriter, *http.Request) {})
	for name, m := range map[string]Media{
		"no content": {URL: "https://example.com/a.mp3"},
		"not opened": {Name: "a.mp3", Size: 4, Open: func() (io.ReadCloser, error) { return nil, io.ErrClosedPipe }},
		"broken off": {Name: "a.mp3", Open: func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader("a"), failing{})), nil
		}},
		"wrong sizes": {Name: "a.mp3", Size: 9, Open: content("short")},
	} {
		_, err := u.client.Transcribe(brief(t), u.at("openai"), TranscribeRequest{Model: "w", Audio: m})
		e := failure(t, err)
		if name != "wrong sizes" && e.Class != ClassBadRequest {
			t.Errorf("%s: got %s %q", name, e.Class, e.Message)
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrNoProgress }
