import type { Checkpoint, ControlPlane, TrainingModel } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { BaseModelInfo, EngineCapabilities, TrainingEngine, WeightsRef } from "@heddle/training";
import type { ModelAccess } from "./completions.js";
import { parseModelName } from "./model-name.js";
import type { CheckpointSelector, TrainedModelName } from "./model-name.js";

/** A model that completions can be sampled from. */
export interface ServedModel {
  base: BaseModelInfo;
  /** Most tokens of prompt and completion together. */
  contextLength: number;
  weights: WeightsRef;
  /** Absent for a base model. */
  trained?: { model: TrainingModel; checkpoint: Checkpoint };
}

/** What a name means. */
export type NamedModel =
  | { base: string }
  /** `isNewest`: the name does not say which checkpoint. */
  | { model: TrainingModel; checkpoint: Checkpoint; isNewest: boolean };

export interface ServedModelsOptions {
  control: ControlPlane;
  engine: TrainingEngine;
  /** Where the weights of checkpoints are. */
  directories: { directoryOf(checkpoint: Checkpoint): Promise<string> };
}

/** The list of base models is read again after this time: an operator may have added one. */
const capabilitiesMs = 5000;

/** Projects that the error for an ambiguous name gives. */
const mostNamed = 5;

/** Finds models by the names that requests use. */
export class ServedModels {
  readonly #options: ServedModelsOptions;
  #capabilities: { until: number; value: Promise<EngineCapabilities> } | undefined;

  constructor(options: ServedModelsOptions) {
    this.#options = options;
  }

  /** What the engine can use and what it cannot, at most some seconds old. */
  async capabilities(): Promise<EngineCapabilities> {
    const now = performance.now();
    if (this.#capabilities === undefined || this.#capabilities.until < now) {
      const value = this.#options.engine.capabilities();
      const entry = { until: now + capabilitiesMs, value };
      this.#capabilities = entry;
      value.catch(() => {
        if (this.#capabilities === entry) this.#capabilities = undefined;
      });
    }
    return await this.#capabilities.value;
  }

  /**
   * The model of a name. Throws `not_found` for an unknown model or checkpoint and, in the same words, for one that may
   * not be used; `invalid` for a name that several models have, and for a model whose base model cannot be used.
   */
  async resolve(name: string, access: ModelAccess): Promise<ServedModel> {
    const named = await this.named(name, access);
    if ("model" in named) return await this.#served(named);
    const { models } = await this.capabilities();
    const base = models.find((model) => model.name === named.base);
    if (base === undefined) throw unusable(named.base);
    return served(base, { baseModel: base.name });
  }

  /** Throws as `resolve` does, but for a base model that cannot be used. */
  async named(name: string, access: ModelAccess): Promise<NamedModel> {
    const { models, unavailableModels } = await this.capabilities();
    const base = models.find((model) => model.name === name);
    if (base !== undefined) return { base: base.name };
    const parsed = parseModelName(name);
    const model = parsed && (await this.#find(parsed, access));
    const alias = model === undefined ? models.find((each) => withoutSlash(each.name) === name) : undefined;
    if (alias !== undefined) return { base: alias.name };
    if (parsed === undefined || model === undefined) {
      const reason = unavailableModels.find((each) => each.name === name || withoutSlash(each.name) === name)?.reason;
      throw notFound(
        reason === undefined
          ? `there is no model ${quoted(name)}`
          : `the model ${quoted(name)} cannot be used: ${reason}`,
      );
    }
    const checkpoint = await this.#checkpoint(model, parsed.checkpoint);
    if (checkpoint === undefined) throw notFound(`the model ${quoted(name)} has no such checkpoint`);
    return { model, checkpoint, isNewest: parsed.checkpoint.kind === "newest" };
  }

  async #find({ project_id, name }: TrainedModelName, access: ModelAccess): Promise<TrainingModel | undefined> {
    const { trainingModels } = this.#options.control;
    if (project_id !== undefined) {
      return access.mayUse(project_id) ? await trainingModels.find(project_id, name) : undefined;
    }
    const all = await trainingModels.search({ name, entity: access.entity });
    const usable = all.map(({ model }) => model).filter((model) => access.mayUse(model.project_id));
    if (usable.length < 2) return usable[0];
    const names = usable.slice(0, mostNamed).map((model) => `${model.project_id}/${model.name}`);
    throw new HeddleError("invalid", `several models have this name, use one of ${names.join(", ")}`, {
      loc: ["model"],
    });
  }

  async #checkpoint(
    { id, project_id, name }: TrainingModel,
    selector: CheckpointSelector,
  ): Promise<Checkpoint | undefined> {
    const { artifacts, trainingModels } = this.#options.control;
    const { checkpoints } = trainingModels;
    if (selector.kind === "newest") return await checkpoints.newest(id);
    if (selector.kind === "step") return await checkpoints.atStep(id, selector.step);
    const version = await artifacts.get(project_id, name, selector.version);
    if (version !== undefined) return await checkpoints.ofArtifact(id, version.id);
    // Step 0 is v0 also where it has no weights of its own.
    return selector.version === "v0" ? await checkpoints.atStep(id, 0) : undefined;
  }

  async #served({ model, checkpoint }: Extract<NamedModel, { model: TrainingModel }>): Promise<ServedModel> {
    const { models, unavailableModels } = await this.capabilities();
    const base = models.find(({ name }) => name === model.base_model);
    if (base === undefined)
      throw unusable(model.base_model, unavailableModels.find(({ name }) => name === model.base_model)?.reason);
    const weights: WeightsRef = { baseModel: base.name };
    if (checkpoint.weights_digest !== null) {
      weights.checkpoint = await this.#options.directories.directoryOf(checkpoint);
    }
    return { ...served(base, weights), trained: { model, checkpoint } };
  }
}

function served(base: BaseModelInfo, weights: WeightsRef): ServedModel {
  if (base.sampling === undefined) throw unusable(base.name);
  return { base, contextLength: base.sampling.contextLength, weights };
}

/** Clients that read a slash as the end of a provider's name call `heddle/starter` by this name. */
function withoutSlash(baseModel: string): string {
  return baseModel.replaceAll("/", "-");
}

function unusable(baseModel: string, reason?: string): HeddleError {
  const because = reason === undefined ? "" : `: ${reason}`;
  return new HeddleError("invalid", `the base model ${quoted(baseModel)} cannot be sampled from now${because}`, {
    loc: ["model"],
  });
}

function notFound(message: string): HeddleError {
  return new HeddleError("not_found", message, { loc: ["model"] });
}

function quoted(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name);
}
