import { isAbsolute, resolve } from "node:path";
import { isJsonObject } from "@heddle/exact-json";
import type { RemoteModel, ServedModel, TrainedModel } from "@heddle/remote-engine";
import { loraTargets } from "@heddle/training";
import type { LoraTarget } from "@heddle/training";

type Members = Readonly<Record<string, unknown>>;

const modelName = /^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,199}$/;
const gradientScales = ["sum", "sequence_mean"] as const;
const modelMembers = ["directory", "trainer", "inference"];
const trainerMembers = [
  "model",
  "gradientScale",
  "gradientClipping",
  "rank",
  "maxRank",
  "alpha",
  "targets",
  "maxOpenTrainers",
];
const inferenceMembers = ["model", "contextLength"];

/**
 * Reads the JSON object that names the models of the training and the inference server. Throws an `Error` whose message
 * names the member and what it must be.
 */
export function readRemoteModels(text: string, cwd: string): RemoteModel[] {
  return Object.entries(parse(text)).map(([name, value]) => {
    if (!modelName.test(name)) throw new Error(`"${name}" must be letters, digits, _ . : / -, at most 200`);
    const members = objectAt(value, name, modelMembers);
    const directory = members["directory"];
    if (typeof directory !== "string")
      throw invalid(`${name}.directory`, "must be the path of a Hugging Face directory");
    const trainer = members["trainer"];
    const inference = members["inference"];
    if (trainer === undefined && inference === undefined) throw invalid(name, "must have trainer, inference or both");
    return {
      name,
      directory: isAbsolute(directory) ? directory : resolve(cwd, directory),
      ...(trainer !== undefined && { trainer: trainedModel(trainer, `${name}.trainer`, name) }),
      ...(inference !== undefined && { inference: servedModel(inference, `${name}.inference`, name) }),
    };
  });
}

function trainedModel(value: unknown, at: string, name: string): TrainedModel {
  const members = objectAt(value, at, trainerMembers);
  const scale = gradientScales.find((each) => each === members["gradientScale"]);
  if (scale === undefined) throw invalid(`${at}.gradientScale`, `must be one of ${gradientScales.join(", ")}`);
  const rank = whole(members["rank"] ?? 8, `${at}.rank`, 1024);
  const alpha = members["alpha"] ?? 32;
  if (typeof alpha !== "number" || !(alpha > 0 && alpha <= 1e6))
    throw invalid(`${at}.alpha`, "must be a positive number");
  const clipping = members["gradientClipping"] ?? false;
  if (typeof clipping !== "boolean") throw invalid(`${at}.gradientClipping`, "must be true or false");
  const maxRank = whole(members["maxRank"] ?? rank, `${at}.maxRank`, 1024);
  if (maxRank < rank) throw invalid(`${at}.maxRank`, "must be at least the rank");
  const { maxOpenTrainers } = members;
  return {
    model: text(members["model"] ?? name, `${at}.model`),
    gradientScale: scale,
    gradientClipping: clipping,
    lora: { rank, alpha, targets: targetsOf(members["targets"], `${at}.targets`) },
    maxRank,
    ...(maxOpenTrainers !== undefined && { maxOpenTrainers: whole(maxOpenTrainers, `${at}.maxOpenTrainers`, 1024) }),
  };
}

function servedModel(value: unknown, at: string, name: string): ServedModel {
  const { model, contextLength } = objectAt(value, at, inferenceMembers);
  return {
    model: text(model ?? name, `${at}.model`),
    ...(contextLength !== undefined && { contextLength: whole(contextLength, `${at}.contextLength`, 1e9) }),
  };
}

function targetsOf(value: unknown, at: string): LoraTarget[] {
  const given: unknown[] = Array.isArray(value) ? value : value === undefined ? [...loraTargets] : [undefined];
  const targets = loraTargets.filter((target) => given.includes(target));
  if (targets.length > 0 && targets.length === given.length) return targets;
  throw invalid(at, `must be a list of ${loraTargets.join(", ")}`);
}

function parse(json: string): Members {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new Error("is not valid JSON");
  }
  if (!isJsonObject(value)) throw new Error("must be a JSON object of models by name");
  return value;
}

function objectAt(value: unknown, at: string, known: readonly string[]): Members {
  if (!isJsonObject(value)) throw invalid(at, "must be an object");
  const other = Object.keys(value).find((member) => !known.includes(member));
  if (other !== undefined) throw invalid(`${at}.${other}`, `is not known. Known: ${known.join(", ")}`);
  return value;
}

function text(value: unknown, at: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw invalid(at, "must be a name");
}

function whole(value: unknown, at: string, most: number): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw invalid(at, `must be a whole number from 1 to ${most}`);
}

function invalid(at: string, what: string): Error {
  return new Error(`${at} ${what}`);
}
