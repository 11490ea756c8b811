import type { BeamSearch } from "../sampling/beam-search.js";
import { createDecodeBatch } from "./decode-batch.js";
import type { ScheduledRequest } from "./scheduled-request.js";
import type { PrefilledPrompt } from "./prompt.js";
import type { RowGroup } from "./row-group.js";

/** Creates a row group for the beams of one request, in a batch of their own. */
export function createBeamGroup(scheduled: ScheduledRequest, beams: BeamSearch, prompt: PrefilledPrompt): RowGroup {
  const { weights, capacity } = scheduled;
  const { vocabularySize } = weights.config;
  const batch = createDecodeBatch(weights);
  /** Batch slot of each beam. */
  let slots: number[] = [];
  let prefilled: PrefilledPrompt | undefined = prompt;
  scheduled.rows = scheduled.context.request.n;

  const end = () => {
    scheduled.rows = 0;
    slots = [];
    if (!scheduled.settled) scheduled.finish(beams.result());
  };
  const startFrom = ({ cache, length, logits }: PrefilledPrompt) => {
    const { continuations } = beams.step([{ logits, offset: 0 }]);
    slots = continuations.map(({ token }) => {
      const slot = batch.add(cache, length, continuations.length - 1);
      batch.setToken(slot, token);
      return slot;
    });
  };
  /**
   * The first continuation of a beam keeps its slot. Further ones are copied, into the slots of beams without a
   * continuation.
   */
  const advanceBeams = async () => {
    await batch.step(["logits"]);
    const logits = batch.output("logits");
    const { continuations } = beams.step(slots.map((slot) => ({ logits, offset: slot * vocabularySize })));
    const parents = new Set(continuations.map(({ parent }) => parent));
    slots.forEach((slot, beam) => parents.has(beam) || batch.remove(slot));
    const next = continuations.map(({ parent }) =>
      parents.delete(parent) ? slots[parent]! : batch.fork(slots[parent]!),
    );
    continuations.forEach(({ token }, beam) => batch.setToken(next[beam]!, token));
    const moved = batch.trim();
    slots = next.map((slot) => moved?.get(slot) ?? slot);
  };

  return {
    weights,
    capacity,
    sharer: scheduled.sharer,
    get rows() {
      return scheduled.rows;
    },
    get allocatedRows() {
      return Math.max(scheduled.rows, batch.rows);
    },
    *requests() {
      for (let row = 0; row < scheduled.rows; row++) yield scheduled;
    },
    async step() {
      const began = performance.now();
      try {
        if (!scheduled.settled && prefilled) startFrom(prefilled);
        else if (!scheduled.settled) await advanceBeams();
        prefilled = undefined;
      } catch (error) {
        scheduled.fail(error);
      }
      if (slots.length === 0 || scheduled.settled) end();
      return performance.now() - began;
    },
  };
}
