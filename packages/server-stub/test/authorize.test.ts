import { expect, test } from "vitest";
import type { Access } from "../src/operations/access.js";
import { toFetch } from "../src/fetch.js";
import { Problem } from "../src/problem.js";
import type { ServerOptions } from "../src/server.js";
import { libraryServer } from "./library.js";
import type { Handler } from "./library.js";

/** Sends one request and notes in which order what was called. */
async function send(
  handlers: Record<string, Handler>,
  path: string,
  init: RequestInit,
  options: Pick<ServerOptions<string>, "authorize" | "onSuccess"> = {},
) {
  const steps: unknown[] = [];
  const note = (name: string, call: ServerOptions<string>["authorize"]) => async (access: Access, caller: string) => {
    steps.push([name, access, caller]);
    await call?.(access, caller);
  };
  const logged = Object.entries(handlers).map(([id, handler]): [string, Handler] => [
    id,
    (request, caller) => {
      steps.push(id);
      return handler(request, caller);
    },
  ]);
  const server = libraryServer(Object.fromEntries(logged), {
    authenticate: () => "ann",
    authorize: note("authorize", options.authorize) as ServerOptions<unknown>["authorize"] & {},
    onSuccess: note("onSuccess", options.onSuccess) as ServerOptions<unknown>["onSuccess"] & {},
  });
  const response = await toFetch(server)(new Request(`http://in-process${path}`, init));
  return { status: response.status, steps };
}

const ask = (question: string): RequestInit => ({ method: "POST", body: JSON.stringify({ question }) });
const forbid = () => {
  throw new Problem(403, "Forbidden");
};

test("the right and the project that the body names are known before the handler runs, and again after it", async () => {
  const access = { operation: "bookAsk", right: "read", project: { id: "why?", loc: ["body", "question"] } };
  const { status, steps } = await send({ bookAsk: () => ({ answer: "so" }) }, "/books/ask", ask("why?"));
  expect([status, steps]).toEqual([200, [["authorize", access, "ann"], "bookAsk", ["onSuccess", access, "ann"]]]);
});

test("a refused request never reaches its handler", async () => {
  const { status, steps } = await send({ bookAsk: () => ({ answer: "so" }) }, "/books/ask", ask("why?"), {
    authorize: forbid,
  });
  expect([status, steps]).toEqual([403, [["authorize", expect.anything(), "ann"]]]);
});

test("a failed request is not a success", async () => {
  const handlers = {
    bookAsk: () => {
      throw new Problem(404, "no such book");
    },
  };
  const { status, steps } = await send(handlers, "/books/ask", ask("why?"));
  expect([status, steps]).toEqual([404, [["authorize", expect.anything(), "ann"], "bookAsk"]]);
});

test("an error after the handler is the response", async () => {
  const { status } = await send({ bookAsk: () => ({ answer: "so" }) }, "/books/ask", ask("why?"), {
    onSuccess: () => {
      throw new Problem(503, "try again");
    },
  });
  expect(status).toBe(503);
});

test("where the body names no project, a caller without the right is refused before the body is looked at", async () => {
  const malformed: RequestInit = { method: "POST", body: "{" };
  const handlers = { booksAdd: () => ({ done: [] }) };
  expect((await send(handlers, "/books/add_batch", malformed)).status).toBe(400);
  const { status, steps } = await send(handlers, "/books/add_batch", malformed, { authorize: forbid });
  expect([status, steps]).toEqual([
    403,
    [["authorize", { operation: "booksAdd", right: "write", project: "items" }, "ann"]],
  ]);
});

test("public operations are open to everybody", async () => {
  const { status, steps } = await send({ readHealth: () => ({ ok: true }) }, "/health", {}, { authorize: forbid });
  expect([status, steps]).toEqual([200, ["readHealth"]]);
});
