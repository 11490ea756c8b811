import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { copiesOf, originals } from "../../../bench/multiply-calls.js";
import { completeRequests } from "../../../bench/payloads.js";
import { ownerKey } from "../../test-service.js";
import type { TestService } from "../../test-service.js";

/** How many calls what the guide leads to is found among, besides those that it needs: `CALLS=100000`. */
export const otherCalls = Number(process.env["CALLS"] ?? 0);

const atOnce = 1000;

/** Writes calls that are not looked for, newer than all others, as the benches do; most of many are copies, each a second before the other. */
export async function writeOthers(service: TestService, projectId: string, count = otherCalls): Promise<void> {
  const createdCalls = Math.min(count, originals);
  for (let written = 0; written < createdCalls; written += atOnce) {
    for (const { path, headers, bytes } of completeRequests(projectId, 1, Math.min(atOnce, createdCalls - written))) {
      let status = 503;
      // A busy machine asks to wait.
      for (let tries = 0; status === 503 && tries < 60; tries++) {
        if (tries > 0) await delay(1000);
        ({ status } = await service.fetch(`http://in-process${path}`, {
          method: "POST",
          headers: { ...headers, authorization: `Bearer ${ownerKey}` },
          body: new Uint8Array(bytes),
        }));
      }
      expect(status).toBe(200);
    }
  }
  if (count <= createdCalls) return;
  const copied = { table: "calls", project: projectId, where: "op_name LIKE '%/op/answer:%' AND length(id) = 36" };
  for (const sql of copiesOf(copied, createdCalls, count)) await service.tracingCommand(sql);
}
