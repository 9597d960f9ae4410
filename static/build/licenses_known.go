package main

import (
	"fmt"
	"slices"
	"strings"
)

// knownLicenses recognize the texts of licenses that permit distribution in a program under another
// license. The words of a text are compared in any case, with single spaces between them.
var knownLicenses = []struct{ name, words string }{
	{"Apache-2.0", "Apache License Version 2.0, January 2004"},
	{"Apache-2.0", "Licensed under the Apache License, Version 2.0"},
	{"BSD-3-Clause", "may be used to endorse or promote products derived from"},
	{"BSD-2-Clause", "Redistribution and use in source and binary forms"},
	{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted"},
	{"ISC", "Permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted"},
	{"Unicode-3.0", "UNICODE LICENSE V3"},
	{"FTL", "The FreeType Project LICENSE"},
	{"IJG", "the work of the Independent JPEG Group"},
	{"libpng-2.0", "PNG Reference Library License version 2"},
	{"Zlib", "This software is provided 'as-is', without any express or implied warranty"},
	{"AGG", "Permission to copy, use, modify, sell and distribute this software is granted provided this copyright notice"},
	{"public domain", "in the public domain"},
	{"public domain", "has been dedicated to the public domain"},
	{"Unlicense", "This is free and unencumbered software released into the public domain"},
}

// namedLicenses are the SPDX names that a package without a license file may have.
var namedLicenses = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}

// copyleft are words of licenses that would bind the whole program.
var copyleft = []string{"GNU GENERAL PUBLIC LICENSE", "GNU LESSER GENERAL", "GNU LIBRARY GENERAL", "GNU AFFERO", "SERVER SIDE PUBLIC LICENSE", "BUSINESS SOURCE LICENSE", "ELASTIC LICENSE", "NON-COMMERCIAL", "NONCOMMERCIAL"}

// chosen are components whose text offers a choice or names other licenses, with the license under
// which Sluice contains them.
var chosen = map[string]string{
	"kernel.org/pub/linux/libs/security/libcap/psx": "BSD-3-Clause",      // or the GPL
	"embedded: deploy/glibc":                        "LGPL-2.1-or-later", // may be linked, if it can be replaced: the source of the program is published
}

// licenseOf returns the licenses in a text, or the one that the package names if it has no text. It
// is an error if Sluice must not contain the component, or if that is not known.
func licenseOf(c component) (string, error) {
	if c.text == "" {
		if !slices.Contains(namedLicenses, c.license) {
			return "", fmt.Errorf("%s is under %q, which is not known; see static/build/licenses_known.go", c.name, c.license)
		}
		return c.license, nil
	}
	if c.license == notice {
		return notice, nil
	}
	name := c.name
	if i := strings.LastIndex(name, " v"); i > 0 {
		name = name[:i] // without the version
	}
	if license := chosen[name]; license != "" {
		return license, nil
	}
	text := strings.ToUpper(words(c.text))
	if strings.Contains(text[:min(len(text), 200)], "MOZILLA PUBLIC LICENSE") { // which names the GPL as one that its files may be combined with
		return "MPL-2.0", nil
	}
	limits := strings.ReplaceAll(text, "COMMERCIAL OR NON-COMMERCIAL", "") // as SQLite permits
	for _, w := range copyleft {
		if strings.Contains(limits, w) {
			return "", fmt.Errorf("the license of %s has the words %q; Sluice must not contain it", c.name, w)
		}
	}
	var found []string
	for _, k := range knownLicenses {
		if strings.Contains(text, strings.ToUpper(k.words)) && !slices.Contains(found, k.name) && !(k.name == "BSD-2-Clause" && slices.Contains(found, "BSD-3-Clause")) {
			found = append(found, k.name)
		}
	}
	if len(found) > 0 {
		return strings.Join(found, " and "), nil
	}
	return "", fmt.Errorf("the license of %s is not known; see static/build/licenses_known.go", c.name)
}

// words returns the text as words with single spaces between them, without the marks of comments.
func words(text string) string {
	fields := strings.Fields(text)
	return strings.Join(slices.DeleteFunc(fields, func(w string) bool { return w == "*" || w == "//" || w == "#" }), " ")
}
