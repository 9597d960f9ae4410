package builtin

// linear is a fully connected layer: output = weight * input + bias.
type linear struct {
	weight matrix // a row per output
	bias   []float32
}

// newLinear returns a linear layer from the tensors below a name. in and out are the
// numbers of its inputs and outputs.
func newLinear(t *tensors, name string, in, out int) linear {
	return linear{weight: t.matrix(name+".weight", out, in), bias: t.vector(name+".bias", out)}
}

// set writes the layer's outputs for each input row to dst; add adds them to dst. Both process whole tiles, so the buffers
// must have a multiple of tileRows rows.
func (l *linear) set(dst, src []float32, rows int) { l.apply(dst, src, rows, false) }
func (l *linear) add(dst, src []float32, rows int) { l.apply(dst, src, rows, true) }

// apply writes weight * row + bias to dst for each row of src, or adds it to dst, for
// residual connections. It uses assembly where the processor has the instructions.
func (l *linear) apply(dst, src []float32, rows int, add bool) {
	if accelerated {
		l.applyFast(dst, src, rows, add)
		return
	}
	l.applyPlain(dst, src, rows, add)
}

// applyFast multiplies sixteen weight rows at a time with all input rows, so that the weights are read from memory only
// once per call, while the four input rows of a tile stay in the cache.
func (l *linear) applyFast(dst, src []float32, rows int, add bool) {
	in, out := l.weight.cols, l.weight.rows
	var products tile
	for col := 0; col < out; col += tileCols {
		w := l.weight.data[col*in : (col+tileCols)*in]
		for row := 0; row < rows; row += tileRows {
			x := src[row*in : (row+tileRows)*in]
			multiplyTileFast(&products[0], &x[0], &w[0], in, tileCols/2)
			for r := range tileRows {
				l.store(dst[(row+r)*out+col:], &products, r, col, add)
			}
		}
	}
}

// store scales one row of a tile, adds the bias and writes it to the output.
func (l *linear) store(dst []float32, products *tile, r, col int, add bool) {
	dst = dst[:tileCols]
	scale, bias := l.weight.scale[col:][:tileCols], l.bias[col:][:tileCols]
	for c, old := range dst {
		dst[c] = products[tileAt(r, c)]*scale[c] + bias[c]
		if add {
			dst[c] += old
		}
	}
}

// applyPlain converts each weight row to floats once and multiplies it with the input rows, four at a time.
func (l *linear) applyPlain(dst, src []float32, rows int, add bool) {
	in, out := l.weight.cols, l.weight.rows
	var wide [feedSize]float32 // the longest row there is
	for col := range out {
		w, scale := wide[:in], l.weight.scale[col]
		for i, q := range l.weight.row(col)[:len(w)] {
			w[i] = scale * float32(int8(q))
		}
		for row := 0; row < rows; row += tileRows {
			sums := multiplyFour(src[row*in:(row+tileRows)*in], w)
			for r, sum := range sums {
				at := &dst[(row+r)*out+col]
				if !add {
					*at = 0
				}
				*at += sum + l.bias[col]
			}
		}
	}
}
