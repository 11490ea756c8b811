import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { installTarballs } from "./install-packages.js";
import { runService } from "./run-service.js";

const { tarballs } = inject("installed");

// As npm leaves a project in which the install script of the optional package has failed.
test("without onnxruntime the service starts, and says everywhere why nothing can be trained and what to do", async () => {
  const directory = mkdtempSync(join(tmpdir(), "heddle-user-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const project = join(directory, "project");
  installTarballs(project, tarballs, ["onnxruntime-node"]);
  const { url, key, output } = await runService(project);

  const reason = /onnxruntime-node, which is not installed: .*Install again with ONNXRUNTIME_NODE_INSTALL=skip/;
  // The line of the log, and that of what a start prints.
  expect(output()).toMatch(new RegExp(`nothing can be trained: .*${reason.source}`));
  await expect.poll(output).toMatch(new RegExp(`\n  no training   .*${reason.source}`));

  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const check = await fetch(`${url}/v1/system-check`, { headers });
  expect(check.status).toBe(200);
  const { parts, unavailable_models } = (await check.json()) as {
    parts: Record<string, unknown>;
    unavailable_models: { id: string; reason: string }[];
  };
  const absent = { status: "absent", error: expect.stringMatching(reason) };
  expect(parts).toMatchObject({ trainer: absent, sampler: absent, traces: { status: "ok" } });
  const starter = unavailable_models.find(({ id }) => id === "heddle/starter");
  expect(starter?.reason).toMatch(reason);

  const completion = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers,
    body: JSON.stringify({ model: "heddle/starter", messages: [{ role: "user", content: "hi" }] }),
  });
  expect(completion.status).toBe(404);
  expect(await completion.text()).toMatch(reason);
});
