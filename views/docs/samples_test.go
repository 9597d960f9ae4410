package docs

import (
	"testing"

	"sluice/views/viewtest"
)

var samples = viewtest.Merge(docsSamples)

func TestMain(m *testing.M) { viewtest.Main(m, samples) }

func TestGolden(t *testing.T) { viewtest.Golden(t, samples) }

func TestMarkup(t *testing.T) { viewtest.Markup(t, samples) }

func TestTemplates(t *testing.T) {
	t.Parallel()
	viewtest.Templates(t)
}
