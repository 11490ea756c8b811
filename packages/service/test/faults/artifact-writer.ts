import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { untilAcknowledged } from "./until-acknowledged.js";
import type { Wire } from "./wire.js";
import type { Writing } from "./writing.js";

interface Version {
  version: string;
  metadata: { round: number };
}

/**
 * Makes versions of one artifact, each of one file, and enters them: there must be each once, in this order, and none that was
 * not made.
 */
export async function writeArtifacts(writing: Writing): Promise<void> {
  const { project_id, ledger, random, stopped } = writing;
  const name = `artifact-${Math.floor(random() * 1e9)}`;
  const contents: string[] = [];
  while (!stopped()) {
    const round = contents.length;
    const content = `${round} ${random()} `.repeat(1 + Math.floor(random() * 500));
    const sha256 = createHash("sha256").update(content).digest("hex");
    const path = `/v1/artifact-contents/${project_id}?sha256=${sha256}`;
    await untilAcknowledged(writing, path, new TextEncoder().encode(content));
    const version = { name, type: "dataset", metadata: { round }, files: [{ path: "rows", sha256 }] };
    await untilAcknowledged(writing, `/v1/artifacts/${project_id}`, version);
    contents.push(content);
    await delay(200);
  }
  const path = `/v1/artifacts/${project_id}/${name}`;
  ledger.contents.push({
    kind: "artifacts",
    what: `versions of ${name}`,
    expected: contents.map((_, round) => [`v${round}`, round]),
    read: async (from) => (await versionsOf(from, path)).map(({ version, metadata }) => [version, metadata.round]),
  });
  for (const [round, content] of contents.entries()) {
    ledger.contents.push({
      kind: "artifacts",
      what: `round ${round} of ${name}`,
      expected: content,
      read: async (from) => {
        const made = (await versionsOf(from, path)).find(({ metadata }) => metadata.round === round);
        return (await from.get(`${path}/versions/${made?.version}/file?path=rows`)).text;
      },
    });
  }
}

async function versionsOf(from: Wire, path: string): Promise<Version[]> {
  const found: Version[] = [];
  for (let after = ""; ;) {
    const { status, text } = await from.get(`${path}/versions?limit=100${after}`);
    if (status !== 200) throw new Error(`${path} responded ${status}: ${text}`);
    const page = JSON.parse(text) as { data: (Version & { id: string })[]; has_more: boolean };
    found.push(...page.data);
    if (!page.has_more) return found;
    after = `&after=${page.data.at(-1)?.id}`;
  }
}
