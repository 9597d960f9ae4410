// Replaces d3-color in the bundle. d3's transitions import it to animate colors;
// the canvas animates only its view, which is numbers. That saves 10 KB.

/** color recognizes no color. */
export function color(): null { return null; }
export { color as rgb, color as hsl, color as lab, color as hcl, color as cubehelix };
