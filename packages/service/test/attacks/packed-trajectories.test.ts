import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { newModel } from "../training/jobs.js";

const megabyte = 1_000_000;

let service: TestService;
let url: string;
beforeAll(async () => {
  service = await openTestService();
  url = await service.listen();
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
});

async function send(body: Uint8Array, key: string) {
  const headers = {
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    "content-encoding": "gzip",
  };
  const response = await fetch(`${url}/v1/preview/training-jobs`, { method: "POST", headers, body });
  return { status: response.status, text: await response.text() };
}

const compressed = (modelId: string, trajectory: string) =>
  Uint8Array.from(gzipSync(`{"model_id":"${modelId}","trajectory_groups":[{"trajectories":[${trajectory}]}]}`));

const ofText = (text: string) => `{"messages_and_choices":[{"role":"user","content":"${text}"}],"reward":1}`;
const ofValues = (count: number) => `{"messages_and_choices":[],"metadata":{"a":[${"{},".repeat(count)}{}]}}`;

test.each([
  ["one text", ofText("a".repeat(60 * megabyte)), 800],
  ["20 million values", ofValues(20_000_000), 400],
])(
  "58 KB that become 60 MB of %s, ten times at once, cost bounded memory",
  async (_what, trajectory, mostMb) => {
    const attacker = await service.key({ entity: "acme" });
    const neighbour = await service.key({ entity: "rival" });
    const own = await newModel(service.training(neighbour), newProject("rival"));
    const bomb = compressed((await newModel(service.training(attacker))).id, trajectory);
    expect(bomb.length).toBeLessThan(60_000);
    const before = process.memoryUsage().rss;
    let peak = 0;
    const sampling = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 20);
    const attack = Promise.all(Array.from({ length: 10 }, () => send(bomb, attacker)));
    const mine = await send(compressed(own.id, ofText("a".repeat(megabyte))), neighbour);
    expect(mine).toMatchObject({ status: 200 });
    const statuses = (await attack).map(({ status }) => status);
    clearInterval(sampling);
    expect(statuses.filter((status) => ![200, 413, 429].includes(status))).toEqual([]);
    expect(peak - before).toBeLessThan(mostMb * megabyte);
  },
  60_000,
);

test.each([
  ["values", ofValues(2_000_000)],
  ["text that is not ASCII", ofText(`☃${"a".repeat(40 * megabyte)}`)],
])("a trajectory with too much memory of %s is refused with what it may take", async (_what, trajectory) => {
  const { id } = await newModel(service.training());
  expect(await send(compressed(id, trajectory), service.owner_key)).toEqual({
    status: 413,
    text: expect.stringContaining("more than 64000000 bytes of memory, all that the requests of one key may hold"),
  });
});
