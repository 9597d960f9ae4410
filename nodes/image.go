package nodes

import (
	"context"
	"errors"
	"fmt"

	"sluice/flow"
	"sluice/providers"
)

var (
	// imageFormats and backgrounds are options of fields, spelled as in the providers' APIs.
	imageFormats = []string{"png", "jpeg", "webp"}
	backgrounds  = []string{"auto", "transparent", "opaque"}
)

// maxMade is the maximum number of images per call: OpenAI's limit.
const maxMade = 10

// The image kind generates images from a prompt, or edits existing ones.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "image", Title: "Image", Group: groupModels, Icon: "image", Class: flow.Outside, Timeout: flow.ModelTimeout,
		Summary: "Generates or edits images from a prompt.",
		Doc: "Generates images from a prompt. With `images`, it edits those instead; with a `mask` too, only where the mask is transparent. " +
			"The images are stored as files of the run.\n\n" +
			"Sizes, qualities and other options differ between models. Only options you set are sent; if a provider rejects one, the error says why.",
		Fields: []flow.Field{
			requiredField(modelField(taskImage, "It must generate images.")),
			{Name: "prompt", Title: "Prompt", Type: flow.FieldArea, Required: true, Template: true,
				Help: "What the image shows, or what to change. Type {{ to insert a value."},
			{Name: "images", Title: "Images", Type: flow.FieldList, Secrets: flow.SecretsInURL, Value: flow.TypeSources,
				Help: "Images to edit (files, URLs or data URLs). None: a new image is made."},
			{Name: "mask", Title: "Mask", Type: flow.FieldFile, Secrets: flow.SecretsInURL, Value: flow.TypeSource, Accept: []string{"image/png"}, More: true,
				Help: "An image whose transparent parts mark where to edit."},
			{Name: "size", Title: "Size", Type: flow.FieldText, Help: "Width and height such as 1024x1024. Default: the model's setting."},
			{Name: "quality", Title: "Quality", Type: flow.FieldText, More: true, Help: "Such as low, medium or high. Default: the model's setting."},
			{Name: "background", Title: "Background", Type: flow.FieldSelect, Options: backgrounds, More: true,
				Help: "Whether the background is transparent. Default: the model's setting."},
			{Name: "format", Title: "Format", Type: flow.FieldSelect, Options: imageFormats, More: true, Help: "The file format. Default: the model's setting."},
			{Name: "count", Title: "Count", Type: flow.FieldInteger, Default: 1, Min: ptr(1), Max: ptr(maxMade), Help: "Images to generate."},
			credentialField,
		},
		Outputs: []flow.Port{
			{Name: "image", Title: "Image", Type: flow.TypeFile, Accept: []string{"image/*"}, Help: "The first image."},
			{Name: "images", Title: "Images", Type: flow.TypeList, Items: flow.TypeFile, Accept: []string{"image/*"}, Help: "All images."},
		},
		Example: flow.Example{
			Config: map[string]any{"model": "openai/gpt-image-1", "prompt": "A poster for {{event}}, flat colors"},
			Ports:  map[string]any{"event": "a summer fair"},
		},
		Sends:  modelDestination,
		Check:  checkModel(taskImage),
		Charge: chargeModel,
		Tool:   &flow.ToolUse{Result: []string{"image"}},
		Run:    func(ctx context.Context, in *flow.In) (flow.Out, error) { return makeImage(ctx, d, in) },
	}
})

// requiredField returns a copy of a field that is required.
func requiredField(f flow.Field) flow.Field {
	f.Required = true
	return f
}

// makeImage runs a step. Usage is returned for failed calls too.
func makeImage(ctx context.Context, d Deps, in *flow.In) (flow.Out, error) {
	r, err := imageRequest(in)
	if err != nil {
		return flow.Out{}, err
	}
	m, err := d.findTarget(ctx, in, taskImage)
	if err != nil {
		return flow.Out{}, err
	}
	r.Model = m.model
	if err := d.addPictures(ctx, in, m, &r); err != nil {
		return flow.Out{}, err
	}
	made, err := d.Providers.Image(ctx, m.at, r)
	var out flow.Out
	var used providers.Usage
	if made != nil {
		used = made.Usage
	}
	m.chargeCall(&out, used, err)
	if err != nil {
		return out, m.failed(ctx, err)
	}
	out.Outputs, err = keepPictures(ctx, in, m, made.Images)
	return out, err
}

// imageRequest reads all fields except the images.
func imageRequest(in *flow.In) (r providers.ImageRequest, err error) {
	r = providers.ImageRequest{Size: in.Text("size"), Quality: in.Text("quality"), Key: in.Key}
	if r.Prompt, err = requiredText(in, "prompt"); err != nil {
		return r, err
	}
	if r.Background, err = optionalChoice(in, "background", backgrounds); err != nil {
		return r, err
	}
	if r.Format, err = optionalChoice(in, "format", imageFormats); err != nil {
		return r, err
	}
	r.Count, err = wholeNumber(in, "count", 1, maxMade)
	return r, err
}

// addPictures adds the images to edit and the mask.
func (d Deps) addPictures(ctx context.Context, in *flow.In, m *target, r *providers.ImageRequest) (err error) {
	if r.Images, err = d.images(ctx, in, "images", false); err != nil {
		return err
	}
	masks, err := d.images(ctx, in, "mask", false)
	switch {
	case err != nil:
		return err
	case len(r.Images) > 0 && !taskEdit.can(m.preset.Capabilities):
		return lacksTask(m.preset, taskEdit)
	case len(masks) > 0 && len(r.Images) == 0:
		return flow.Errorf(flow.CodeInputInvalid, "There is a mask but no image to edit. Set Images.")
	case len(masks) > 0:
		r.Mask = &masks[0]
	}
	return nil
}

// keepPictures stores the images as files of the run. It closes all bodies,
// also after a failure.
func keepPictures(ctx context.Context, in *flow.In, m *target, made []providers.Blob) (map[string]any, error) {
	var files []any
	var failure error
	for i, blob := range made {
		if failure != nil {
			_ = blob.Body.Close() // not read after a failure
			continue
		}
		file, err := m.keep(ctx, in, fmt.Sprintf("image-%d", i+1), blob)
		files, failure = append(files, file), err
	}
	if failure != nil {
		return nil, failure
	}
	if len(files) == 0 {
		return nil, flow.Errorf(flow.CodeOutputInvalid, "%s returned no image. Model: %s.", m.preset.Title, m.ref)
	}
	return map[string]any{"image": files[0], "images": files}, nil
}

// keep stores a file that a model generated with the run.
func (m *target) keep(ctx context.Context, in *flow.In, name string, blob providers.Blob) (any, error) {
	defer blob.Body.Close() //nolint:errcheck // read to its end or given up
	file, err := in.SaveFile(ctx, withEnding(name, blob.MIME), blob.MIME, blob.Body)
	if errors.Is(err, &flow.Error{Code: flow.CodeBodyTooLarge}) {
		return nil, flow.Errorf(flow.CodeOutputInvalid, "The file that %s generated is larger than the limit of a file. Model: %s.", m.preset.Title, m.ref)
	}
	if err != nil {
		return nil, m.failed(ctx, err)
	}
	return file, nil
}
