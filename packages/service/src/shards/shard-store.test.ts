import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { ShardPlace } from "./shard-place.js";
import { ShardStore } from "./shard-store.js";
import { frameOf } from "./store-wire.js";

const control = { urlSignatures: { sign: () => "signed", verify: () => true } };
const known = { deleted: { check: async () => {} }, homes: { areIn: async () => true }, holdMs: 400 };
const args = [{ project_id: "acme/demo" }];

function storeAt(address: string | undefined) {
  const place = new ShardPlace("east");
  place.isAt(address);
  return { place, store: new ShardStore(place, control, known) };
}

const nobody = { code: "busy", message: "No replica works on this project now" };

test.each([
  ["refuses connections", "http://127.0.0.1:1"],
  ["says no address", undefined],
])("a replica that renews its lease and %s is waited for, and then the client is told to try again", async (_, at) => {
  const { store } = storeAt(at);
  await expect(store.call("calls.count", args)).rejects.toMatchObject(nobody);
  await expect(store.stream("calls.query", args).next()).rejects.toMatchObject(nobody);
  store.close();
});

test("what waits for a replica that cannot be reached goes to the one that takes over", async () => {
  const next = createServer((_, response) => response.end(Buffer.concat([frameOf("value", 7), frameOf("end")])));
  await new Promise<void>((resolve) => next.listen(0, "127.0.0.1", resolve));
  const { store, place } = storeAt("http://127.0.0.1:1");
  const count = store.call("calls.count", args);
  place.isAt(`http://127.0.0.1:${(next.address() as AddressInfo).port}`);
  expect(await count).toBe(7);
  store.close();
  next.close();
});
