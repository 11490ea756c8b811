import type { ArtifactVersion, Caller, ModelAdapter, ModelOrigin, NewTrainingModel } from "@heddle/control-plane";
import { HeddleError, mapErrors } from "@heddle/errors";
import type { Schemas } from "@heddle/server-stub/training";
import type { LoraConfig } from "@heddle/training";
import { mayRead } from "../access/authorize.js";
import { resolveArtifact } from "../artifacts/artifact-uri.js";
import { readContent } from "../artifacts/read-content.js";
import { storeContent } from "../artifacts/store-content.js";
import { filesOf } from "../artifacts/write-directory.js";
import type { Services } from "../services.js";
import { describeAdapter, sameAdapter } from "./model-adapter.js";

type Used = Pick<Services, "control" | "blobs" | "training" | "checkpointDirectories">;
type Requested = Schemas["ModelSource"];

/** What a model begins with that does not begin with its base model. */
export interface InitialWeights {
  origin: ModelOrigin;
  /** Undefined for the adapter that a job makes. */
  lora?: ModelAdapter | undefined;
  weights?: NewTrainingModel["weights"];
}

interface Wanted {
  /** Of the new model. */
  projectId: string;
  baseModel: string;
  /** What the request asks for. */
  lora: ModelAdapter | undefined;
}

/**
 * Finds the weights that `init_from` names, checks that they fit the base model, and makes their files content of the project
 * of the new model. Throws `unprocessable`, with the field, for weights that are not there, that the caller may not read
 * or that do not fit.
 */
export async function initialWeights(
  services: Used,
  caller: Caller,
  requested: Requested,
  wanted: Wanted,
): Promise<InitialWeights> {
  const { model_id, step, artifact } = requested;
  if ((model_id === undefined) === (artifact === undefined))
    throw refuse([], "needs either model_id or artifact, and not both");
  if (artifact !== undefined && step !== undefined) throw refuse(["step"], "is only of model_id");
  return artifact === undefined
    ? await ofCheckpoint(services, caller, { model_id: model_id ?? "", step }, wanted)
    : await ofArtifact(services, caller, artifact, wanted);
}

async function ofCheckpoint(
  services: Used,
  caller: Caller,
  { model_id, step }: { model_id: string; step: number | undefined },
  wanted: Wanted,
): Promise<InitialWeights> {
  const { trainingModels, artifacts } = services.control;
  const source = await trainingModels.get(model_id.toLowerCase());
  if (source === undefined || !mayRead(caller, source.project_id))
    throw refuse(["model_id"], `there is no model ${model_id}`);
  if (source.base_model !== wanted.baseModel)
    throw refuse(["model_id"], `has the base model ${source.base_model}, not ${wanted.baseModel}`);
  const { checkpoints } = trainingModels;
  const checkpoint =
    step === undefined ? await checkpoints.newest(source.id) : await checkpoints.atStep(source.id, step);
  if (checkpoint === undefined) {
    const which = step === undefined ? "no checkpoint" : `no checkpoint of step ${step}`;
    throw refuse(["step"], `the model ${source.name} has ${which}`);
  }
  const origin = { model_id: source.id, step: checkpoint.step };
  if (checkpoint.artifact_version === null || checkpoint.weights_digest === null)
    return { origin, lora: wanted.lora ?? source.lora ?? undefined };
  const version = await artifacts.byId(checkpoint.artifact_version);
  if (version === undefined) throw refuse(["step"], `the weights of step ${checkpoint.step} are deleted`);
  return { origin, ...(await copied(services, version, wanted, ["model_id"])) };
}

async function ofArtifact(services: Used, caller: Caller, uri: string, wanted: Wanted): Promise<InitialWeights> {
  const loc = ["artifact"];
  const missing = (error: HeddleError) => error.with({ code: "unprocessable", loc: at(loc), details: undefined });
  const version = await mapErrors(missing, () => resolveArtifact(services, caller, uri));
  if (version.type !== "lora") throw refuse(loc, `has the type ${version.type}, not lora`);
  if ((await services.control.artifacts.getFile(version.id, "adapter_config.json")) === undefined)
    throw refuse(loc, "has no adapter_config.json, as adapters in PEFT's layout have");
  return { origin: { artifact_digest: version.digest }, ...(await copied(services, version, wanted, loc)) };
}

/** Checks the weights of a version, and gives its files to the project of the new model. */
async function copied(
  services: Used,
  version: ArtifactVersion,
  { projectId, baseModel, lora }: Wanted,
  loc: string[],
): Promise<Pick<InitialWeights, "lora" | "weights">> {
  const { checkpointDirectories, training, control } = services;
  const { id, digest, size_bytes } = version;
  if (size_bytes > maxBytes) throw refuse(loc, `has ${size_bytes} bytes; at most ${maxBytes} are read`);
  const asUnfit = (error: HeddleError) =>
    isOfWeights(error) ? error.with({ code: "unprocessable", loc: at(loc), details: undefined }) : error;
  checkpointDirectories.hold(digest);
  let found: LoraConfig | undefined;
  try {
    found = await mapErrors(asUnfit, async () => {
      const checkpoint = await checkpointDirectories.directoryOf({ artifact_version: id, weights_digest: digest });
      return await training.adapterOf({ baseModel, checkpoint });
    });
  } catch (error) {
    checkpointDirectories.release(digest);
    await checkpointDirectories.sweep();
    throw error;
  }
  checkpointDirectories.release(digest);
  const adapter = found && { rank: found.rank, alpha: found.alpha, targets: [...found.targets] };
  if (lora !== undefined && !sameAdapter(lora, adapter ?? null)) {
    const are = adapter ? `an adapter of ${describeAdapter(adapter)}` : "no adapter";
    throw new HeddleError("unprocessable", `does not fit init_from, whose weights are ${are}`, { loc: ["lora"] });
  }
  const files: { path: string; sha256: string }[] = [];
  for await (const file of filesOf(services, version)) {
    files.push({ path: file.path, sha256: file.sha256 });
    if ((await control.artifacts.findContents(projectId, [file.sha256])).has(file.sha256)) continue;
    await storeContent(services, projectId, (await readContent(services, file, { verify: true })).stream);
  }
  return { lora: adapter, weights: { files, metadata: JSON.stringify({ "wandb.base_model": baseModel }) } };
}

/** Of an adapter; a larger one has no use. */
const maxBytes = 16 * 2 ** 30;

/** Errors that say what is wrong with weights. */
function isOfWeights({ code }: HeddleError): boolean {
  return ["not_found", "invalid", "unsupported", "incompatible", "corrupt", "conflict"].includes(code);
}

const at = (loc: string[]): string[] => ["init_from", ...loc];

function refuse(loc: string[], message: string): HeddleError {
  return new HeddleError("unprocessable", message, { loc: at(loc) });
}
