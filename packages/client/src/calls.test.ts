import { expect, test } from "vitest";
import { callPages, followCalls } from "./calls.js";
import { connectTracing } from "./tracing.js";
import type { CallTailEvent } from "./tracing.js";

type Body = Record<string, unknown>;

/** A service that answers each request with the next of these, and what it was asked. */
function serviceOf(answers: Array<(body: Body) => Response>) {
  const asked: Body[] = [];
  const fetch = async (request: Request) => {
    const body = (await request.json()) as Body;
    asked.push(body);
    const answer = answers.shift();
    if (answer === undefined) throw new Error("asked once too often");
    return answer(body);
  };
  return { asked, connection: connectTracing({ baseUrl: "http://in-process", apiKey: "k", fetch, retries: 0 }) };
}

const lines = (...items: unknown[]) => new Response(items.map((item) => `${JSON.stringify(item)}\n`).join(""));
const changed = (seq: number, id: string) => ({ seq: `${seq}`, kind: "changed", id });

/** A stream that breaks after some items. */
const broken =
  (...items: unknown[]) =>
  () => {
    const chunks = items.map((item) => new TextEncoder().encode(`${JSON.stringify(item)}\n`));
    const pull = (controller: ReadableStreamDefaultController) => {
      const chunk = chunks.shift();
      if (chunk === undefined) controller.error(new Error("cut"));
      else controller.enqueue(chunk);
    };
    return new Response(new ReadableStream({ pull }));
  };

test("a tail goes on after what is complete: an event of a later sequence has come, or a mark", async () => {
  const { asked, connection } = serviceOf([
    broken(changed(5, "a"), changed(7, "b"), changed(7, "c")),
    () => new Response("{}", { status: 503 }),
    () => lines(changed(7, "b"), changed(7, "c"), { seq: "9", kind: "caught_up" }),
    () => lines({ seq: "12", kind: "gap", from: "9" }),
    () => lines(changed(13, "d")),
  ]);
  const seen: CallTailEvent[] = [];
  for await (const event of followCalls(connection, { project_id: "a/b", after: "3" })) {
    seen.push(event);
    if (event.id === "d") break;
  }
  expect(asked.map(({ after }) => after)).toEqual(["3", "5", "5", "9", "12"]);
  expect(seen.map(({ kind, id }) => id ?? kind)).toEqual(["a", "b", "c", "b", "c", "caught_up", "gap", "d"]);
});

test("a tail ends with its time, its signal, and an error that stays", async () => {
  const ended = serviceOf([() => lines({ seq: "9", kind: "caught_up" })]);
  const events: CallTailEvent[] = [];
  for await (const event of followCalls(ended.connection, { project_id: "a/b", seconds: 0 })) events.push(event);
  expect(events).toHaveLength(1);
  const revoked = serviceOf([() => new Response(JSON.stringify({ reason: "no" }), { status: 401 })]);
  await expect(followCalls(revoked.connection, { project_id: "a/b" }).next()).rejects.toMatchObject({ status: 401 });
  const leaving = new AbortController();
  const failing = serviceOf([
    () => {
      leaving.abort(new Error("left"));
      return new Response("{}", { status: 503 });
    },
  ]);
  const left = followCalls(failing.connection, { project_id: "a/b" }, { signal: leaving.signal }).next();
  await expect(left).rejects.toThrow("left");
});

test("pages are read from cursor to cursor, in either direction", async () => {
  const page = (hasMore: boolean, next: string, previous: string) => () =>
    Response.json({ calls: [], has_more: hasMore, next, previous, seq: "1" });
  const forth = serviceOf([page(true, "n1", "p1"), page(false, "n2", "p2")]);
  for await (const { has_more } of callPages(forth.connection, { project_id: "a/b", at_time: 5, limit: 2 }))
    void has_more;
  expect(forth.asked).toEqual([
    { project_id: "a/b", at_time: 5, limit: 2 },
    { project_id: "a/b", after: "n1", limit: 2 },
  ]);
  const back = serviceOf([page(true, "n1", "p1"), page(false, "n2", "p2")]);
  for await (const { has_more } of callPages(back.connection, { project_id: "a/b", before: "end" })) void has_more;
  expect(back.asked).toEqual([
    { project_id: "a/b", before: "end" },
    { project_id: "a/b", before: "p1" },
  ]);
});
