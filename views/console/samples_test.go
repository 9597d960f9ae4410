package console

import (
	"testing"

	"sluice/views/viewtest"
)

var samples = viewtest.Merge(credentialsSamples, deliveriesSamples, flowsSamples, flowListSamples, formSettingsSamples, keysSamples, limitsSamples, runSamples, runsSamples, settingsSamples, usageSamples)

func TestMain(m *testing.M) { viewtest.Main(m, samples) }

func TestGolden(t *testing.T) { viewtest.Golden(t, samples, "flows-toasts") }

func TestMarkup(t *testing.T) { viewtest.Markup(t, samples) }

func TestTemplates(t *testing.T) {
	t.Parallel()
	viewtest.Templates(t)
}
