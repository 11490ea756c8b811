import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { runProgram } from "./run-program.js";

let service: TestService;
let url: string;
beforeAll(async () => {
  service = await openTestService();
  url = await service.listen();
});
afterAll(() => service.close());

test("what ops of the weave SDK use is counted once, though every op reports what those below it use", async () => {
  const projectId = newProject();
  const program = { url, key: service.owner_key, args: [projectId], start: '{"done"' };
  await runProgram(new URL("usage-program.ts", import.meta.url), program);
  const tracing = service.tracing();
  const { calls } = await tracing.callsQuery({ project_id: projectId });
  const named = (name: string) => calls.filter((call) => call.op_name.includes(`/op/${name}:`));
  const [outer, failing, reads] = ["outer", "failing", "reads"].flatMap(named);
  // The SDK adds up.
  expect(outer?.summary).toMatchObject({ usage: { "our-model": { requests: 1, total_tokens: 14 } } });
  expect(failing?.summary).toMatchObject({ usage: { "our-model": { requests: 1, total_tokens: 14 } } });

  const roots = [outer, failing, reads].map((call) => call?.id ?? "");
  const { call_usage } = await tracing.callsUsage({ project_id: projectId, call_ids: roots });
  for (const id of roots) expect(call_usage[id]).toMatchObject({ "our-model": { requests: 1, total_tokens: 14 } });
  const { usage_buckets } = await tracing.callStats({
    project_id: projectId,
    start: Date.now() / 1000 - 3600,
    granularity: 86_400,
    usage_metrics: [{ metric: "total_tokens" }],
  });
  expect(usage_buckets?.reduce((sum, bucket) => sum + Number(bucket["sum_total_tokens"]), 0)).toBe(42);
});
