// The builder: what happens around the canvas. Each part listens for itself;
// this file only brings them together.
import "./commands.ts";
