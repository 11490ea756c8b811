import { expect, test } from "vitest";
import { startScript } from "../test/http-server.js";
import { connect } from "./connection.js";
import { readEvents } from "./events.js";
import { withJson } from "./outgoing.js";

async function collect(body: string, list: unknown[] = []): Promise<unknown[]> {
  const { baseUrl } = await startScript([200, { "content-type": "text/event-stream" }, body]);
  const connection = connect("training", undefined, { baseUrl });
  for await (const item of readEvents(connection, withJson("act", "POST /chat/completions", { stream: true })))
    list.push(item);
  return list;
}

test("events come as parsed JSON up to [DONE]", async () => {
  const body = ': hello\n\nevent: chunk\nid: 1\ndata: {"n":1}\n\ndata:{"n":2}\r\n\r\ndata: [DONE]\n\ndata: {"n":3}\n\n';
  expect(await collect(body)).toEqual([{ n: 1 }, { n: 2 }]);
});

test("the data of one event may be on several lines", async () => {
  expect(await collect('data: {"n":\ndata: 1}\n\ndata: [DONE]\n\n')).toEqual([{ n: 1 }]);
});

test("a stream without [DONE] has ended early, and an event that was never finished is not delivered", async () => {
  const items: unknown[] = [];
  await expect(collect('data: {"n":1}\n\ndata: {"n":2}\n', items)).rejects.toThrow(
    "POST /chat/completions failed: the stream ended after 1 item",
  );
  expect(items).toEqual([{ n: 1 }]);
});

test("a failure in the middle of the stream is thrown with the reason of the service", async () => {
  const body = 'data: {"n":1}\n\ndata: {"error":{"message":"out of memory","code":500}}\n\ndata: [DONE]\n\n';
  await expect(collect(body)).rejects.toMatchObject({ status: 500, reason: "out of memory" });
});

test("an event that is not JSON is a HeddleApiError", async () => {
  await expect(collect("data: oops\n\n")).rejects.toMatchObject({
    message: "POST /chat/completions: 200 text/event-stream that is not JSON: oops",
  });
});
