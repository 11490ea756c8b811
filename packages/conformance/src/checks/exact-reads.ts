import { CheckFailure, CheckSkipped } from "../exchange.js";
import type { Operation } from "../contract.js";
import { exactTimes } from "../exact-values.js";
import type { StoredExactly } from "../exact-values.js";
import type { RequestParts } from "../requests.js";
import { checkResponse } from "../response-check.js";
import type { Fixture } from "../fixture.js";
import type { Case } from "./check.js";

/** How an operation reads what the run has stored to be read exactly; undefined where that could not be stored. */
type Reading = (stored: StoredExactly, projectId: string) => RequestParts | undefined;

const oneCall: Reading = ({ callId }, projectId) =>
  callId === undefined ? undefined : { body: { project_id: projectId, id: callId } };
const calls: Reading = ({ callId }, projectId) =>
  callId === undefined ? undefined : { body: { project_id: projectId, filter: { call_ids: [callId] } } };
const table: Reading = ({ table: digest }, projectId) =>
  digest === undefined ? undefined : { body: { project_id: projectId, digest } };

const readings: Readonly<Record<string, { reading: Reading; hasTimes: boolean }>> = {
  callRead: { reading: oneCall, hasTimes: true },
  callsQuery: { reading: calls, hasTimes: true },
  callsQueryStream: { reading: calls, hasTimes: true },
  objRead: {
    reading: ({ object }, projectId) => object && { body: { project_id: projectId, ...object } },
    hasTimes: false,
  },
  objsQuery: {
    reading: ({ object }, projectId) =>
      object && { body: { project_id: projectId, filter: { object_ids: [object.object_id], latest_only: true } } },
    hasTimes: false,
  },
  tableQuery: { reading: table, hasTimes: false },
  tableQueryStream: { reading: table, hasTimes: false },
  feedbackQuery: {
    reading: ({ feedbackId }, projectId) =>
      feedbackId === undefined ? undefined : { body: { project_id: projectId } },
    hasTimes: false,
  },
};

/** Operations that read show what was stored as it was written: free JSON to the character, times to the microsecond. */
export function exactReadCases(operation: Operation, fixture: Fixture): Case[] {
  const { reading, hasTimes } = readings[operation.id] ?? {};
  if (reading === undefined) return [];
  const read = async (expected: readonly string[], what: string) => {
    const { stored } = fixture;
    const request = reading(stored, fixture.own.projectId);
    if (request === undefined) throw new CheckSkipped("what it reads could not be stored");
    const exchange = await fixture.send(operation, request);
    checkResponse(operation, exchange, operation.schemas, [operation.success]);
    const missing = expected.find((text) => !exchange.text.includes(text));
    if (missing !== undefined) throw new CheckFailure(what, { expected: `exactly ${missing}`, exchange });
  };
  const text = {
    name: "exact text of what is stored",
    run: async () => read([fixture.stored.json], "another text than was written"),
  };
  const times = {
    name: "exact times of what is stored",
    run: async () => read(Object.values(exactTimes), "another time than was written"),
  };
  return hasTimes ? [text, times] : [text];
}
