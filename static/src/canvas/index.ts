// What the page loads. Importing it defines <flow-canvas>.
import { FlowCanvas } from "./element.ts";

if (!customElements.get("flow-canvas")) customElements.define("flow-canvas", FlowCanvas);

export { FlowCanvas };
