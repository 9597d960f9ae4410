package cases_test

import (
	"testing"

	"sluice/handlers/webtest"
)

func TestMain(m *testing.M) { webtest.Main(m) }
