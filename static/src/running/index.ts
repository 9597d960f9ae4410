// Running a flow from the builder, and looking at what it did.
import "./start.ts";
import "./stream.ts";
import "./bar.ts";
import "./said.ts";
import "./data.ts";
import "./runs.ts";
