package pattern

import (
	"regexp/syntax"
	"slices"
)

// MatchesAll reports whether a pattern is found in every text, such as "", ".*" and "a?". It may miss patterns that list all characters in an
// unusual way.
func MatchesAll(source string) bool {
	re, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return false
	}
	empty := emptyMatches(re)
	return empty.has(0) || empty.has(atBegin) || empty.has(atEnd) || spansAll(re)
}

// What a match of nothing needs. Nothing is found in every text unless it needs both: only the empty text has its end at its beginning.
const (
	atBegin = 1 << iota
	atEnd
)

// needs is the set of what a match of nothing may need, a bit for each combination; 0 means that a pattern matches no empty text.
type needs uint8

func (n needs) has(need int) bool { return n&(1<<need) != 0 }

// emptyMatches returns what an expression needs to match nothing. Boundaries of words count as never met.
func emptyMatches(re *syntax.Regexp) needs {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpStar, syntax.OpQuest:
		return 1
	case syntax.OpBeginLine, syntax.OpBeginText:
		return 1 << atBegin
	case syntax.OpEndLine, syntax.OpEndText:
		return 1 << atEnd
	case syntax.OpRepeat:
		if re.Min == 0 {
			return 1
		}
		return emptyMatches(re.Sub[0])
	case syntax.OpPlus, syntax.OpCapture:
		return emptyMatches(re.Sub[0])
	case syntax.OpAlternate:
		var any needs
		for _, sub := range re.Sub {
			any |= emptyMatches(sub)
		}
		return any
	case syntax.OpConcat:
		return emptySequence(re.Sub)
	}
	return 0
}

// emptySequence returns what expressions need to match nothing one after the other.
func emptySequence(list []*syntax.Regexp) needs {
	all := needs(1)
	for _, sub := range list {
		one, both := emptyMatches(sub), needs(0)
		for a := range 4 {
			for b := range 4 {
				if all.has(a) && one.has(b) {
					both |= 1 << (a | b)
				}
			}
		}
		all = both
	}
	return all
}

// spansAll reports whether an expression has a part for any characters, and nothing before it but the beginning and behind it but the end.
func spansAll(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpCapture:
		return spansAll(re.Sub[0])
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, spansAll)
	case syntax.OpConcat:
		for i, sub := range re.Sub {
			before, behind := emptySequence(re.Sub[:i]), emptySequence(re.Sub[i+1:])
			if isAnything(sub) && (before.has(0) || before.has(atBegin)) && (behind.has(0) || behind.has(atEnd)) {
				return true
			}
		}
	}
	return false
}

// isAnything reports whether an expression matches any number of any characters.
func isAnything(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpCapture:
		return isAnything(re.Sub[0])
	case syntax.OpStar:
		of := re.Sub[0]
		for of.Op == syntax.OpCapture {
			of = of.Sub[0]
		}
		return of.Op == syntax.OpAnyChar || of.Op == syntax.OpCharClass && len(of.Rune) == 2 && of.Rune[0] == 0 && of.Rune[1] == '\U0010FFFF'
	}
	return false
}
