package knowledge

// dotUnits is how many numbers dotFast multiplies at once.
const dotUnits = 16

// Dot returns the inner product of two vectors of 8-bit numbers of the same length.
func Dot(a, b []byte) int32 {
	b = b[:len(a)]
	if n := len(a) &^ (dotUnits - 1); accelerated && n > 0 {
		return dotFast(&a[0], &b[0], n) + dotPlain(a[n:], b[n:])
	}
	return dotPlain(a, b)
}

// dotPlain uses four sums, because with a single one every addition would wait for the previous one.
func dotPlain(a, b []byte) int32 {
	var s0, s1, s2, s3 int32
	for len(a) >= 8 && len(b) >= 8 {
		s0 += int32(int8(a[0]))*int32(int8(b[0])) + int32(int8(a[4]))*int32(int8(b[4]))
		s1 += int32(int8(a[1]))*int32(int8(b[1])) + int32(int8(a[5]))*int32(int8(b[5]))
		s2 += int32(int8(a[2]))*int32(int8(b[2])) + int32(int8(a[6]))*int32(int8(b[6]))
		s3 += int32(int8(a[3]))*int32(int8(b[3])) + int32(int8(a[7]))*int32(int8(b[7]))
		a, b = a[8:], b[8:]
	}
	for i := range a {
		s0 += int32(int8(a[i])) * int32(int8(b[i]))
	}
	return s0 + s1 + s2 + s3
}
