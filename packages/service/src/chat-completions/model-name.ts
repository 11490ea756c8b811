import { parseArtifactUri } from "../artifacts/artifact-uri.js";

/** Which checkpoint of a trained model a name means. */
export type CheckpointSelector =
  | { kind: "newest" }
  | { kind: "step"; step: number }
  /** A version of the model's artifact: `v<index>`, an alias or a digest. */
  | { kind: "version"; version: string };

/** A trained model as requests name it; without a project the name alone must identify it. */
export interface TrainedModelName {
  /** `entity/project` */
  project_id?: string;
  name: string;
  checkpoint: CheckpointSelector;
}

const newest: CheckpointSelector = { kind: "newest" };

/**
 * Reads `entity/project/name` or `name`, each optionally with `:step<K>`, `:latest`, `:<version>` or `@<K>`, and the
 * URI of an artifact. Undefined for other text.
 */
export function parseModelName(text: string): TrainedModelName | undefined {
  const uri = parseArtifactUri(text);
  if (uri !== undefined) {
    const checkpoint = selectorOf(":", uri.selector);
    return checkpoint && { project_id: uri.project_id, name: uri.name, checkpoint };
  }
  const [, owner, name, separator, selector] = /^(?:([^/]+\/[^/]+)\/)?([^/:@]+)(?:([:@])([^/:@]+))?$/.exec(text) ?? [];
  const checkpoint = selectorOf(separator, selector);
  if (name === undefined || checkpoint === undefined) return undefined;
  return { ...(owner !== undefined && { project_id: owner }), name, checkpoint };
}

function selectorOf(separator: string | undefined, selector: string | undefined): CheckpointSelector | undefined {
  if (selector === undefined || selector === "latest") return newest;
  const step = (separator === "@" ? /^(\d{1,15})$/ : /^step(\d{1,15})$/).exec(selector)?.[1];
  if (step !== undefined) return { kind: "step", step: Number(step) };
  return separator === "@" ? undefined : { kind: "version", version: selector };
}
