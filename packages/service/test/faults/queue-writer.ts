import { setTimeout as delay } from "node:timers/promises";
import { isSentAgain } from "./wire.js";
import type { Wire } from "./wire.js";
import type { Writing } from "./writing.js";

interface Item {
  id: string;
  call_id: string;
  annotation_state: string;
}

/** Fills annotation queues, claims items and finishes them, and enters what was acknowledged with a way to read it back. */
export async function writeQueue(writing: Writing): Promise<void> {
  const { project_id, random, stopped } = writing;
  while (!stopped()) {
    const create = { project_id, name: "faults", scorer_refs: [] };
    const queue = await send<{ id: string }>(writing, "/annotation_queues", create);
    if (queue === undefined) continue;
    const path = `/annotation_queues/${queue.id}/items`;
    const named = new Set<string>();
    enter(writing, `queue ${queue.id}`, [], async (from) => await faultsOf(from, project_id, queue.id, named));
    for (let round = 0; round < 3 && !stopped(); round++) {
      const ids = await newCalls(writing, 2 + Math.floor(random() * 3));
      for (const id of ids) named.add(id);
      const added = await send(writing, path, { project_id, call_ids: ids, display_fields: [] });
      if (added !== undefined) {
        enter(writing, `items of ${queue.id}`, ids.toSorted(), async (from) => {
          const items = await itemsOf(from, project_id, queue.id);
          return items
            .map(({ call_id }) => call_id)
            .filter((id) => ids.includes(id))
            .toSorted();
        });
      }
      await annotate(writing, queue.id);
    }
  }
}

/** Claims an item and finishes it, which nothing changes afterwards. */
async function annotate(writing: Writing, queueId: string): Promise<void> {
  const { project_id, random } = writing;
  const path = `/annotation_queues/${queueId}/items`;
  const claim = await send<{ item: Item | null }>(writing, `${path}/claim_next`, { project_id });
  const id = claim?.item?.id;
  if (id === undefined) return;
  const annotationState = random() < 0.5 ? "completed" : "skipped";
  const done = await send(writing, `${path}/${id}/progress`, { project_id, annotation_state: annotationState });
  if (done === undefined) return;
  enter(writing, `progress on ${id}`, annotationState, async (from) => {
    const items = await itemsOf(from, project_id, queueId);
    return items.find((item) => item.id === id)?.annotation_state;
  });
}

/** What contradicts itself in a queue, or what was sent to it. */
async function faultsOf(from: Wire, projectId: string, queueId: string, named: ReadonlySet<string>): Promise<string[]> {
  const items = await itemsOf(from, projectId, queueId);
  const faults = items.filter(({ call_id }) => !named.has(call_id)).map(({ call_id }) => `${call_id} was never added`);
  if (new Set(items.map(({ call_id }) => call_id)).size < items.length) faults.push("a call is in it twice");
  const request = { project_id: projectId, queue_ids: [queueId] };
  const { stats } = await from.ask<{ stats: object[] }>("/annotation_queues/stats", request);
  const finished = items.filter(({ annotation_state }) => /completed|skipped/.test(annotation_state)).length;
  const counts = JSON.stringify([{ queue_id: queueId, total_items: items.length, completed_items: finished }]);
  if (JSON.stringify(stats) !== counts) faults.push(`it counts ${JSON.stringify(stats)} and holds ${counts}`);
  return faults;
}

async function itemsOf(from: Wire, projectId: string, queueId: string): Promise<Item[]> {
  const path = `/annotation_queues/${queueId}/items/query`;
  return (await from.ask<{ items: Item[] }>(path, { project_id: projectId })).items;
}

/** Calls to put into a queue: those of them that are stored. */
async function newCalls(writing: Writing, count: number): Promise<string[]> {
  const { project_id, random, ledger } = writing;
  const stored: string[] = [];
  for (let n = 0; n < count; n++) {
    const id = `queued-${Math.floor(random() * 2 ** 48).toString(16)}`;
    const startedAt = new Date().toISOString();
    const start = {
      project_id,
      id,
      trace_id: id,
      op_name: "work",
      started_at: startedAt,
      attributes: {},
      inputs: { id },
    };
    const side = { value: start.inputs, acked: false };
    ledger.calls.set(id, { kind: "single calls", whole: false, start: side });
    if ((await send(writing, "/call/start", { start })) === undefined) continue;
    side.acked = true;
    stored.push(id);
  }
  return stored;
}

function enter({ ledger }: Writing, what: string, expected: unknown, read: (from: Wire) => Promise<unknown>): void {
  ledger.contents.push({ kind: "annotation queues", what, expected, read });
}

/** The response; undefined when the request was refused for now, or broke and may have been carried out. */
async function send<Response>({ wire }: Writing, path: string, body: unknown): Promise<Response | undefined> {
  const { status, text } = await wire.post(path, body);
  if (status === 200) return JSON.parse(text) as Response;
  if (!isSentAgain(status)) throw new Error(`${path} answered ${status}: ${text}`);
  await delay(50);
  return undefined;
}
