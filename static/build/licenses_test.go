package main

import (
	"path/filepath"
	"strings"
	"testing"
)

const mit = "Permission is hereby granted, free of\ncharge, to any person obtaining a copy of this software"

func TestLicenseOf_refuses_what_must_not_be_contained(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		c    component
		want string // license, or "" for an error
	}{
		"MIT":                     {component{text: mit}, "MIT"},
		"two licenses":            {component{text: mit + "\nand: Redistribution and use in source and binary forms"}, "BSD-2-Clause and MIT"},
		"MPL names the GPL":       {component{text: "Mozilla Public License Version 2.0\n… the GNU General Public License, Version 2.0"}, "MPL-2.0"},
		"a name without a text":   {component{license: "0BSD"}, "0BSD"},
		"a notice":                {component{text: "Copyright Ada", license: notice}, notice},
		"a choice":                {component{name: "kernel.org/pub/linux/libs/security/libcap/psx v1.2.78", text: "BSD or the GNU General Public License"}, "BSD-3-Clause"},
		"GPL":                     {component{text: "GNU General Public License\nVersion 3"}, ""},
		"GPL beside MIT":          {component{text: mit + ", or the GNU Affero General Public License"}, ""},
		"not commercial":          {component{text: mit + ", for non-commercial purposes"}, ""},
		"unknown":                 {component{text: "All rights reserved."}, ""},
		"a name without meaning":  {component{license: "SEE LICENSE IN README"}, ""},
		"neither a name nor text": {component{}, ""},
	} {
		if got, err := licenseOf(test.c); got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestWrite_licenses_groups_equal_texts(t *testing.T) {
	t.Parallel()
	text, err := write([]byte("Own\n"), []component{{name: "b v1", text: mit}, {name: "a v2", text: mit}, {name: "a v2", text: mit}, {name: "c", text: "Mozilla Public License", source: "https://c"}})
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); strings.Count(s, mit) != 1 || !strings.Contains(s, "a v2 (MIT)\nb v1 (MIT)\n\n"+mit) || !strings.Contains(s, "c (MPL-2.0)\n    source: https://c\n") || !strings.HasPrefix(s, "Sluice\n\nOwn\n") {
		t.Error(s)
	}
}

func TestLicenseTexts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"LICENSE": "\n a \r\n\n", "License.txt": "b", "NOTICE": "c", "COPYING": "d", "license.go": "x", "README": "x", "LICENSE_TEST262": "x"} {
		put(t, filepath.Join(dir, name), text)
	}
	texts, err := licenseTexts(dir)
	var got []string
	for _, c := range texts {
		got = append(got, c.license+c.text)
	}
	if err != nil || strings.Join(got, "|") != "d| a|b|noticec" {
		t.Errorf("%q, %v", got, err)
	}
}
