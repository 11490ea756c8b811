import type { ControlPlane, TrainingModel } from "@heddle/control-plane";
import { HeddleError, withLoc } from "@heddle/errors";
import type { ResponseSchemas, Schemas } from "@heddle/server-stub/training";
import type { StoredCall, TraceStore } from "@heddle/trace-store";
import { reserveForStream } from "../limits/request-scope.js";
import { withQueueMembership } from "../wire/queue-membership.js";
import { readCompletionCall } from "./recorded-completion.js";
import type { CompletionCall, SkipReason } from "./recorded-completion.js";
import { rewardOf } from "./reward.js";

export interface SelectedCall extends CompletionCall {
  id: string;
  /** Undefined if none was asked for. */
  reward: number | undefined;
  /** What calls of the same group have in common; empty where there are no groups. */
  group: string;
}

export interface CallSelector {
  model: TrainingModel;
  calls: Schemas["CallSelection"];
  reward?: Schemas["RewardSource"];
  /** Whether `groupOf` reads feedback, although there is no reward. */
  readsFeedback?: boolean;
  /** Whether the reasons are returned, too, where no call can be used. */
  mayBeEmpty?: boolean;
  /** Returns the group of a call, or why it is not used. */
  groupOf: (call: StoredCall, completion: CompletionCall, reward: number | undefined) => { key: string } | SkipReason;
}

export interface Selection {
  calls: SelectedCall[];
  skipped: ResponseSchemas["SkippedCalls"][];
}

/** Characters of all calls that are used: they are in memory until the job is stored. */
const maxLength = 64 * 1024 * 1024;
const newestFirst = [{ field: "started_at", direction: "desc" as const }];

/**
 * Reads the calls of the model's project that a job is to be trained on. Throws `unprocessable`, with the reasons, if none
 * can be used, and `too_large` if they are more than 64 MiB.
 */
export async function selectCalls(
  { control, store }: { control: ControlPlane; store: TraceStore },
  { model, calls: selection, reward: source, groupOf, readsFeedback = false, mayBeEmpty = false }: CallSelector,
  signal: AbortSignal,
): Promise<Selection> {
  const { sort_by = newestFirst, ...rest } = selection;
  const request = {
    ...rest,
    sort_by,
    project_id: model.project_id,
    include_feedback: source !== undefined || readsFeedback,
  };
  const calls: SelectedCall[] = [];
  const skipped = new Map<SkipReason, { count: number; example: string }>();
  const reserve = reserveForStream();
  let length = 0;
  await withLoc(["calls"], async () => {
    for await (const call of store.calls.query(await withQueueMembership(control, request), { signal })) {
      const selected = readCall(call);
      if (typeof selected === "string") {
        const { count = 0, example = call.id } = skipped.get(selected) ?? {};
        skipped.set(selected, { count: count + 1, example });
        continue;
      }
      const size = call.inputs.length + call.output.length;
      length += size;
      if (length > maxLength) {
        throw new HeddleError("too_large", `the calls have more than ${maxLength >> 20} MiB: select fewer`, {
          loc: [],
        });
      }
      await reserve(size);
      calls.push(selected);
    }
    if (calls.length === 0 && !mayBeEmpty) throw new HeddleError("unprocessable", reasonsOf(skipped), { loc: [] });
  });
  return { calls, skipped: [...skipped].map(([reason, found]) => ({ reason, ...found })) };

  function readCall(call: StoredCall): SelectedCall | SkipReason {
    const completion = readCompletionCall(call);
    if (typeof completion === "string") return completion;
    const reward = source && rewardOf(call.feedback ?? [], source);
    const group = groupOf(call, completion, reward);
    return typeof group === "string" ? group : { ...completion, id: call.id, reward, group: group.key };
  }
}

function reasonsOf(skipped: ReadonlyMap<SkipReason, { count: number; example: string }>): string {
  if (skipped.size === 0) return "there are no such calls";
  const reasons = [...skipped].map(([reason, { count, example }]) => `${reason}: ${count} (such as ${example})`);
  return `none of the calls can be used; ${reasons.join(", ")}`;
}
