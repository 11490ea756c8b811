import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Objective, PolicySettings, Trainer } from "@heddle/training";
import { tableEngine } from "@heddle/training/testing";
import { afterEach, describe, expect, it } from "vitest";
import { adapterValues } from "../../test/adapter-files.js";
import { serverVocabulary } from "../../test/tinker-server.js";
import type { TinkerTrainers } from "../../test/tinker-trainers.js";
import { adam, baseModel, openTrainers } from "../../test/tinker-trainers.js";

let opened: TinkerTrainers | undefined;
afterEach(async () => {
  await opened?.close();
  opened = undefined;
});

/** Sequences of different lengths, with untrained prompts. */
const sequences = [6, 9, 4].map((length, at) => ({
  tokens: Int32Array.from({ length }, (_, t) => (at * 5 + t * t) % serverVocabulary),
  mask: Uint8Array.from({ length }, (_, t) => (t > at ? 1 : 0)),
}));
const values = (of: (t: number, at: number) => number) =>
  sequences.map(({ tokens }, at) => Float64Array.from(tokens, (_, t) => of(t, at)));

const plain: PolicySettings = {
  ppo: false,
  epsilon: 0.2,
  epsilonHigh: 0.3,
  importanceSamplingLevel: "token",
  maskProbRatio: false,
};
const weights = values((t, at) => 0.5 + ((t + at) % 3) / 4);
const advantages = values((t, at) => ((t + at) % 2 ? 0.7 : -0.4));
const oldLogprobs = values((t, at) => -1.6 - ((t * 3 + at) % 7) / 6);

const referenceLogprobs = values((t, at) => -2.1 + ((t + at) % 4) / 5);

function policy(settings: Partial<PolicySettings>, old = oldLogprobs): Objective {
  return {
    name: "policy",
    normalizer: 7,
    settings: { ...plain, ...settings },
    sequences: sequences.map((sequence, at) => ({
      ...sequence,
      weights: weights[at]!,
      advantages: advantages[at]!,
      oldLogprobs: old[at]!,
      ...(settings.klLoss && { referenceLogprobs: referenceLogprobs[at]! }),
    })),
  };
}

/** Objectives by name, with the requests that one step of each makes. */
const objectives: Record<string, { objective: Objective; passes: string[] }> = {
  "cross-entropy": { objective: { name: "cross_entropy", sequences, normalizer: 5 }, passes: ["forward_backward"] },
  "cross-entropy with weights of both signs": {
    objective: {
      name: "cross_entropy",
      normalizer: 5,
      sequences: sequences.map((each, at) => ({ ...each, weights: advantages[at]! })),
    },
    passes: ["forward_backward"],
  },
  CISPO: { objective: policy({}), passes: ["forward_backward"] },
  "CISPO with the widest bounds": { objective: policy({ epsilon: 1, epsilonHigh: 4 }), passes: ["forward_backward"] },
  PPO: { objective: policy({ ppo: true }), passes: ["forward_backward"] },
  "PPO on sequence ratios": {
    objective: policy({ ppo: true, importanceSamplingLevel: "sequence" }),
    passes: ["forward", "forward_backward"],
  },
  "every term that no server has": {
    objective: policy({
      importanceSamplingLevel: "geometric_average",
      maskProbRatio: true,
      k2Tau: 0.1,
      truncatedImportanceSampling: 1.5,
      maxNegativeAdvantageImportanceSamplingWeight: 1.1,
    }),
    passes: ["forward", "forward_backward"],
  },
  "a divergence from a reference": {
    objective: policy({ klLoss: { coefficient: 0.3, estimator: "k3" } }),
    passes: ["forward", "forward_backward"],
  },
  "unknown old log-probabilities": {
    objective: policy(
      {},
      values((t) => (t % 2 ? NaN : -2)),
    ),
    passes: ["forward", "forward_backward"],
  },
  "old log-probabilities so small that ratios overflow": {
    objective: policy(
      { ppo: true },
      values((t) => (t % 3 ? -2 : -900)),
    ),
    passes: ["forward", "forward_backward"],
  },
};

async function trainTwoSteps(trainer: Trainer, objective: Objective) {
  const outputs = [];
  for (let step = 0; step < 2; step++) {
    const { loss, logprobs, metrics } = await trainer.forwardBackward(objective);
    outputs.push({ loss, logprobs, metrics, ...(await trainer.optimStep(adam)) });
  }
  return outputs;
}

describe.for(["sum", "sequence_mean"] as const)("on a server whose gradient scale is %s", (gradientScale) => {
  it.for(Object.entries(objectives))("trains like any other engine: %s", async ([, { objective, passes }]) => {
    opened = await openTrainers({ gradientScale });
    const { provider, server, directory } = opened;
    const trainer = await provider.openTrainer({ weights: { baseModel }, seed: 1 });
    const outputs = await trainTwoSteps(trainer, objective);

    const engine = tableEngine({ vocabulary: serverVocabulary });
    const local = await engine.openTrainer({ weights: { baseModel: "random:table" }, seed: 1 });
    const expected = await trainTwoSteps(local, objective);
    const saved = await local.exportWeights(join(directory, "expected"));
    const { logits } = JSON.parse(await readFile(join(saved.checkpoint!, "table.json"), "utf8")) as {
      logits: number[];
    };

    for (const [step, output] of outputs.entries()) {
      const { loss, logprobs, metrics, gradientNorm, steps } = expected[step]!;
      expect(output.loss).toBeCloseTo(loss, 10);
      expect(output.gradientNorm).toBeCloseTo(gradientNorm, 10);
      expect(output.steps).toBe(steps);
      expect(output.metrics).toEqual(
        Object.fromEntries(Object.entries(metrics).map(([name, value]) => [name, expect.closeTo(value, 8)])),
      );
      output.logprobs.forEach((row, at) =>
        expect(row.map((value) => Number(value.toFixed(10)))).toEqual(
          logprobs[at]!.map((value) => Number(value.toFixed(10))),
        ),
      );
    }
    const [model] = server.models.values();
    model!.logits.forEach((logit, at) => expect(logit).toBeCloseTo(logits[at]!, 8));
    expect(
      server
        .paths()
        .filter((path) => path.startsWith("forward"))
        .slice(0, passes.length),
    ).toEqual(passes);
  });
});

describe("a trainer of a server", () => {
  it("does not send sequences without a trained token, which a server would count", async () => {
    opened = await openTrainers();
    const trainer = await opened.provider.openTrainer({ weights: { baseModel }, seed: 1 });
    const untrained = { tokens: Int32Array.of(1, 2, 3), mask: Uint8Array.of(0, 0, 0) };
    const objective: Objective = { name: "cross_entropy", sequences: [untrained, sequences[0]!], normalizer: 5 };
    const { logprobs } = await trainer.forwardBackward(objective);
    expect(logprobs.map((row) => row.filter((value) => !Number.isNaN(value)).length)).toEqual([0, 5]);
    const empty = await trainer.forwardBackward({ name: "cross_entropy", sequences: [], normalizer: 1 });
    expect(empty).toEqual({ loss: 0, logprobs: [], metrics: {} });
    expect(await trainer.logprobs([untrained])).toEqual([Float64Array.of(NaN, NaN, NaN)]);
    const sent = opened.server.requests.filter(({ path }) => path === "forward_backward");
    expect(sent.map(({ body }) => (body["forward_backward_input"] as { data: unknown[] }).data.length)).toEqual([1]);
  });

  it.for([
    ["a token outside the vocabulary", { tokens: Int32Array.of(1, 99), mask: Uint8Array.of(0, 1) }, "invalid"],
    ["a sequence beyond the context", { tokens: new Int32Array(65), mask: new Uint8Array(65) }, "too_large"],
    ["a trained first token", { tokens: Int32Array.of(1, 2), mask: Uint8Array.of(1, 1) }, "invalid"],
    ["a mask of another length", { tokens: Int32Array.of(1, 2), mask: Uint8Array.of(0) }, "invalid"],
  ] as const)("rejects %s, which a server would accept, and stays usable", async ([, sequence, code]) => {
    opened = await openTrainers();
    const trainer = await opened.provider.openTrainer({ weights: { baseModel }, seed: 1 });
    const before = opened.server.requests.length;
    const objective: Objective = { name: "cross_entropy", sequences: [sequence], normalizer: 1 };
    await expect(trainer.forwardBackward(objective)).rejects.toMatchObject({
      code,
      loc: expect.arrayContaining(["sequences", 0]),
    });
    await expect(trainer.logprobs([sequence])).rejects.toMatchObject({ code });
    expect(opened.server.paths().slice(before)).toEqual([]);
    await expect(trainer.logprobs(sequences)).resolves.toHaveLength(3);
  });

  it("divides a large batch into several requests with one gradient", async () => {
    opened = await openTrainers();
    const trainer = await opened.provider.openTrainer({ weights: { baseModel }, seed: 1 });
    const many = Array.from({ length: 1500 }, (_, at) => sequences[at % 3]!);
    const { loss, logprobs } = await trainer.forwardBackward({
      name: "cross_entropy",
      sequences: many,
      normalizer: 100,
    });
    const { gradientNorm } = await trainer.optimStep(adam);
    expect(logprobs).toHaveLength(1500);
    const once = await trainer.optimStep({ ...adam, learningRate: 0 });
    expect(once.gradientNorm).toBe(0);
    expect(opened.server.paths().filter((path) => path === "forward_backward")).toHaveLength(2);

    const engine = tableEngine({ vocabulary: serverVocabulary });
    const local = await engine.openTrainer({ weights: { baseModel: "random:table" }, seed: 1 });
    expect(loss).toBeCloseTo(
      (await local.forwardBackward({ name: "cross_entropy", sequences: many, normalizer: 100 })).loss,
      8,
    );
    expect(gradientNorm).toBeCloseTo((await local.optimStep(adam)).gradientNorm, 8);
  });

  it("rejects a second batch of one step where the server would average over both", async () => {
    opened = await openTrainers();
    const trainer = await opened.provider.openTrainer({ weights: { baseModel }, seed: 1 });
    const { objective } = objectives["cross-entropy"]!;
    await trainer.forwardBackward(objective);
    await expect(trainer.forwardBackward(objective)).rejects.toMatchObject({ code: "unsupported" });
    await trainer.optimStep(adam);
    await trainer.forwardBackward(objective);
  });

  it("has the server clip the gradient where it can", async () => {
    opened = await openTrainers({ gradientScale: "sum", clips: true });
    const { models } = await opened.provider.capabilities();
    expect(models[0]?.training).toMatchObject({ gradientClipping: true, fullFineTuning: false, entropies: false });
    const trainer = await opened.provider.openTrainer({ weights: { baseModel }, seed: 1 });
    await trainer.optimStep({ ...adam, maxGradientNorm: 0.1 });
    expect(opened.server.requests.at(-2)?.body["adam_params"]).toMatchObject({ grad_clip_norm: 0.1, eps: 1e-8 });
  });

  it("resumes from a state on the server with the same bits, also with new moments", async () => {
    opened = await openTrainers();
    const { provider, server, directory } = opened;
    const { objective } = objectives["CISPO"]!;
    const trainer = await provider.openTrainer({ weights: { baseModel }, seed: 1 });
    await trainTwoSteps(trainer, objective);
    const state = await trainer.saveState(join(directory, "state"));
    expect(state).toEqual({ baseModel, checkpoint: join(directory, "state") });
    await trainTwoSteps(trainer, objective);
    const [uninterrupted] = [...server.models.values()].map((model) => [...model.logits]);
    await trainer.close();
    expect(server.models.size).toBe(0);

    const resumed = await provider.openTrainer({ weights: state, seed: 1 });
    const [first] = await trainTwoSteps(resumed, objective);
    expect(first?.steps).toBe(3);
    expect([...server.models.values()].map((model) => [...model.logits])).toEqual([uninterrupted]);
    await resumed.close();
    await provider.openTrainer({ weights: state, seed: 1, resetOptimizer: true });
    const loads = server.requests.filter(({ path }) => path === "load_weights");
    // How present servers load a state is tried once.
    expect(loads.map(({ body: { optimizer, seq_id } }) => [optimizer, seq_id])).toEqual([
      [true, undefined],
      [true, 1],
      [false, 1],
    ]);

    await provider.deleteWeights(state);
    await expect(provider.openTrainer({ weights: state, seed: 1 })).rejects.toMatchObject({
      code: "not_found",
      loc: ["weights", "checkpoint"],
    });
  });

  it.for([true, false])(
    "exports an adapter in PEFT layout (sampler_weights in paths: %s)",
    async (namesSamplerWeights) => {
      opened = await openTrainers({ namesSamplerWeights });
      const { provider, server, directory } = opened;
      const trainer = await provider.openTrainer({ weights: { baseModel }, seed: 7 });
      await trainTwoSteps(trainer, objectives["CISPO"]!.objective);
      const exported = join(directory, "deeper", "adapter");
      expect(await trainer.exportWeights(exported, { state: true })).toEqual({
        baseModel,
        checkpoint: exported,
        digest: await provider.weightsDigest({ baseModel, checkpoint: exported }),
      });

      const config: unknown = JSON.parse(await readFile(join(exported, "adapter_config.json"), "utf8"));
      expect(config).toEqual({
        peft_type: "LORA",
        r: 8,
        lora_alpha: 32,
        base_model_name_or_path: baseModel,
        target_modules: ["q_proj"],
      });
      const [model] = server.models.values();
      const trained = Array.from(Float32Array.from(model!.logits));
      expect(adapterValues(await readFile(join(exported, "adapter_model.safetensors")))).toEqual(trained);
      const state: unknown = JSON.parse(await readFile(join(exported, "training_state.json"), "utf8"));
      const digest: unknown = expect.objectContaining({ sha256: expect.stringMatching(/^[0-9a-f]{64}$/u) });
      expect(state).toMatchObject({
        format: 2,
        base_model: baseModel,
        training: "adapter",
        steps: 2,
        seed: 7,
        files: { "adapter_config.json": digest, "adapter_model.safetensors": digest },
        remote: { rank: 8, path: expect.stringMatching(/^tinker:\/\/model_\w+\/weights\/heddle-2-/u) },
      });
      // The archive on the server was only the way to the directory; the state remains.
      expect([...server.saved.keys()].map((path) => path.split("/")[3])).toEqual(["weights"]);
      await expect(trainer.exportWeights(exported)).rejects.toMatchObject({ code: "conflict" });
      const resumed = await provider.openTrainer({ weights: { baseModel, checkpoint: exported }, seed: 7 });
      await resumed.close();
    },
  );
});
