import { randomUUID } from "node:crypto";
import { HeddleError } from "@heddle/errors";
import type { Release } from "@heddle/concurrency";
import type { ResponseSchemas } from "@heddle/server-stub/training";
import { newId } from "@heddle/trace-model";
import type { GenerateResult, TrainingEngine } from "@heddle/training";
import type { Config } from "../config/config.js";
import type { ControlPlane } from "@heddle/control-plane";
import type { TraceStore } from "@heddle/trace-store";
import type { CheckpointDirectories } from "../checkpoints/checkpoint-directories.js";
import type { LossLog } from "../operations/losses/loss-log.js";
import { completionCall } from "./completion-call.js";
import type { CallIdentity, CompletionOutcome } from "./completion-call.js";
import { CompletionChunks } from "./completion-chunks.js";
import { completionOf } from "./completion.js";
import { reserveCompletion } from "./completion-memory.js";
import { CompletionRecorder } from "./completion-recorder.js";
import { messageOptions, responseDetails } from "./completion-run.js";
import type { CompletionRun } from "./completion-run.js";
import { openCompletionSlots } from "./completion-slots.js";
import type { CompletionRequest, CompletionResponse, Completions } from "./completions.js";
import { startGeneration } from "./generation.js";
import { refuseFields } from "./refused-fields.js";
import { samplingPlan } from "./sampling-plan.js";
import { servedModelList, wireServedModel } from "./served-model-list.js";
import { ServedModels } from "./served-models.js";
import { ChatTemplates } from "./chat-templates.js";
import { wireError } from "./wire-loc.js";

type Chunk = ResponseSchemas["ChatCompletionChunk"];
type Used = {
  config: Config;
  control: ControlPlane;
  store: TraceStore;
  training: TrainingEngine;
  checkpointDirectories: CheckpointDirectories;
  losses: LossLog;
};

/** Opens chat completions on the engine of the service. */
export function openCompletions(services: Used): Completions {
  const { config, control, training, checkpointDirectories: directories, losses } = services;
  const models = new ServedModels({ control, engine: training, directories });
  const templates = new ChatTemplates();
  const slots = openCompletionSlots(config.completions);
  const recorder = new CompletionRecorder({
    services,
    onLost: (error) =>
      losses.report(
        "traces",
        "Completions could not be recorded as calls",
        error instanceof Error ? error.message : "",
      ),
  });

  async function runOf(asked: CompletionRequest & { created: number }): Promise<CompletionRun> {
    const { body: request, access, requestId, created, sharer, signal } = asked;
    if (request.model === undefined) throw new HeddleError("unprocessable", "Field required", { loc: ["model"] });
    const model = await models.resolve(request.model, access);
    const template = await templates.of(model.base);
    const plan = await samplingPlan(request, model, template, { sharer, signal });
    refuseFields(request, plan, training.sampler);
    return {
      id: `chatcmpl-${request.request_id ?? requestId ?? randomUUID()}`,
      created: Math.floor(created / 1000),
      request,
      model,
      plan: { ...plan, generate: { ...plan.generate, sharer } },
      tokenizer: template.tokenizer,
      message: messageOptions(request, plan),
      details: responseDetails(request, model),
    };
  }

  /** Rendering and tokenizing are work, too: a request waits for its share before them. */
  async function begin(request: CompletionRequest & { created: number }) {
    const { sharer, signal, body } = request;
    const release = await slots.acquire(sharer, body.n, signal, body.priority);
    try {
      const run = await runOf(request);
      await reserveCompletion(run, config.limits.workingMemoryBytes / 2);
      return { run, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Undefined for a completion that is not recorded. */
  function callOf(
    run: CompletionRun,
    { record, created }: CompletionRequest & { created: number },
  ): CallIdentity | undefined {
    if (record === undefined || !(run.request.store ?? config.completions.record)) return undefined;
    const projectId = run.model.trained?.model.project_id ?? record.baseProject;
    if (!record.mayWrite(projectId)) return undefined;
    return { id: newId(), project_id: projectId, user_id: record.userId, started_at: BigInt(created) * 1000n };
  }

  /** What ends with a run, however it ends. */
  function ending(run: CompletionRun, call: CallIdentity | undefined, release: Release) {
    let ended = false;
    return (outcome: CompletionOutcome): void => {
      if (ended) return;
      ended = true;
      release();
      if (call !== undefined) recorder.recordMade(completionCall(run, call, outcome));
    };
  }

  const errorOf = (run: CompletionRun, error: unknown) => wireError(error, run.plan.constraint);

  async function* streamOf(
    run: CompletionRun,
    signal: AbortSignal,
    end: (outcome: CompletionOutcome) => void,
  ): AsyncGenerator<Chunk> {
    const leave = new AbortController();
    const chunks = new CompletionChunks(run);
    let result: GenerateResult | undefined;
    try {
      const generation = startGeneration(training.sampler, run.plan.generate, AbortSignal.any([signal, leave.signal]));
      for await (const chunk of generation.chunks()) yield* chunks.push(chunk);
      result = await generation.result;
      end({ result });
      yield* chunks.end(result);
    } catch (error) {
      const located = errorOf(run, error);
      end({ error: reasonOf(located) });
      throw located;
    } finally {
      leave.abort();
      end({ error: "the client disconnected" });
    }
  }

  return {
    async create(given: CompletionRequest): Promise<CompletionResponse> {
      const request = { ...given, created: Date.now() };
      const { run, release } = await begin(request).catch((error: unknown) => {
        throw given.signal.aborted ? new HeddleError("aborted", "the client disconnected") : error;
      });
      const call = callOf(run, request);
      const end = ending(run, call, release);
      const identity = call && { callId: call.id };
      if (call !== undefined) run.callId = call.id;
      if (run.request.stream) return { body: streamOf(run, request.signal, end), ...identity };
      try {
        const result = await training.sampler.generate(run.plan.generate, { signal: request.signal });
        end({ result });
        return { body: completionOf(run, result), ...identity };
      } catch (error) {
        const located = errorOf(run, error);
        end({ error: reasonOf(located) });
        throw located;
      }
    },

    async models(access) {
      const { models: base, unavailableModels } = await models.capabilities();
      return { models: await servedModelList(control, base, access), unavailable: unavailableModels };
    },

    async model(name, access) {
      const named = await models.named(name, access);
      return wireServedModel(named, (await models.capabilities()).models);
    },

    close: async () => await recorder.close(),
  };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
