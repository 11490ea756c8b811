import type { StoredCall } from "@heddle/trace-store";
import { memberOf, stringMember } from "@heddle/exact-json";
import { rejectedCall } from "@heddle/trace-model";
import type { FromCallsServices } from "./from-calls-services.js";
import { promptOf } from "./preference-pairs.js";
import type { CallPair } from "./preference-pairs.js";
import { selectCalls } from "./select-calls.js";
import type { CallSelector, SelectedCall, Selection } from "./select-calls.js";

/** The most ids in one query. */
const pageSize = 1000;

/**
 * Pairs that feedback states: of each two calls with the same messages and tools, the one that more pieces of feedback prefer,
 * by at least `minVotes` and one. `alone` are selected calls that are preferred to
 * others and in no pair; those of which nothing is said are skipped.
 */
export async function statedPairs(
  services: FromCallsServices,
  { minVotes, ...request }: Omit<CallSelector, "groupOf" | "reward"> & { minVotes: number },
  signal: AbortSignal,
): Promise<{ pairs: CallPair[]; alone: SelectedCall[]; skipped: Selection["skipped"] }> {
  /** How often the first call is preferred to the second, by both ids. */
  const votes = new Map<string, Map<string, number>>();
  const counted: CallSelector["groupOf"] = (call) => {
    const counts = new Map<string, number>();
    for (const id of worseThan(call)) counts.set(id, (counts.get(id) ?? 0) + 1);
    if (counts.size > 0) votes.set(call.id, counts);
    return { key: "" };
  };
  const selected = await selectCalls(services, { ...request, readsFeedback: true, groupOf: counted }, signal);
  const known = new Map(selected.calls.map((call) => [call.id, call]));
  const wanted = new Set(selected.calls.flatMap(({ id }) => [...(votes.get(id)?.keys() ?? [])]));
  const missing = [...wanted].filter((id) => !known.has(id));
  for (let from = 0; from < missing.length; from += pageSize) {
    const calls = { filter: { call_ids: missing.slice(from, from + pageSize) }, limit: pageSize };
    const others = { model: request.model, calls, readsFeedback: true, mayBeEmpty: true, groupOf: counted };
    for (const call of (await selectCalls(services, others, signal)).calls) known.set(call.id, call);
  }

  const pairs: CallPair[] = [];
  for (const chosen of selected.calls) {
    for (const [id, forIt] of votes.get(chosen.id) ?? []) {
      const rejected = known.get(id);
      const margin = forIt - (votes.get(id)?.get(chosen.id) ?? 0);
      if (rejected === undefined || margin < Math.max(1, minVotes)) continue;
      if (promptOf(chosen) === promptOf(rejected)) pairs.push({ chosen, rejected });
    }
  }
  const used = new Set(pairs.flatMap(({ chosen, rejected }) => [chosen.id, rejected.id]));
  const unused = selected.calls.filter(({ id }) => !used.has(id));
  const alone = unused.filter(({ id }) => votes.has(id));
  const others = unused.filter(({ id }) => !votes.has(id));
  const [example] = others;
  const reason = "no_preference" as const;
  const skipped = example ? [{ reason, count: others.length, example: example.id }] : [];
  return { pairs, alone, skipped: [...selected.skipped, ...skipped] };
}

function worseThan({ feedback = [] }: StoredCall): string[] {
  return feedback.flatMap((piece) => {
    const type = stringMember(piece, "feedback_type") ?? "";
    return rejectedCall(type, memberOf(piece, "payload") ?? "null") ?? [];
  });
}
