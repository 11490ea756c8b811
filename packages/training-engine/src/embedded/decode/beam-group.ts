import type { BeamSearch } from "../../sampling/beam-search.js";
import { createDecodeBatch } from "./decode-batch.js";
import type { Job } from "./job.js";
import type { ReadPrompt } from "./prompt.js";
import type { RowGroup } from "./row-group.js";

/** The beams of one job, in a batch of their own. */
export function createBeamGroup(job: Job, beams: BeamSearch, prompt: ReadPrompt): RowGroup {
  const { weights, capacity } = job;
  const { vocabularySize } = weights.config;
  const batch = createDecodeBatch(weights);
  /** Slot of each beam. */
  let slots: number[] = [];
  let begin: ReadPrompt | undefined = prompt;
  job.rows = job.context.request.n;

  const end = () => {
    job.rows = 0;
    slots = [];
    if (!job.settled) job.finish(beams.result());
  };
  const beginFrom = ({ cache, length, logits }: ReadPrompt) => {
    const { continues } = beams.step([{ logits, offset: 0 }]);
    slots = continues.map(({ token }) => {
      const slot = batch.add(cache, length, continues.length - 1);
      batch.setToken(slot, token);
      return slot;
    });
  };
  /** The first beam after each parent stays in its slot; others are copies of it, in slots of parents that none came after. */
  const goOn = async () => {
    await batch.step(["logits"]);
    const logits = batch.output("logits");
    const { continues } = beams.step(slots.map((slot) => ({ logits, offset: slot * vocabularySize })));
    const parents = new Set(continues.map(({ parent }) => parent));
    slots.forEach((slot, place) => parents.has(place) || batch.remove(slot));
    const next = continues.map(({ parent }) => (parents.delete(parent) ? slots[parent]! : batch.fork(slots[parent]!)));
    continues.forEach(({ token }, place) => batch.setToken(next[place]!, token));
    const moved = batch.trim();
    slots = next.map((slot) => moved?.get(slot) ?? slot);
  };

  return {
    weights,
    capacity,
    get rows() {
      return job.rows;
    },
    async step() {
      if (job.settled) return end();
      try {
        if (begin) beginFrom(begin);
        else await goOn();
        begin = undefined;
      } catch (error) {
        job.fail(error);
      }
      if (slots.length === 0 || job.settled) end();
    },
  };
}
