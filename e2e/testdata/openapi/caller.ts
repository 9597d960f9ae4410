// A program that calls a flow by what a generator made of the flow's document.
// It is compiled strictly, so a type that the document gets wrong is an error.
import { client } from "./client/client.gen";
import { createFile, showResult, showRun, startRun } from "./client";

const [address, key] = process.argv.slice(2);
client.setConfig({ baseUrl: address, auth: () => key });

async function main() {
  const file = await createFile({ body: { file: new File(["hello"], "a.txt", { type: "text/plain" }) } });
  if (!file.data) throw new Error("not uploaded: " + file.error?.detail);

  const refused = await startRun({ body: { class: "UPPER", file: { file: file.data.file } } });
  const problems: string[] = refused.error?.errors?.map((e) => e.pointer) ?? [];

  const started = await startRun({
    body: { class: "lower", "_n-1": 2, "is-on": true, "Content-Type": ["x"], file: { file: file.data.file } },
    headers: { Prefer: "wait=30" },
  });
  if (!started.data) throw new Error("not started: " + started.error.detail);
  const run = await showRun({ path: { run_id: started.data.run_id } });
  const status: "queued" | "running" | "waiting" | "succeeded" | "failed" | "canceled" | undefined = run.data?.status;
  const result = await showResult({ path: { run_id: started.data.run_id } });
  if (!result.data || !("delete" in result.data)) throw new Error("no outputs");
  const outputs = result.data;
  const fixed = outputs.confidence.toFixed(2); // a number, without a cast
  const name: string = outputs["out-2"].name + outputs.delete.toUpperCase();
  // @ts-expect-error a text has no toFixed
  void (() => outputs.delete.toFixed(2));
  const early = run.data?.outputs?.confidence?.toFixed(2); // of a run that may still be running
  if (early !== fixed || !name) throw new Error("the run has other outputs");
  console.log(JSON.stringify({ problems, status, outputs, fixed }));
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
