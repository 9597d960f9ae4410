// A program that calls a flow by the types that openapi-typescript makes with its default settings: optional inputs with a default can be
// left out, and the answer to a start is a run.
import createClient from "openapi-fetch";
import type { paths } from "./flow";

const [address, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: address, headers: { Authorization: "Bearer " + key } });

async function main() {
  const form = new FormData();
  form.append("file", new File(["hello"], "a.txt", { type: "text/plain" }));
  const uploaded = await client.POST("/v1/files", { body: { file: "" }, bodySerializer: () => form });
  if (uploaded.error) throw new Error(uploaded.error.detail);
  const { data, error } = await client.POST("START", {
    body: { class: "lower", file: { file: uploaded.data.file } },
    params: { header: { Prefer: "wait=30" } },
  });
  if (error) throw new Error(error.detail);
  const status: string = data.status;
  const id: string = data.run_id;
  console.log(JSON.stringify({ status, started: id.startsWith("run_") }));
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
