// Replaces d3-transition and d3-interpolate in the bundle. The canvas moves its view itself, see
// viewport.ts, so the library starts none of its transitions, which can animate colors and texts too.
// That saves 30 KB. What it interrupts, before each gesture and each change of the view, is the movement.
import { selection } from "d3-selection";

let frame = 0;

/** next calls step in the next frame, unless the movement is interrupted until then. */
export function next(step: FrameRequestCallback): void { frame = requestAnimationFrame(step); }

/** interrupt ends the movement where it is. */
export function interrupt(): void { cancelAnimationFrame(frame); }

(selection.prototype as { interrupt(): unknown }).interrupt = function () { interrupt(); return this; };

/** interpolate would return the steps of a transition. */
export function interpolate(): undefined {}
export { interpolate as interpolateZoom };
