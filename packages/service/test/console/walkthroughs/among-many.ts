import { expect } from "vitest";
import { completeRequests } from "../../../bench/payloads.js";
import { ownerKey } from "../../test-service.js";
import type { TestService } from "../../test-service.js";

/** How many calls what the guide leads to is found among, besides those that it needs: `CALLS=100000`. */
export const otherCalls = Number(process.env["CALLS"] ?? 0);

const atOnce = 1000;

/** Writes calls that are not looked for, newer than all others, as the benches do. */
export async function writeOthers(service: TestService, projectId: string, count = otherCalls): Promise<void> {
  for (let written = 0; written < count; written += atOnce) {
    for (const { path, headers, bytes } of completeRequests(projectId, 1, Math.min(atOnce, count - written))) {
      const response = await service.fetch(`http://in-process${path}`, {
        method: "POST",
        headers: { ...headers, authorization: `Bearer ${ownerKey}` },
        body: new Uint8Array(bytes),
      });
      expect(response.status).toBe(200);
    }
  }
}
