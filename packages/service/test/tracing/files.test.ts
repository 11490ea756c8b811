import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(async () => await service.close());

test("a file whose bytes have changed in the store is not delivered to its end", async () => {
  const projectId = newProject();
  const { digest } = await service
    .tracing()
    .fileCreate({ project_id: projectId, file: new File(["kept bytes"], "note.txt") });
  const content = async () =>
    await new Response(await service.tracing().fileContent({ project_id: projectId, digest })).text();
  expect(await content()).toBe("kept bytes");
  const folder = join(service.services.config.blobsUrl, "sha256");
  const stored = readdirSync(folder, { recursive: true, encoding: "utf8" }).find((name) => name.length > 64);
  writeFileSync(join(folder, stored ?? ""), "lost bytes");
  await expect(content()).rejects.toThrow();
});
