import { ask, lesson, openEngine, tiny } from "./embedded-engine.js";

// A process with an engine whose trainer and sampler are busy, to be killed. Prints the process ids of its children.

const open = await openEngine();
const trainer = await open.engine.openTrainer({ weights: tiny, seed: 1 });
const report = (): void =>
  void process.stdout.write(`${JSON.stringify([...open.pids("training"), ...open.pids("sampling")])}\n`);
let working = 0;
const bothWork = (): void => {
  if (++working === 2) report();
};
await Promise.all([
  trainer.forwardBackward(lesson(2000, 200), { onProgress: once(bothWork) }),
  open.engine.sampler.generate(ask({ maxTokens: 1000, n: 16 }), { onChunk: once(bothWork) }),
]);

function once(action: () => void): () => void {
  let done = false;
  return () => {
    if (!done) action();
    done = true;
  };
}
