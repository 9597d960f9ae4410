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
  const outputs = result.data && "delete" in result.data ? result.data : undefined;
  console.log(JSON.stringify({ problems, status, outputs }));
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
