import { expect, test } from "vitest";
import { limitInFlight } from "./limit-in-flight.js";

function server() {
  const sent: string[] = [];
  const responses = new Map<string, () => void>();
  const send = ({ url }: Request) => {
    sent.push(url);
    return new Promise<Response>((resolve) => responses.set(url, () => resolve(new Response(url))));
  };
  return { sent, send, respond: (url: string) => responses.get(url)?.() };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

test("further requests wait until a response begins, in the order in which they came", async () => {
  const { sent, send, respond } = server();
  const fetch = limitInFlight(2, send);
  const urls = ["http://x/1", "http://x/2", "http://x/3", "http://x/4"];
  const all = urls.map((url) => fetch(new Request(url)));
  await settled();
  expect(sent).toEqual(urls.slice(0, 2));
  respond("http://x/2");
  await settled();
  expect(sent).toEqual(urls.slice(0, 3));
  for (const url of ["http://x/1", "http://x/3"]) respond(url);
  await settled();
  respond("http://x/4");
  expect(await Promise.all(all.map(async (response) => (await response).text()))).toEqual(urls);
});

test("a request that is aborted while it waits is not sent, and takes no turn", async () => {
  const { sent, send, respond } = server();
  const fetch = limitInFlight(1, send);
  const first = fetch(new Request("http://x/1"));
  const { signal, abort } = controller();
  const left = fetch(new Request("http://x/2", { signal }));
  const last = fetch(new Request("http://x/3"));
  abort();
  await expect(left).rejects.toThrow("left the window");
  respond("http://x/1");
  await first;
  await settled();
  respond("http://x/3");
  await last;
  expect(sent).toEqual(["http://x/1", "http://x/3"]);
});

function controller() {
  const request = new AbortController();
  return { signal: request.signal, abort: () => request.abort(new Error("left the window")) };
}
