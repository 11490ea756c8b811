import { afterAll, beforeAll, expect, test } from "vitest";
import { collectBlobs } from "../../src/operations/blobs/collect-blobs.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());

const daysAhead = (days: number) => BigInt(Date.now() + days * 24 * 3_600_000) * 1000n;

test("blobs are kept while a file, a version or a recent upload names them, and deleted after that", async () => {
  const projectId = newProject();
  const [entity = "", project = ""] = projectId.split("/");
  const training = service.training();
  const send = async (text: string) => await training.uploadArtifactContent({ entity, project, body: text });
  const stored = async () => {
    const texts: string[] = [];
    for await (const { key } of service.services.blobs.list()) {
      const { stream } = await service.services.blobs.get(key);
      const chunks: Uint8Array[] = [];
      for await (const chunk of stream) chunks.push(chunk);
      texts.push(Buffer.concat(chunks).toString());
    }
    return texts.toSorted();
  };
  await service.tracing().fileCreate({ project_id: projectId, file: Buffer.from("of a trace") });
  const kept = await send("of a version");
  await send("of nothing");
  await service.services.blobs.put(Buffer.from("of a crash"));
  const files = [{ path: "a", sha256: kept.sha256 }];
  await training.commitArtifact({ entity, project, name: "data", type: "dataset", files });
  const all = ["of a crash", "of a trace", "of a version", "of nothing"];
  expect(await stored()).toEqual(all);

  // Younger than a day.
  expect(await collectBlobs(service.services, daysAhead(0))).toEqual({ deleted: 0, bytes: 0 });
  service.services.losses.report("traces", "something is lost");
  expect(await collectBlobs(service.services, daysAhead(30))).toEqual({ deleted: 0, bytes: 0 });
  expect(await stored()).toEqual(all);

  const sound = { ...service.services, losses: { ...service.services.losses, list: () => [] } };
  expect(await collectBlobs(sound, daysAhead(2))).toEqual({ deleted: 1, bytes: 10 });
  expect(await stored()).toEqual(["of a trace", "of a version", "of nothing"]);
  expect(await collectBlobs(sound, daysAhead(8))).toEqual({ deleted: 1, bytes: 10 });
  expect(await stored()).toEqual(["of a trace", "of a version"]);
  await training.deleteArtifact({ entity, project, name: "data" });
  expect(await collectBlobs(sound, daysAhead(8))).toEqual({ deleted: 1, bytes: 12 });
  expect(await stored()).toEqual(["of a trace"]);
  const bytes = await service.tracing().fileContent({
    project_id: projectId,
    digest: (await service.tracing().fileCreate({ project_id: projectId, file: Buffer.from("of a trace") })).digest,
  });
  expect(Buffer.from(bytes).toString()).toBe("of a trace");
});
