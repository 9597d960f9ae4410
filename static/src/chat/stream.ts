// Streams the reply of a run.

/** Reply is the final state of a run. */
export type Reply = { state: string; text: string; html?: string; signature?: string; trouble?: string };

export type Listener = { text: (text: string, reset: boolean) => void; state: (state: string) => void; reply: (reply: Reply) => void; lost: () => void };

const maxRetries = 5; // reconnects after error responses before giving up
const retryDelay = 2000; // ms between them

/** follow reports the progress of a run until it ends. It returns a function that stops following. */
export function follow(run: string, output: string, on: Listener): () => void {
  let source: EventSource | undefined, timer = 0, failures = 0;
  const connect = () => {
    source = new EventSource(`${run}/events`);
    source.addEventListener("text", (event) => {
      const message = JSON.parse(event.data) as { output: string; text: string; reset: boolean };
      if (message.output === output) on.text(message.text, message.reset);
    });
    source.addEventListener("run", (event) => ((failures = 0), on.state((JSON.parse(event.data) as { state: string }).state)));
    source.addEventListener("reply", (event) => (source?.close(), on.reply(JSON.parse(event.data) as Reply)));
    source.addEventListener("over", () => source?.close());
    source.addEventListener("error", () => {
      if (source?.readyState !== EventSource.CLOSED) return; // the browser reconnects
      if (++failures > maxRetries) on.lost();
      else timer = window.setTimeout(connect, retryDelay);
    });
  };
  connect();
  return () => (window.clearTimeout(timer), source?.close());
}
