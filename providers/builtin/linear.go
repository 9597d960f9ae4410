package builtin

// linear is a fully connected layer: output = weight * input + bias.
type linear struct {
	weight matrix // a row per output
	bias   []float32
}

func newLinear(t *tensors, name string, in, out int) linear {
	return linear{weight: t.matrix(name+".weight", out, in), bias: t.vector(name+".bias", out)}
}

// set writes the layer's outputs for each input row; add adds them to what dst holds. Both work on whole tiles, so the
// buffers hold a multiple of tileRows rows.
func (l *linear) set(dst, src []float32, rows int) { l.apply(dst, src, rows, false) }
func (l *linear) add(dst, src []float32, rows int) { l.apply(dst, src, rows, true) }

// apply takes sixteen weight rows at a time past all input rows: the weights are read from memory once per call, and
// the four input rows of a tile stay in the cache meanwhile.
func (l *linear) apply(dst, src []float32, rows int, add bool) {
	in, out := l.weight.cols, l.weight.rows
	var products tile
	for col := 0; col < out; col += tileCols {
		w := l.weight.data[col*in : (col+tileCols)*in]
		for row := 0; row < rows; row += tileRows {
			multiplyTile(&products, src[row*in:(row+tileRows)*in], w, in)
			for r := range tileRows {
				l.store(dst[(row+r)*out+col:], &products, r, col, add)
			}
		}
	}
}

// store scales one row of a tile, adds the bias and puts it in place.
func (l *linear) store(dst []float32, products *tile, r, col int, add bool) {
	dst = dst[:tileCols]
	scale, bias := l.weight.scale[col:][:tileCols], l.bias[col:][:tileCols]
	for c := range dst {
		v := products[tileAt(r, c)]*scale[c] + bias[c]
		if add {
			v += dst[c]
		}
		dst[c] = v
	}
}
