package main

import (
	"testing"

	"sluice/db/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }
