package providers

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// maxImages is the maximum number of images per request: OpenAI's limit.
const maxImages = 10

// Image generates images from a prompt, or edits the given ones. Images in the response are
// stored in temporary files until their bodies are closed; linked images are downloaded as
// their bodies are read. An answer that cannot be used is an error, with a result that has only
// its usage if that is known.
func (c *Client) Image(ctx context.Context, ep Endpoint, req ImageRequest) (*ImageResult, error) {
	s, err := c.open(ep)
	if err != nil {
		return nil, err
	}
	can, cannot := s.preset.Image, "makes no pictures"
	if len(req.Images) > 0 {
		can, cannot = s.preset.ImageEdit, "edits no pictures"
	}
	if err := s.wanted(can, cannot); err != nil {
		return nil, err
	}
	if req.Model == "" || req.Prompt == "" {
		return nil, badRequest("A picture needs a model and a prompt.")
	}
	if req.Count < 0 || req.Count > maxImages {
		return nil, badRequest("One request makes 1 to %d pictures.", maxImages)
	}
	resp, err := s.askImage(ctx, req)
	if err != nil {
		return nil, s.lost(s.forModel(err, req.Model))
	}
	result, err := s.images(ctx, resp)
	if err != nil {
		return result, s.lost(s.forModel(err, req.Model))
	}
	return result, nil
}

// askImage requests new images, or edits if there are images to start from. Edits are sent as a
// multipart form; several images need the field name image[].
func (s *session) askImage(ctx context.Context, req ImageRequest) (*http.Response, error) {
	if len(req.Images) == 0 {
		return s.post(ctx, "images/generations", s.imageFields(req), req.Key)
	}
	u := newUpload()
	for name, value := range s.imageFields(req) {
		u.field(name, fmt.Sprint(value))
	}
	name := "image"
	if len(req.Images) > 1 {
		name = "image[]"
	}
	for _, m := range req.Images {
		u.file(name, m)
	}
	if req.Mask != nil {
		u.file("mask", *req.Mask)
	}
	return s.sendUpload(ctx, "images/edits", u, req.Key)
}

// imageFields returns only the fields that are set, because models reject unknown fields.
func (s *session) imageFields(req ImageRequest) map[string]any {
	fields := map[string]any{"model": req.Model, "prompt": req.Prompt}
	for name, value := range map[string]string{"size": req.Size, "quality": req.Quality, "background": req.Background, "output_format": req.Format} {
		if value != "" {
			fields[name] = value
		}
	}
	if req.Count > 1 {
		fields["n"] = req.Count
	}
	switch s.preset.Name {
	case nameTogether:
		splitSize(fields)
	case nameGemini:
		fields["response_format"] = "b64_json" // the only one its compatible endpoint knows
	}
	return fields
}

// splitSize replaces the size by width and height, as Together requires.
func splitSize(fields map[string]any) {
	size, _ := fields["size"].(string)
	w, h, ok := strings.Cut(size, "x")
	width, werr := strconv.Atoi(w)
	height, herr := strconv.Atoi(h)
	if ok && werr == nil && herr == nil {
		delete(fields, "size")
		fields["width"], fields["height"] = width, height
	}
}

// images reads the response of an image call.
func (s *session) images(ctx context.Context, resp *http.Response) (*ImageResult, error) {
	defer resp.Body.Close() //nolint:errcheck // read to its end or given up
	limit(resp, s.pictures)
	answer, files, err := s.splitImages(resp)
	if err != nil {
		return nil, err
	}
	result := &ImageResult{Usage: answer.Usage.usage()}
	for _, d := range answer.Data {
		blob, err := s.imageBlob(ctx, d.File, d.URL, files)
		if err != nil {
			files.close()
			closeBlobs(result.Images)
			return &ImageResult{Usage: result.Usage}, err
		}
		result.Images = append(result.Images, blob)
	}
	if len(result.Images) == 0 {
		files.close()
		return result, s.notUnderstood()
	}
	return result, nil
}

// imageBlob returns one image of an answer: from the file that it was spooled to, or from the
// link that the answer has instead.
func (s *session) imageBlob(ctx context.Context, file *int, link string, files pictureFiles) (Blob, error) {
	if file != nil && *file >= 0 && *file < len(files) {
		blob, err := files[*file].blob()
		if err == errNoPicture {
			return Blob{}, &Error{Class: ClassBadAnswer, RequestID: s.requestID, Message: s.name + " sent a picture without any content."}
		}
		if err != nil {
			return Blob{}, s.notKept()
		}
		return blob, nil
	}
	if link == "" {
		return Blob{}, s.notUnderstood()
	}
	return s.fetch(ctx, link)
}

// closeBlobs discards images that cannot be returned after an error.
func closeBlobs(blobs []Blob) {
	for _, b := range blobs {
		_ = b.Body.Close() // discarded
	}
}

// fetch downloads a file that a response links to. The secret is sent only to the endpoint's
// own origin, which is also the only one that may be private.
func (s *session) fetch(ctx context.Context, link string) (Blob, error) {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return Blob{}, s.notUnderstood()
	}
	own := u.Scheme == s.base.Scheme && u.Host == s.base.Host
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	if err != nil {
		return Blob{}, s.notUnderstood()
	}
	req.Header = http.Header{"User-Agent": {"Sluice"}}
	if own {
		s.authorize(req.Header)
	}
	resp, err := s.doer.HTTPClient(s.trusted && own).Do(req)
	if err != nil {
		return Blob{}, s.failed(ctx, err)
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return Blob{}, &Error{Class: ClassUnavailable, Status: resp.StatusCode, RequestID: s.requestID,
			Message: "A picture of " + s.name + " could not be fetched (" + statusText(resp.StatusCode) + ")."}
	}
	body := &answerBody{ReadCloser: resp.Body, ctx: ctx, session: s, limit: s.pictures, left: s.pictures}
	return Blob{MIME: mediaType(resp), Body: body}, nil
}
