// Stands in the bundle for d3-color, which d3's transitions bring along in order
// to animate colours. The canvas animates its view alone, which is numbers, so
// nothing is a colour here; that keeps 10 KB out of the canvas.

/** color reads no text as a colour. */
export function color(): null { return null; }
export { color as rgb, color as hsl, color as lab, color as hcl, color as cubehelix };
