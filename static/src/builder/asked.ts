// Opens the node that the address asks for, as the command palette of other pages does.
import { jump } from "./jump.ts";

const asked = new URLSearchParams(location.search).get("node");
if (asked) jump(asked);
