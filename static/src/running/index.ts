// Running a flow from the builder, and showing the run.
import "./start.ts";
import "./stream.ts";
import "./bar.ts";
import "./output.ts";
