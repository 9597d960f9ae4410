package providers

import "io"

// EmbedRequest asks for one vector per text.
type EmbedRequest struct {
	Model      string
	Texts      []string
	Dimensions int // 0: the model's own
}

// EmbedResult holds the vectors in the order of the texts.
type EmbedResult struct {
	Vectors [][]float64
	Usage   Usage
}

// ImageRequest asks for images, made from a prompt alone or by editing others.
type ImageRequest struct {
	Model      string
	Prompt     string
	Images     []Media // to edit; empty: generate
	Mask       *Media
	Size       string // such as 1024x1024; empty: the model's default
	Quality    string
	Background string
	Format     string // png, jpeg, webp; empty: the model's default
	Count      int    // default 1
	Key        string
}

// ImageResult holds the images in order.
type ImageResult struct {
	Images []Blob
	Usage  Usage
}

// SpeechRequest asks for a text to be spoken.
type SpeechRequest struct {
	Model        string
	Text         string
	Voice        string
	Instructions string
	Format       string  // mp3, wav, opus, flac, aac; default mp3
	Speed        float64 // 0: the model's default
	Key          string
}

// TranscribeRequest asks for what a recording says.
type TranscribeRequest struct {
	Model    string
	Audio    Media
	Language string // ISO 639-1; empty: found out
	Prompt   string // words that help, such as names
	Key      string
}

// TranscribeResult is what was said.
type TranscribeResult struct {
	Text     string
	Language string // empty when the provider does not say
	Seconds  float64
	Usage    Usage
}

// Blob is content that a model made. Body is read once and must be closed; it
// streams, and fails with an *Error when the content is larger than allowed.
type Blob struct {
	MIME string
	Body io.ReadCloser
}
