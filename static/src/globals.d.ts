// Types of bundled packages that have none for these paths.
declare module "htmx.org/dist/htmx.esm.js" {
  const htmx: {
    process(element: Element): void;
    trigger(element: Element | string, event: string, detail?: object): void;
    ajax(method: string, url: string, options?: object): Promise<void>;
    config: Record<string, unknown>;
  };
  export default htmx;
}
