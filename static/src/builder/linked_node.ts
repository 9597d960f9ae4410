// Opens the node in the query parameter node, to which the command palette of other pages links.
import { jump } from "./jump.ts";

const node = new URLSearchParams(location.search).get("node");
if (node) jump(node);
