package pdfium

import (
	"cmp"
	"context"
	"slices"
	"sort"
)

// sort puts the words of a line in order from left to right. Words that overlap a little, as by kerning, stay in their
// order, so only cells are moved: groups of words with small gaps.
func (n *line) sort() {
	cells := n.cells()
	if len(cells) < 2 {
		return
	}
	slices.SortStableFunc(cells, func(a, b []word) int { return cmp.Compare(a[0].box.left, b[0].box.left) })
	n.words = slices.Concat(cells...)
}

// cells splits the words of a line where the gap to the next one is wide, or the next one is at the left.
func (n *line) cells() (cells [][]word) {
	for i, w := range n.words {
		if i > 0 {
			before := n.words[i-1].box
			height := max(before.height(), w.box.height())
			if space := w.box.left - before.right; space <= cellGap*height && space > -height {
				cells[len(cells)-1] = append(cells[len(cells)-1], w)
				continue
			}
		}
		cells = append(cells, []word{w})
	}
	return cells
}

// orderTurned puts lines that PDFium has from the last to the first into order. It sorts the lines of a page as if all were
// upright, so those that are turned may come out in reverse.
func orderTurned(lines []line) []line {
	for start := 0; start < len(lines); {
		end := start + 1
		for end < len(lines) && lines[end].turn == lines[start].turn {
			end++
		}
		if turn := lines[start].turn; turn > 0 {
			orderBlock(lines[start:end])
		}
		start = end
	}
	return lines
}

// orderBlock sorts lines from top to bottom, if most follow one that is below.
func orderBlock(lines []line) {
	up := 0
	for i := 1; i < len(lines); i++ {
		if lines[i].box.bottom > lines[i-1].box.bottom {
			up++
		}
	}
	if up*2 > len(lines)-1 {
		slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(b.box.bottom, a.box.bottom) })
	}
}

// joinColumns joins the columns of tables that a file has column by column. Lines that run down the page are a block; the
// next block, which begins further up, is its next column if their lines are on the same heights. Columns of running
// text are read one after the other, so they stay apart; see isTable.
func joinColumns(lines []line) []line {
	var done, block []line
	for start := 0; start < len(lines); {
		end := start + 1
		for end < len(lines) && lines[end].turn == lines[start].turn && lines[end].box.top < lines[end-1].box.top {
			end++
		}
		next := lines[start:end]
		start = end
		if joined, ok := joinColumn(block, next); ok {
			block = joined
			continue
		}
		done, block = append(done, block...), slices.Clone(next)
	}
	return append(done, block...)
}

// minRows is how many rows two blocks need in common to be columns of a table.
const minRows = 2

// joinColumn adds the lines of a column to the lines of a block on the same heights, if both are a table.
func joinColumn(block, column []line) ([]line, bool) {
	if len(block) < minRows || len(column) < minRows || block[0].turn != column[0].turn {
		return nil, false
	}
	pairs := map[int]int{} // index in column by that in block
	var left, right []line
	for i, c := range column {
		at := sort.Search(len(block), func(j int) bool { return block[j].box.bottom <= c.box.bottom+c.box.height()/2 })
		if at == len(block) || block[at].box.overlap(c.box) < sameLineOverlap {
			continue
		}
		if gap(block[at].box, c.box) < 0 {
			return nil, false // printed over each other
		}
		if _, taken := pairs[at]; !taken {
			pairs[at] = i
			left, right = append(left, block[at]), append(right, c)
		}
	}
	const most = 0.8 // the rest are cells without a neighbor
	if len(pairs) < minRows || float64(len(pairs)) < most*float64(min(len(column), len(block))) || !isTable(left, right) {
		return nil, false
	}
	joined := make([]line, 0, len(block)+len(column)-len(pairs))
	used := map[int]bool{}
	for i, n := range block {
		if c, has := pairs[i]; has {
			used[c] = true
			n = line{words: slices.Concat(n.words, column[c].words), box: n.box.with(column[c].box), turn: n.turn}
			n.sort()
		}
		joined = append(joined, n)
	}
	for i, c := range column {
		if !used[i] {
			joined = append(joined, c)
		}
	}
	slices.SortStableFunc(joined, func(a, b line) int { return cmp.Compare(b.box.bottom, a.box.bottom) })
	return joined, true
}

// isTable reports whether lines side by side are rows of a table: one of the two has numbers or single words, and neither
// is running text, whose lines are long and about as wide as each other.
func isTable(left, right []line) bool {
	return !isProse(left) && !isProse(right) && (isShort(left) || isShort(right))
}

// isProse reports whether lines are running text: most have several words, and most fill the width.
func isProse(lines []line) bool {
	const words, fill = 4, 0.7
	width, many, full := 0.0, 0, 0
	for _, n := range lines {
		width = max(width, n.box.right-n.box.left)
	}
	for _, n := range lines {
		if len(n.words) >= words && len(n.cells()) == 1 {
			many++
		}
		if n.box.right-n.box.left >= fill*width {
			full++
		}
	}
	return many*2 > len(lines) && full*2 > len(lines)
}

// isShort reports whether most lines end with a number or short word, as in a column of a table.
func isShort(lines []line) bool {
	const characters = 12
	short := 0
	for _, n := range lines {
		cells := n.cells()
		last := cells[len(cells)-1]
		if size := last[len(last)-1].end - last[0].start; size <= characters && len(last) <= 2 {
			short++
		}
	}
	return short*4 >= len(lines)*3
}

// write returns the text of lines.
func (l *layout) write(ctx context.Context, lines []line) ([]uint16, error) {
	out := make([]uint16, 0, len(l.units))
	tabs := skippedColumns(lines)
	for i := range lines {
		if i > 0 {
			out = append(out, '\n')
			if apart(&lines[i-1], &lines[i]) {
				out = append(out, '\n')
			}
		}
		for j, w := range lines[i].words {
			if j > 0 {
				space, err := l.between(ctx, lines[i].words[j-1], w)
				if err != nil {
					return nil, err
				}
				out = append(out, space...)
				for range tabs[w.start] {
					out = append(out, '\t')
				}
			}
			out = append(out, l.characters(lines[i].words, j)...)
		}
	}
	return out, nil
}

// shiftedGap is the gap before a raised or lowered word that belongs to the word before it, as a part of the height of a
// line.
const shiftedGap = 0.2

// Raised and lowered digits and signs, by the usual ones.
var (
	raisedDigits  = map[uint16]uint16{'0': '⁰', '1': '¹', '2': '²', '3': '³', '4': '⁴', '5': '⁵', '6': '⁶', '7': '⁷', '8': '⁸', '9': '⁹', '+': '⁺', '-': '⁻', '−': '⁻', '–': '⁻'}
	loweredDigits = map[uint16]uint16{'0': '₀', '1': '₁', '2': '₂', '3': '₃', '4': '₄', '5': '₅', '6': '₆', '7': '₇', '8': '₈', '9': '₉', '+': '₊', '-': '₋', '−': '₋'}
)

// characters returns the characters of a word of a line. Raised and lowered digits have characters of their own, since
// 10⁶ is not 106.
func (l *layout) characters(words []word, i int) []uint16 {
	w := words[i]
	from, raised := w.shifted, w.raised
	if from == w.end && i > 0 && !askew(w.turn) && gap(words[i-1].box, w.box) < shiftedGap*words[i-1].box.height() {
		var shifted bool
		if shifted, raised = w.box.shifted(words[i-1].box); shifted {
			from = w.start
		}
	}
	units := l.units[w.start:w.end]
	digits := loweredDigits
	if raised {
		digits = raisedDigits
	}
	if from == w.end || slices.ContainsFunc(l.units[from:w.end], func(u uint16) bool { return digits[u] == 0 }) {
		return units
	}
	units = slices.Clone(units)
	for j := from - w.start; j < len(units); j++ {
		units[j] = digits[units[j]]
	}
	return units
}

// skippedColumns returns how many empty cells precede a word in its row, by the index of its first character. Rows of a
// table that follow one another have the same columns; a cell that lies under the third one is the third, even if the second
// is empty.
func skippedColumns(lines []line) map[int]int {
	skipped := map[int]int{}
	for start := 0; start < len(lines); {
		end := start
		for end < len(lines) && lines[end].turn == lines[start].turn && len(lines[end].cells()) > 1 && (end == start || !apart(&lines[end-1], &lines[end])) {
			end++
		}
		if end-start >= minRows {
			alignRows(lines[start:end], skipped)
		}
		start = max(end, start+1)
	}
	return skipped
}

// span is the horizontal extent of a cell or column.
type span struct{ left, right float64 }

// alignRows finds the columns of rows and records the empty cells. Columns are where cells lie below one another. Cells
// that span several columns, such as headings, would join them: then nothing is recorded.
func alignRows(rows []line, skipped map[int]int) {
	var columns []span
	most := 0
	for i := range rows {
		cells := rows[i].cells()
		most = max(most, len(cells))
		for _, c := range cells {
			columns = append(columns, cellSpan(c))
		}
	}
	columns = joinSpans(columns)
	if len(columns) != most {
		return
	}
	for i := range rows {
		before := -1
		for _, c := range rows[i].cells() {
			at := sort.Search(len(columns), func(j int) bool { return columns[j].right >= cellSpan(c).right })
			if before >= 0 && at > before+1 {
				skipped[c[0].start] = at - before - 1
			}
			before = at
		}
	}
}

// cellSpan returns the extent of a cell.
func cellSpan(words []word) span {
	s := span{words[0].box.left, words[0].box.right}
	for _, w := range words {
		s = span{min(s.left, w.box.left), max(s.right, w.box.right)}
	}
	return s
}

// joinSpans joins spans that overlap, and returns the rest from left to right.
func joinSpans(list []span) (joined []span) {
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.left, b.left) })
	for _, s := range list {
		if n := len(joined); n > 0 && s.left <= joined[n-1].right {
			joined[n-1].right = max(joined[n-1].right, s.right)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

// between returns the separator of two words on one line.
func (l *layout) between(ctx context.Context, a, b word) ([]uint16, error) {
	height := max(a.box.height(), b.box.height())
	if a.turn != b.turn { // on a curve
		return []uint16{' '}, nil
	}
	if gap(a.box, b.box) > cellGap*height {
		return []uint16{'\t'}, nil
	}
	if askew(a.turn) {
		return []uint16{' '}, nil
	}
	if shifted, _ := b.box.shifted(a.box); shifted && gap(a.box, b.box) < shiftedGap*height {
		return nil, nil
	}
	if gap(a.box, b.box) > maxLetterGap*height { // the ink is even further apart
		return []uint16{' '}, nil
	}
	joined, err := l.adjoin(ctx, a.end-1, b.start, a.turn)
	if err != nil || joined {
		return nil, err
	}
	return []uint16{' '}, nil
}

// apart reports whether two lines belong to different paragraphs.
func apart(a, b *line) bool {
	if a.turn != b.turn {
		return true
	}
	last, first := a.words[len(a.words)-1].box, b.words[0].box
	height := max(last.height(), first.height())
	distance := max(last.bottom-first.bottom, first.bottom-last.bottom)
	limit := float64(paragraphGap)
	if len(a.cells()) > 1 && len(b.cells()) > 1 {
		limit = rowGap
	}
	return height > 0 && distance > limit*height
}
